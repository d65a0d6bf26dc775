"""Decisions about a message: the choices and the outcome."""

from __future__ import annotations

from typing import TypeAlias

from gateway.base.calendar import Scope
from gateway.client import Answer, AnswerKind
from gateway.events import RETRY, ApprovalName, SessionEvent
from gateway.store.records import InboxOutcome
from gateway.store.turn_records import ClaimedTurn
from gateway.values import NO_ORIGIN, Origin, value

DELETED = "deleted"
"""Reason of a message that was deleted before it came, on its platform or with its thread."""

SENT_TWICE = "sent twice"
"""Reason of a message that says what another one of the same sending says."""


@value
class PersonLimits:
    """Limits of one person's turns: side by side, and in ten minutes."""

    parallel: int
    turns: int


@value
class QueueEntry:
    """The message waits for its turn; the thread's `mode` may do more.

    `notice` is told to the thread, `limits` are its author's. `quiet`: seconds for which nobody may
    write before it begins. `late`: it would have answered a question whose time is over. `anew`:
    it begins a new thread, which is told why.
    """

    notice: str = ""
    limits: PersonLimits | None = None
    mode: str = "queue"
    quiet: float = 0.0
    late: bool = False
    anew: str = ""
    rule: str = ""
    """Lets the author in: "operators", "pairing", or a route such as "routes[0]"."""


@value
class RequestAnswer:
    """The message answers this request; `outcome` is for people.

    `grant` is the scope of an approval for the rest of the thread, None without one.
    """

    request: str
    answer: Answer
    outcome: str
    grant: str | None = None


@value
class RequestSupport:
    """The message approves a request that needs others' approval, too."""

    request: str
    kind: AnswerKind
    approved: int
    """Number of people who have approved by now."""
    quorum: int


@value
class MessageEdit:
    """The message that this one edits is changed if it still waits.

    Otherwise its author is offered, once, to run it again. `anybody`: also if it is not the same
    author's.
    """

    anybody: bool


@value
class MessageWithdrawal:
    """The message deleted on its platform is withdrawn if it still waits.

    If the team works on it, its turn is stopped where its author is alone; elsewhere the thread is
    offered to stop. `anybody`: also if it is not the same author's.
    """

    anybody: bool


@value
class NoAction:
    """Nothing is done about the message, nor stored of it."""


@value
class MessageOffer:
    """Nothing is stored of the message: it is offered to answer it."""


@value
class RepeatedTurn:
    """An earlier message's edited text gets a turn of its own."""

    inbox: int
    enqueue: QueueEntry = QueueEntry()
    anybody: bool = False


@value
class QueueRemoval:
    """The waiting message with this number is withdrawn."""

    inbox: int
    anybody: bool = False


@value
class QueuePromotion:
    """The waiting message with this number comes before the others."""

    inbox: int
    anybody: bool = False


@value
class ModeChange:
    """The thread's new mode: the effect of a message during a turn.

    `quiet` is as in QueueEntry.
    """

    mode: str
    reply: str
    quiet: float = 0.0


MUTE, UNMUTE = "/mute", "/unmute"
"""The commands of a MuteChange, as they are stored."""


@value
class MuteChange:
    """The thread is muted, or answers again; `notice` tells it so.

    `command`, with its `label`, takes that back; `over` is the command that did so until now.
    """

    muted: bool
    notice: str
    command: str = ""
    label: str = ""
    over: str = ""


@value
class ModelChange:
    """The model of all the thread's agents; "" for each its own.

    `notice` tells the thread so. Where it is not decided yet, `model` is the word that was typed.
    """

    model: str
    notice: str = ""


@value
class ApprovalChange:
    """Another mode of approval, "ask" for none; `notice` tells the thread so."""

    approval: ApprovalName
    notice: str


@value
class GrantRevocation:
    """Approvals of a tool for the rest of the thread end."""

    tool: str
    anybody: bool = False


@value
class CommandReply:
    """A command that only answers its sender.

    `late`: it would have answered a request whose time is over. `choices` are commands that the
    reply offers, with their labels.
    """

    reply: str
    late: bool = False
    choices: tuple[tuple[str, str], ...] = ()


@value
class UsageQuery:
    """A sum to read: usage since a time, in a scope."""

    scope: Scope | None
    name: str
    since: float


