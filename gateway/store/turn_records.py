"""What passes between a store and a turn: what it begins with, what it adds, how it ends."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import Literal

from gateway.conversation import Author, Quote
from gateway.events import SessionEvent
from gateway.store.records import (
    NOTHING_USED,
    CallRow,
    Checkpoint,
    ModelUse,
    OpenMessage,
    Request,
    Thread,
    UsageTotals,
)
from gateway.values import value

MAX_RESUMES = 3
"""A turn that a crash interrupted is tried this often again before its thread is parked."""


@value
class Lease:
    """The right to write a turn."""

    thread: str
    turn: str
    epoch: int


@value
class QueuedMessage:
    """A person's message as a turn takes it up."""

    inbox: int
    author: Author
    text: str
    message_id: str = ""
    link: str = ""
    images: tuple[tuple[str, bytes], ...] = field(default=(), repr=False)
    """Media type and data."""
    quotes: tuple[Quote, ...] = field(default=(), repr=False)
    """Foreign text that came with it, the contents of text files included."""
    untrusted: bool = False
    """It came with quotes or files."""
    joined: bool = False
    """The team's saved state holds it."""


@value
class ClaimedTurn:
    """A turn to run, with everything its earlier attempts left.

    `delivered`: the team's saved state holds the messages already. `stop`: it is only to be ended.
    """

    lease: Lease
    thread: Thread
    messages: tuple[QueuedMessage, ...]
    resumed: bool
    delivered: bool
    stop: bool
    shared: bool
    """More than one person has written in the thread."""
    asker: Author
    """On whose behalf the team works."""
    others: tuple[Author, ...]
    """Who else has a message in this turn: a tool must be permitted to each of them."""
    untrusted: bool
    """The team has been shown foreign text: quotes, or files."""
    requests: tuple[Request, ...]
    calls: tuple[CallRow, ...]
    grants: frozenset[str]
    open_messages: tuple[OpenMessage, ...]
    events: tuple[SessionEvent, ...]
    """What beginning it has put into the thread."""
    used: UsageTotals = NOTHING_USED
    """What its earlier attempts have used."""
    saved: bool = True
    """There is a state of the thread's team."""


@value
class TurnDelay:
    """The thread's next turn may begin in so many seconds, unless somebody writes meanwhile."""

    seconds: float


@value
class JoinedMessages:
    """Messages that were taken into a turn that runs, and what this adds to the thread."""

    messages: tuple[QueuedMessage, ...]
    events: tuple[SessionEvent, ...]


@value
class RecoveredThread:
    """What an earlier boot left to do in a thread."""

    thread: str
    person: str
    crowds: tuple[tuple[str, str], ...] = ()
    open_messages: tuple[OpenMessage, ...] = ()


@value
class TurnEnd:
    """How a turn leaves its lane. `paused` and `waiting` ones come back."""

    status: Literal["paused", "waiting", "done", "stopped", "failed"]
    reason: str = ""


@value
class TurnUpdate:
    """What one write adds to a turn; all of it or nothing."""

    events: Sequence[SessionEvent] = ()
    checkpoints: Sequence[Checkpoint] = ()
    shown: Collection[OpenMessage] = ()
    sealed: Collection[str] = ()
    calls: Collection[CallRow] = ()
    requests: Collection[Request] = ()
    handoff_from: str | None = None
    joined: Collection[int] = ()
    """Messages that the team's saved state holds from now on."""
    files_at: int | None = None
    """When the newest file that is told of was changed."""
    uses: Collection[ModelUse] = ()
    """What was used since the last record."""
    end: TurnEnd | None = None

    def followed_by(self, other: TurnUpdate) -> TurnUpdate:
        """Both as one; this one does not end the turn."""
        later = other.handoff_from is not None
        return TurnUpdate(
            events=[*self.events, *other.events],
            checkpoints=[*self.checkpoints, *other.checkpoints],
            shown=[*self.shown, *other.shown],
            sealed=[*self.sealed, *other.sealed],
            calls=[*self.calls, *other.calls],
            requests=[*self.requests, *other.requests],
            handoff_from=other.handoff_from if later else self.handoff_from,
            joined=[*self.joined, *other.joined],
            files_at=self.files_at if other.files_at is None else other.files_at,
            uses=[*self.uses, *other.uses],
            end=other.end,
        )


@value
class StoredUpdate:
    """The events as stored, with their seqs; `again` says that the lane has more to do at once."""

    events: tuple[SessionEvent, ...]
    again: bool = False


@value
class Succession:
    """The definition under which a thread's team goes on, and what the thread is told of that.

    `replaces`: a new team begins instead of one with this definition, whose state is put away and
    whose questions are closed for this `reason`.
    """

    definition: str
    participants: tuple[str, ...]
    notice: str = ""
    replaces: str = ""
    reason: str = ""
    stands: Checkpoint | None = None
    """How the new team begins, which was told what was said."""


@value
class ExpiryResult:
    """What became of requests whose time had come: what it adds to each thread, the threads that
    can go on, with whose turn it is, and when the next one's time comes (seconds since the epoch).
    """

    events: Mapping[str, tuple[SessionEvent, ...]]
    ready: Sequence[tuple[str, str]]
    next_at: float | None
