"""Gaps in what is known of conversations, and rules for missed messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal, TypeAlias

from gateway.client import Receipt
from gateway.conversation import ConversationKey
from gateway.values import value

MissedVerdict: TypeAlias = Literal["answer", "offer", "too_old"]
"""Fates of a missed message: answered, offered on a card, or only counted."""
MissedOutcome: TypeAlias = Literal["answer", "offer", "too_old", "refused"]
"""Verdicts as carried out: the gateway or the platform may have refused a message or its card."""

DAY = 86_400.0
CURSOR = "cursor "
"""First word of the names of marks that say what a platform has delivered.

In a store that has lost something they are not true, and gone.
"""
BEFORE_LOSS = (
    "Parley has lost its records of the time when you did this, so it was not carried out. Do it "
    "again if you still want it."
)


def outcome_of(receipt: Receipt) -> MissedOutcome:
    """The outcome of a missed message that was handed in."""
    match receipt.outcome:
        case "refused":
            return "refused"
        case "offered":
            return "offer"
        case _:
            return "answer"


@value
class MissedRules:
    """Ages in seconds up to which missed messages are answered or offered."""

    answer: float = 900.0
    offer: float = 7 * DAY


@value
class Gap:
    """A time of which it is not known what was said.

    Times are in seconds since the epoch. A `place` without a root is a channel, one without a
    channel a workspace's list of channels. `newest` is when something was said last in what is not
    read, as far as is known: gaps with the newest are read first.
    """

    place: ConversationKey
    since: float
    until: float
    newest: float = 0.0


@value
class OpenGap(Gap):
    """A gap of the work list.

    Parley came back at `returned`; if it was away once more before the gap was read, the gap lasts
    `until` the later return. `cursor` is the adapter's own: how far it was read.
    """

    id: int
    returned: float
    cursor: str = ""

    def verdict(self, at: float, rules: MissedRules, *, back: float) -> MissedVerdict:
        """The fate of a message, by its age when Parley came back.

        A thread may be read beyond the gap's end: what was said there had its return at `back`.
        """
        if at <= self.returned:
            back = self.returned
        elif at <= self.until:
            back = self.until
        age = back - at
        if age <= rules.answer:
            return "answer"
        return "offer" if age <= rules.offer else "too_old"


@value
class ReadPage:
    """A page of a gap as that was when asked for.

    Everything on it is accepted or offered. `cursor` is where the next one begins; None closes the
    gap. `newest` is of what is left. `found` counts the messages for the team by their outcomes,
    without those that were known. `further` are gaps that the page has shown: they have the times
    of this one.
    """

    gap: OpenGap
    cursor: str | None
    newest: float = 0.0
    found: Mapping[MissedOutcome, int] = field(default_factory=dict["MissedOutcome", int])
    further: Mapping[ConversationKey, float] = field(default_factory=dict["ConversationKey", float])


@value
class KnownPlace:
    """A conversation with a thread, and when that was used last."""

    place: ConversationKey
    used: float


@value
class MissedCounts:
    """Figures of the work after a pause for `parley status`."""

    unread: Mapping[str, int] = field(default_factory=dict[str, int])
    """Conversations that are still to be read, by the platform."""
    found: Mapping[str, int] = field(default_factory=dict[str, int])
    """Messages found after the pauses of about a week, by their outcomes."""