@value
class UsageReply:
    """A command that tells its sender what was used, by these sums."""

    queries: tuple[UsageQuery, ...] = ()


@value
class MemoReply:
    """A command that shows its sender a page of their memos.

    `delete` is the number of one that is deleted first, 0 for all, None for none.
    """

    page: int = 1
    delete: int | None = None


@value
class TurnStop:
    """The running or waiting turn ends, and says so itself."""


@value
class NewConversation:
    """The conversation goes on in a fresh thread.

    Where it is not decided yet, `team` is the word that was typed for another team.
    """

    reply: str
    team: str | None = None


@value
class ForkPlan:
    """The end of a turn from which to fork a thread.

    `folder`: the fork's work folder is that of then, else that of now.
    """

    thread: str
    n: int
    folder: bool


@value
class ThreadFork:
    """A fork begins, in a new message of its channel.

    Where a channel holds one conversation, that goes on in the fork, and its reply is `here`. While
    `plan` is a text, that says why there is none.
    """

    plan: ForkPlan | str
    reply: str
    here: str


@value
class TurnRetry:
    """The turn that failed, or was interrupted too often, is tried again.

    It counts for the `limits` of who asks for it, as a turn that begins. The `command` may
    be ASIDE with a choice, of which `notice` tells the thread, or COMPACT_FAILED.
    """

    reply: str
    limits: PersonLimits | None = None
    command: str = RETRY
    notice: str = ""


@value
class AsideDrop:
    """A text stays set aside as too long; `notice` tells so."""

    notice: str


@value
class CommandedTurn:
    """A turn without a message, which a `command` begins.

    `limits` are as in TurnRetry.
    """

    reply: str
    command: str
    """CONTINUE; or COMPACT, and what matters."""
    limits: PersonLimits | None = None


@value
class ThreadDeletion:
    """Everything of the thread is removed; the conversation goes on in another."""

    reply: str


@value
class PairingCode:
    """A one-time code, only as its salted hash."""

    salt: bytes
    hash: bytes
    expires_at: float


@value
class MessageRefusal:
    """The message is refused, its text dropped; `pair` is its author's code."""

    reason: str
    reply: str = ""
    pair: PairingCode | None = None


Begins: TypeAlias = QueueEntry | TurnRetry | CommandedTurn
"""Decisions by which a turn begins, within the `limits` of a person."""

Decision: TypeAlias = (
    QueueEntry
    | RequestAnswer
    | RequestSupport
    | CommandReply
    | UsageReply
    | MemoReply
    | TurnStop
    | NewConversation
    | ThreadFork
    | TurnRetry
    | CommandedTurn
    | AsideDrop
    | ThreadDeletion
    | MessageEdit
    | MessageWithdrawal
    | RepeatedTurn
    | QueueRemoval
    | QueuePromotion
    | ModeChange
    | MuteChange
    | ModelChange
    | ApprovalChange
    | GrantRevocation
    | MessageRefusal
    | MessageOffer
    | NoAction
)


@value
class FileArrival:
    """Result of a message's files: events, and the turn to steer."""

    thread: str
    events: tuple[SessionEvent, ...]
    steer: str


@value
class NewThread:
    """First values of a thread that is made for a message."""

    id: str
    team: str
    definition: str
    participants: tuple[str, ...] = ()
    mode: str = "queue"
    origin: Origin = NO_ORIGIN


@value
class AcceptedMessage:
    """Outcome of a message.

    `decision` is None for one that had been taken before.

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
    groups: tuple[tuple[str, str], ...] = ()
    """The lane's "team" and "workspace", each with its name."""
    wake: bool = False
    """The thread's lane has something to do."""
    deferred: bool = False
    """A node will run it."""
    stop: str = ""
    """The turn that is to be stopped."""
    steer: str = ""
    """The turn that has messages to take up."""
    delay: float = 0.0
    """Seconds until the lane may begin what there is to do."""
    revoked: str = ""
    """The tool that is asked for again."""
    forgotten: tuple[str, ...] = ()
    """The threads that were removed."""
    events: tuple[SessionEvent, ...] = ()
    turn: ClaimedTurn | None = None
    """The thread's turn, where it has begun with this message."""
    busy: bool = False
