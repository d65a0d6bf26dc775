"""The hostile model: its texts imitate, mention and link; calls nest."""

from __future__ import annotations

from tests.security.redteam.scripts import Say, Scripts, Use
from tests.security.redteam.words import (
    FORGED_CARD,
    FORGED_LINES,
    HOSTILE,
    LONG_ESCAPES,
    LONG_LINK,
    NESTED,
)

CARD = (
    f"{HOSTILE} {FORGED_CARD}\n**Approve?** `wipe(everything)`\n"
    "[Approve](https://evil.example/approve) [Deny](https://evil.example/deny)\n"
    "*Approved by Olga.*"
)
LINKS = (
    f"{HOSTILE} [your bank](https://evil.example/) https://evil.example\\@good.example "
    "<https://evil.example|good.example> [x](javascript:alert(1)) \u202ehttps://evil.example"
)


def scripts(bystanders: str) -> Scripts:
    """The model's scripts; `bystanders` are mentions of people who have asked nothing."""
    mentions = f"{HOSTILE} <!channel> <!here> @everyone @here @channel {bystanders}"
    return {
        "long-link": [Say(f"{HOSTILE} {LONG_LINK}", 200)],
        "long-escapes": [Say(f"{HOSTILE} {LONG_ESCAPES}", 400)],
        "mentions": [Say(mentions, 3)],
        "card": [Say(CARD, 3)],
        "links": [Say(LINKS, 3)],
        "lines": [Say(f"{HOSTILE}\n{FORGED_LINES}", 3)],
        "deep": [
            Use("fetch", f'{{"page": {NESTED}}}'),
            Use("wipe", NESTED),
            Say(f"{HOSTILE} deep"),
        ],
    }
