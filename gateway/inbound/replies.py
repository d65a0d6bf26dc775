"""Replies to commands whose outcome only the store knows."""

from __future__ import annotations

from gateway.budgets.usage import UsageRules
from gateway.store.rulebook import (
    Fact,
    GrantRevoked,
    MessageFound,
    MessageMissed,
    Offer,
    UsageFound,
)

REVOKED = "{tool} needs approval again before it runs."
NOT_GRANTED = "{tool} has no approval of yours in this thread. /grants lists approvals."


def reply_to(fact: Fact, usage: UsageRules) -> str:
    """The sentences that a command's sender is told."""
    match fact:
        case UsageFound(thread=thread, used=used):
            return usage.text(thread, used)
        case MessageFound():
            return _about(fact)
        case GrantRevoked(tool=tool, revoked=revoked):
            return (REVOKED if revoked else NOT_GRANTED).format(tool=tool)


def _about(found: MessageFound) -> str:
    match found.outcome:
        case "not yours":
            return "That message is not yours."
        case "not waiting":
            return f"No message with the number {found.inbox} is waiting here. /queue lists them."
        case "taken back":
            return f"Message {found.inbox} is withdrawn."
        case "comes first":
            return f"Message {found.inbox} comes next."
        case "nothing to repeat":
            return "There is nothing to run again: it was already run, or withdrawn."


def offer_after(missed: MessageMissed) -> Offer:
    """The command that is offered after a change which came too late."""
    match missed.event:
        case "edited":
            return Offer(
                text="A message was edited after the team had received it.",
                command=f"/again {missed.inbox}",
                label="Run it again",
            )
        case "deleted":
            return Offer(
                text="The message that the team works on was deleted.",
                command="/stop",
                label="Stop",
            )
