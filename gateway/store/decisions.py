"""What a message meets in a thread, what may be decided about it, and what then became of it."""

from __future__ import annotations

from typing import TypeAlias

from gateway.base.calendar import Scope
from gateway.client import Answer
from gateway.events import SessionEvent
from gateway.store.records import (
    Grant,
    InboxOutcome,
    Request,
    Thread,
    TurnStatus,
    WaitingMessage,
)
from gateway.values import value


@value
class PersonLoad:
    """What one person keeps busy: turns that run, turns begun within ten minutes, and messages that
    wait.
    """

    running: int = 0
    begun: int = 0
    waiting: int = 0


NO_LOAD = PersonLoad()


@value
class PersonLimits:
    """How many turns of one person may run side by side, and begin within ten minutes."""

    parallel: int
    turns: int


@value
class Situation:
    """What a message meets, as the store sees it while it decides about it."""

    thread: Thread | None
    """None: the conversation has no thread yet."""
    status: TurnStatus | None
    """Of the thread's turn that is not over, if any."""
    waiting: int
    """Messages that wait for their turn."""
    asker: str
    requests: tuple[Request, ...]
    """All that are open in the thread."""
    named: Request | None
    """The request a click, a command or a reply names, open or not."""
    told: float | None
    """When this person was last refused here."""
    paired: bool = False
    """An operator has let this person in."""
    bots: int = 0
    """Messages of bots within the last minute here; only counted for a bot."""
    load: PersonLoad = NO_LOAD
    """What the person keeps busy already; only counted for one who has limits."""
    last: TurnStatus | None = None
    """How the thread's newest turn stands; only read for a command."""
    others: bool = False
    """Somebody else has written in the thread; only read for a command."""
    queue: tuple[WaitingMessage, ...] = ()
    """What waits, in its order; only read for a command."""
    grants: tuple[Grant, ...] = ()
    """What may run for the rest of the thread; only read for a command."""

    @property
    def busy(self) -> bool:
        """Whether a message has to wait its turn."""
        return self.status is not None or self.waiting > 0


@value
class QueueEntry:
    """The message waits for its turn, or does with it what the thread's `mode` says; `notice` is
    told to the thread, `limits` are its author's. `quiet`: seconds for which nobody may write
    before it begins. `late`: it would have answered a question whose time is over.
    """

    notice: str = ""
    limits: PersonLimits | None = None
    mode: str = "queue"
    quiet: float = 0.0
    late: bool = False


@value
class RequestAnswer:
    """The message answers this request; `outcome` is for people."""

    request: str
    answer: Answer
    outcome: str
    grant: bool = False


@value
class RequestSupport:
    """The message approves a request that needs others' approval, too."""

    request: str
    always: bool
    approved: int
    """How many have by now."""
    quorum: int


@value
class MessageEdit:
    """The message that this one edits is changed, if it still waits; otherwise its author is
    offered, once, to run it again. `anybody`: also if it is not the same author's.
    """

    anybody: bool


@value
class MessageWithdrawal:
    """The message that was deleted on its platform is withdrawn if it still waits, and missed if
    the team works on it. `anybody`: also if it is not the same author's.
    """

    anybody: bool


@value
class NoAction:
    """Nothing is done about the message, nor stored of it."""


@value
class RepeatedTurn:
    """What the message with this number was edited to gets a turn of its own, as `enqueue` says."""

    inbox: int
    enqueue: QueueEntry = QueueEntry()
    anybody: bool = False


@value
class QueueRemoval:
    """The waiting message with this number is taken back."""

    inbox: int
    anybody: bool = False


@value
class QueuePromotion:
    """The waiting message with this number comes before the others."""

    inbox: int
    anybody: bool = False


@value
class ModeChange:
    """What a message during a turn does from now on. `quiet` is as in QueueEntry."""

    mode: str
    reply: str
    quiet: float = 0.0


@value
class GrantRevocation:
    """A tool is asked for again whose calls were approved for the rest of the thread."""

    tool: str
    anybody: bool = False


@value
class CommandReply:
    """A command that only answers its sender."""

    reply: str


@value
class UsageQuery:
    """A sum to read: what was used in the scope of a name, or by everybody, since a time."""

    scope: Scope | None
    name: str
    since: float


@value
class UsageReply:
    """A command that tells its sender what was used, by these sums."""

    queries: tuple[UsageQuery, ...] = ()


@value
class TurnStop:
    """The running or waiting turn ends."""

    reply: str


@value
class NewConversation:
    """The conversation goes on in a fresh thread."""

    reply: str


@value
class TurnRetry:
    """The turn that failed, or was interrupted too often, is tried again."""

    reply: str


@value
class ThreadDeletion:
    """The thread is removed with everything it has; the conversation goes on in a fresh one."""

    reply: str


@value
class PairingCode:
    """A one-time code, only as its salted hash."""

    salt: bytes
    hash: bytes
    expires_at: float


@value
class MessageRefusal:
    """The message is not taken; its text is not kept. `pair` is a code that its author is given."""

    reason: str
    reply: str = ""
    pair: PairingCode | None = None


Decision: TypeAlias = (
    QueueEntry
    | RequestAnswer
    | RequestSupport
    | CommandReply
    | UsageReply
    | TurnStop
    | NewConversation
    | TurnRetry
    | ThreadDeletion
    | MessageEdit
    | MessageWithdrawal
    | RepeatedTurn
    | QueueRemoval
    | QueuePromotion
    | ModeChange
    | GrantRevocation
    | MessageRefusal
    | NoAction
)


@value
class FileArrival:
    """A message has its files: what this adds to its thread, and the turn that may take it up."""

    thread: str
    events: tuple[SessionEvent, ...]
    steer: str


@value
class NewThread:
    """What a thread made for a message starts with."""

    id: str
    team: str
    definition: str
    participants: tuple[str, ...] = ()
    mode: str = "queue"


@value
class AcceptedMessage:
    """What became of a message. `decision` is None for one that had been taken before.

    `thread` is where its author goes on, `lane` the thread that `events`, `wake` and `stop` are
    about.
    """

    inbox: int
    thread: str
    lane: str
    outcome: InboxOutcome
    reply: str
    decision: Decision | None
    person: str = ""
    crowds: tuple[tuple[str, str], ...] = ()
    """The lane's "team" and "workspace", each with its name."""
    wake: bool = False
    """The thread's lane has something to do."""
    stop: str = ""
    """The turn that is to be stopped."""
    steer: str = ""
    """The turn that has messages to take up."""
    delay: float = 0.0
    """Seconds until the lane may begin what there is to do."""
    revoked: str = ""
    """The tool that is asked for again."""
    forgotten: str = ""
    """The thread that was removed."""
    events: tuple[SessionEvent, ...] = ()
    busy: bool = False
