"""The body of a message, within Discord's length and allowed mentions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from adapters.discord.connection.rest import Upload

CONTENT = 2000
"""Characters of one message."""
SUPPRESS_EMBEDS = 1 << 2
APART = "]\uff08"
"""Instead of what begins a link's address, and as long."""
_MASK_OR_CODE = re.compile(
    r"(?P<code>(?<![`\\])(?:```(?!```)[^`]*+(?:`(?!``)[^`]*+)*+```(?!`)|`[^`\n]++`(?!`)))|\]\("
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """The body of a message, with `files` for a new one."""

    content: str
    components: tuple[dict[str, Any], ...] = ()
    users: tuple[str, ...] = ()
    """Ids of those whom it may ping; nobody else."""
    embeds: bool = False
    files: tuple[Upload, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        # What is code elsewhere, between tildes or after a fence that three marks have ended, is
        # text to Discord, and may end up in another message than its fence.
        object.__setattr__(self, "content", unmask_links(self.content))

    def body(self, *, nonce: str = "", below: str = "") -> dict[str, Any]:
        """The body as JSON for an edit or a new message.

        A new message has a `nonce`, which makes it once. With `below`, it replies to that message.
        """
        shown: dict[str, Any] = {
            "content": self.content,
            "components": list(self.components),
            "allowed_mentions": {"parse": [], "users": list(self.users), "replied_user": False},
            "flags": 0 if self.embeds else SUPPRESS_EMBEDS,
        }
        if nonce:
            shown |= {"nonce": nonce, "enforce_nonce": True}
        if below:
            shown["message_reference"] = {"message_id": below, "fail_if_not_exists": False}
        return shown


def unmask_links(text: str) -> str:
    """Text without masked links, as Discord reads it; code stays unchanged."""
    return _MASK_OR_CODE.sub(lambda found: found["code"] or APART, text)


def length(text: str) -> int:
    """Length in UTF-16 units, the strictest measure of Discord's clients."""
    return len(text.encode("utf-16-le", "replace")) // 2


def clip(text: str, longest: int) -> str:
    """At most so many of Discord's characters."""
    if length(text) <= longest:
        return text
    while length(text) > longest - 1:
        text = text[: len(text) - max((length(text) - longest + 1) // 2, 1)]
    return f"{text.rstrip()}\u2026"
