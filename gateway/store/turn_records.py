"""Records between a store and a turn: its beginning, additions, and end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from math import inf
from typing import Literal

from gateway.conversation import Author, MissingFile, Quote
from gateway.events import (
    AsideKind,
    AsideWay,
    ContextFill,
    HoldLimit,
    HumanText,
    MessageFinished,
    Notice,
    SessionEvent,
    SourcesFound,
)
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


def broken_off(lease: Lease, shown: OpenMessage) -> MessageFinished:
    """The end of a message that its turn can't finish."""
    return MessageFinished(
        thread=lease.thread,
        turn=lease.turn,
        agent=shown.agent,
        message=shown.message,
        text=shown.text,
        ending="broken",
    )


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
    missing: tuple[MissingFile, ...] = ()
    """Files that the team can't have; `why` is "" for one that nobody has looked at."""
    files: tuple[str, ...] = ()
    """Names of all its files."""
    untrusted: bool = False
    """It came with quotes or files."""
    joined: bool = False
    """The team's saved state holds it."""
    again: int = 0
    """The number of the message that it repeats as it was edited."""
    gone: bool = False
    """It was deleted since: nothing that it said is here."""

    @property
    def shown(self) -> HumanText:
        """The message as events show it."""
        return HumanText(
            inbox=self.inbox,
            author=self.author.name,
            text=self.text,
            author_id=self.author.id,
            again=self.again,
            files=self.files,
        )


@value
class AsideChoice:
    """A person's choice about what was too long for a model.

    `inbox` is the number of the command, `agent` the one whose model it was, if known.
    """

    inbox: int
    kind: AsideKind
    way: AsideWay
    agent: str = ""


@value
class GoneMessage:
    """A message that was deleted after its turn had begun.

    `first` is the message it is a copy of, in a fork; else itself. A fork's team knows either.
    """

    inbox: int
    first: int
    message_id: str
    saved: bool
    """The team's saved state holds it, or a note in its place."""


MODE = "mode"
"""Scope of a grant that is the thread's mode of approval; its tool is the name of the mode."""


@value
class ApprovalMode:
    """A thread's mode of approval ("": none), and its person (Author.id)."""

    name: str = ""
    person: str = ""


@value
class ClaimedTurn:
    """A turn to run, with everything its earlier attempts left.

    `delivered`: the team's saved state holds the messages already. `stop`: it is only to be ended.
    """

    lease: Lease
    thread: Thread
    messages: tuple[QueuedMessage, ...]
    resumed: bool
    asked_at: float
    """When its first message was accepted, in seconds since the epoch."""
    parked_at: float | None
    """When its newest question to people was asked, if it waited for them."""
    delivered: bool
    stop: bool
    shared: bool
    """More than one person has written in the thread."""
    asker: Author
    """On whose behalf the team works."""
    others: tuple[Author, ...]
    """Authors of the turn's other messages."""
    untrusted: bool
    """The team has been shown foreign text: quotes, or files."""
    requests: tuple[Request, ...]
    calls: tuple[CallRow, ...]
    grants: Mapping[tuple[str, str], float]
    """Tools and scopes approved for the rest of the thread, and when: for all people of the turn.

    It was known to who approved what everybody else had said.
    """
    open_messages: tuple[OpenMessage, ...]
    events: tuple[SessionEvent, ...]
    """Events that its beginning added to the thread."""
    used: UsageTotals = NOTHING_USED
    """Usage of its earlier attempts."""
    found: tuple[SourcesFound, ...] = ()
    """Passages that its earlier attempts were told."""
    saved: bool = True
    """There is a state of the thread's team."""
    model: str = ""
    """The model of all agents; "" for each its own. A turn keeps the one it began with."""
    broken: bool = False
    """The turn before it failed or was interrupted: its team may be in the middle of that."""
    half: tuple[tuple[str, str], ...] = ()
    """Agents and what they had said in that turn, if it was interrupted: no team was told."""
    said: Mapping[str, str] = field(default_factory=dict[str, str])
    """Turns by the ids of the last messages, where the turn before this one did not end well."""
    aside: AsideChoice | None = None
    """The decision about what its earlier attempt has set aside, until the team is told."""
    gone: str = ""
    """The number of the last deletion that the team's saved state does not know of; "" for none."""
    continues: MessageFinished | None = None
    """The cut answer of the turn before, with which this one goes on. It has no message then."""
    compacts: str | None = None
    """The word on what matters, where the turn only summarises; None for other turns."""
    failed: Notice | None = None
    """The offer that such a turn's end repeats: it had failed, and can still be tried again."""


@value
class ThreadContext:
    """Origins of what a thread's team has read."""

    authors: tuple[Author, ...]
    """Authors of all that the team has been told since the thread began.

    A person is there once for each set of groups they had. A tool must be permitted to each.
    """
    outputs: Mapping[str, float]
    """Tools that brought something from outside into the thread, and when each first did."""


