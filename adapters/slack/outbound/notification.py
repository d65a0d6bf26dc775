"""Text of notifications: what a message says, without marks. Pure.

Slack shows a message's `text` in notifications and to screen readers when blocks say the rest
(https://docs.slack.dev/reference/methods/chat.postMessage): there Markdown would stand as typed.
"""

from __future__ import annotations

from collections.abc import Callable

from gateway.render.plain_words import without_marks
from gateway.render.sanitize import label
from gateway.surface import Card, Line, Part, Speech

LONGEST = 500


def summary(part: Part, own: Callable[[str], str]) -> str:
    """The text for notifications; `own` makes mrkdwn of a gateway line."""
    match part.content:
        case Speech(agent=agent, text=text):
            said = f"{agent}: {without_marks(text)}" if text else f"{agent} is working."
        case Card(away=True):
            said = "A team is waiting for a decision."
        case Card() as card:
            said = _question(card)
        case Line(text=text):
            said = without_marks(text)
        case content:
            said = content.text or ", ".join(file.name for file in content.files)
    return own(label(said, LONGEST))


def _question(card: Card) -> str:
    """A request, and its outcome once it has one."""
    request, asks = card.request, "asked" if card.outcome else "asks"
    agent = request.agent or "The team"
    if request.request_kind == "approval" and request.tool:
        said = f"{agent} {asks} to run {request.tool}. {without_marks(request.explanation)}"
    else:
        said = f"{agent} {asks}: {without_marks(request.prompt)}"
    ending = without_marks(card.ending(card.outcome, card.by))
    # What is long at the beginning must not hide the end.
    return f"{label(said, LONGEST // 2)} {ending}" if ending else said