@value
class LaneElsewhere:
    """A thread whose lane another node holds.

    Its turn runs there, or there is something left to tell.
    """

    node: str
    running: bool


TOLD_AFTER = 3.0
"""Seconds for which a turn may be held and nobody is told."""
SAME_HOLD = 30.0
"""Seconds by which the end of a hold may move, and nobody is told anew."""


@value
class Hold:
    """A limit that holds a turn for these seconds, if known."""

    limit: HoldLimit
    most: int = 0
    seconds: float = inf


def full_group(kind: str, most: int) -> Hold:
    """The hold of a group that has all its turns."""
    team = kind == "team"
    return Hold(limit="team_parallel_turns" if team else "workspace_parallel_turns", most=most)


@value
class TurnDelay:
    """Seconds until the next turn may begin, unless somebody writes meanwhile.

    `events` tell the thread so.
    """

    seconds: float
    events: tuple[SessionEvent, ...] = ()


@value
class JoinedMessages:
    """Messages that joined a running turn, and the events this adds."""

    messages: tuple[QueuedMessage, ...]
    events: tuple[SessionEvent, ...]


@value
class RecoveredThread:
    """Work that an earlier boot left in a thread."""

    thread: str
    person: str
    groups: tuple[tuple[str, str], ...] = ()
    open_messages: tuple[OpenMessage, ...] = ()


@value
class TurnEnd:
    """The way a turn ends or, `paused` or `waiting`, rests."""

    status: Literal["paused", "waiting", "done", "stopped", "failed"]
    reason: str = ""
    fill: tuple[ContextFill, ...] = ()
    """As in TurnFinished."""

    @property
    def is_over(self) -> bool:
        """True unless the turn rests."""
        return self.status not in ("paused", "waiting")


@value
class TurnUpdate:
    """One write of a turn: all of it or nothing."""

    events: tuple[SessionEvent, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()
    shown: tuple[OpenMessage, ...] = ()
    sealed: tuple[str, ...] = ()
    calls: tuple[CallRow, ...] = ()
    requests: tuple[Request, ...] = ()
    withdrawn: tuple[str, ...] = ()
    """Requests of a call that is over, to be closed if they are open."""
    handoff_from: str | None = None
    joined: tuple[int, ...] = ()
    """Messages that the team's saved state holds from now on."""
    files_at: int | None = None
    """When the newest file that is told of was changed."""
    uses: tuple[ModelUse, ...] = ()
    """Usage since the last record."""
    end: TurnEnd | None = None

    def followed_by(self, other: TurnUpdate) -> TurnUpdate:
        """Both as one; this one does not end the turn."""
        later = other.handoff_from is not None
        return TurnUpdate(
            events=self.events + other.events,
            checkpoints=self.checkpoints + other.checkpoints,
            shown=self.shown + other.shown,
            sealed=self.sealed + other.sealed,
            calls=self.calls + other.calls,
            requests=self.requests + other.requests,
            withdrawn=self.withdrawn + other.withdrawn,
            handoff_from=other.handoff_from if later else self.handoff_from,
            joined=self.joined + other.joined,
            files_at=self.files_at if other.files_at is None else other.files_at,
            uses=self.uses + other.uses,
            end=other.end,
        )


@value
class StoredUpdate:
    """The events with their seqs; `again`: the lane has more to do."""

    events: tuple[SessionEvent, ...]
    again: bool = False


@value
class Succession:
    """The definition under which a thread's team goes on, with its notice.

    `replaces`: a new team begins instead of one with this definition, whose state is put away and
    whose questions are closed for this `reason`.
    """

    definition: str
    participants: tuple[str, ...]
    notice: str = ""
    replaces: str = ""
    reason: str = ""
    stands: Checkpoint | None = None
    """State of the new team, which was told the thread's messages."""
    own_models: bool = False
    """Its agents use their own models again."""


@value
class SettledRequests:
    """Outcome of requests that nobody answered.

    The events of each thread, and the threads that can go on, with the author of the turn.
    """

    events: Mapping[str, tuple[SessionEvent, ...]] = field(
        default_factory=dict[str, tuple[SessionEvent, ...]]
    )
    ready: Sequence[tuple[str, str]] = ()


@value
class ExpiryResult(SettledRequests):
    """Outcome of due requests.

    `next_at` is when the next one is due, in seconds since the epoch.
    """

    next_at: float | None


@value
class ExpiredThreads:
    """Threads and memos that retention removed; threads left for later."""

    threads: tuple[str, ...]
    left: int = 0
    memos: int = 0


@value
class RetentionPause:
    """Time of retention's next round, and its number of threads.

    In seconds since the epoch.
    """

    next_at: float
    left: int
