"""Rows of a store, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal, TypeAlias

from gateway.client import Answer, AnswerKind, ThreadInfo
from gateway.conversation import ConversationKey
from gateway.events import AsideKind, RequestKind
from gateway.values import ArgumentDiff, Folders, Origin, value

TurnStatus: TypeAlias = Literal[
    "running", "paused", "waiting", "done", "stopped", "failed", "interrupted"
]
InboxOutcome: TypeAlias = Literal[
    "queued", "turn", "answer", "command", "merged", "refused", "offered"
]
InboxKind: TypeAlias = Literal["message", "edit", "answer", "command"]
CallStatus: TypeAlias = Literal["shown", "started", "suspended", "finished", "settled", "unknown"]
LossCause: TypeAlias = Literal["restored", "damaged"]
"""A backup took the store's place; the store's newest commits are gone."""
MemoScope: TypeAlias = Literal["thread", "person", "team", "workspace"]
RequestState: TypeAlias = Literal["open", "answered", "expired", "closed"]


@value
class Wait:
    """The oldest open request of a thread.

    `asker` wrote the message that it is about. `approver_names` are those of all people among the
    approvers; empty while one is not known.
    """

    agent: str
    kind: RequestKind
    approvers: tuple[str, ...]
    asker: str
    asker_name: str
    approver_names: tuple[str, ...] = ()


@value
class Thread(ThreadInfo):
    """A thread; `handoff_from` is the agent that handed it to the user."""

    key: ConversationKey
    current: bool = True
    definition: str = ""
    participants: tuple[str, ...] = ()
    """Participants of its team; empty while they are not known."""
    mode: str = "queue"
    epoch: int = 0
    handoff_from: str = ""
    attached: int = 0
    """Bytes of the files that came with its messages."""
    files_at: int = 0
    """When the newest file that was told of was changed; in nanoseconds since the epoch."""
    wait: Wait | None = None
    """Only lists of threads say it."""
    config_digest: str = ""
    """The digest of its config's text when it was begun."""

    def is_foreign(self, origin: Origin) -> bool:
        """True for one of the terminal's that belongs to another config."""
        return self.key.is_local and not origin.owns(self.config, self.config_digest)

    @property
    def takes_all(self) -> bool:
        """True if all waiting messages are taken by one turn."""
        return self.mode in ("collect", "interrupt")


def lane_groups_of(team: str, key: ConversationKey) -> tuple[tuple[str, str], ...]:
    """The groups that a thread is in: its team's and its workspace's."""
    return (("team", team), ("workspace", key.place))


@value
class Request:
    """A question to a human: open, or with its answer.

    `engine_id` is the id under which the team asks again; `call` is the key of the tool call that
    asks or is to be approved, and the request is bound to `arguments_hash`. `asked_at` and
    `expires_at`: seconds since the epoch, if no clock was set meanwhile.
    """

    id: str
    engine_id: str
    thread: str
    turn: str
    kind: RequestKind
    agent: tuple[str, ...]
    prompt: str
    asked_at: float
    options: tuple[str, ...] = ()
    tool: str = ""
    arguments: str = ""
    arguments_hash: str = ""
    call: str = ""
    state: RequestState = "open"
    answer_kind: AnswerKind | Literal[""] = ""
    answer_text: str = ""
    answered_by: str = ""
    outcome: str = ""
    asker: str = ""
    """Whose message the asking turn works on."""
    approvers: tuple[str, ...] = ()
    """People who may decide about an approval; empty: the operators."""
    always: bool = True
    """It may be approved for the rest of the thread at once."""
    below: Folders = ()
    """Folders of its path arguments, below which it may be approved so."""
    diff: ArgumentDiff | None = None
    """The change that its arguments make, or that of the tool."""
    meant: str = ""
    """If the tool's text is not the accepted one: its digest, a space, and `MetTool.server`."""
    expires_at: float | None = None
    quorum: int = 1
    """Number of people who have to approve."""
    supporters: tuple[str, ...] = ()
    """People who have approved so far, where several have to."""
    support_kinds: tuple[AnswerKind, ...] = ()
    """Approvals that they have given."""
    awaited: bool = False
    """The run waits for it in the midst of a call: it is no turn's that goes on. Not stored."""

    @property
    def answer(self) -> Answer | None:
        """The answer, None while there is none."""
        return Answer(kind=self.answer_kind, text=self.answer_text) if self.answer_kind else None


@value
class MetTool:
    """A server's tool as it was met.

    `server` is the name under which the server's tools are kept: its name in [mcp], or "TEAM/NAME".
    `digest` is that of the whole tool, `text` the tool for people.
    """

    server: str
    tool: str
    digest: str
    text: str

    @property
    def full_name(self) -> str:
        """The tool's name in the policy."""
        return f"{self.server.rpartition('/')[2]}/{self.tool}"


@value
class KnownTool(MetTool):
    """A server's tool as the policy judges it.

    Approvals for a thread from before `since` do not hold. `others` are digests and texts that were
    met since, the last one at the end.
    """

    since: float = 0.0
    others: tuple[tuple[str, str], ...] = ()


@value
class CallRow:
    """A line of the tool journal. `result` is a ToolResult as JSON.

    A call that is "settled" has ended, too, but with nothing from outside in its result: it was
    refused, or people or Parley itself gave the result.
    """

    key: str
    agent: tuple[str, ...]
    tool: str
    arguments_hash: str
    status: CallStatus
    result: str | None = None
    outcome: str = ""
    """For the audit: why it runs, or how it ended. Not in the journal."""


@value
class OpenMessage:
    """The text shown so far of a message that still grows."""

    message: str
    turn: str
    agent: str
    text: str


@value
class Checkpoint:
    """A snapshot or delta of the team's state.

    A snapshot makes all rows before it superfluous.
    """

    kind: Literal["snapshot", "delta"]
    data: bytes = field(repr=False)


@value
class OldState:
    """Memory of a replaced team; `replaced_at` is in seconds since the epoch."""

    definition: str
    replaced_at: float
    checkpoints: tuple[Checkpoint, ...]


@value
class WaitingMessage:
    """A message that waits for its turn; `author` is the id."""

    inbox: int
    author: str
    name: str
    text: str


@value
class Grant:
    """A tool that may run for a person in the thread.

    Both people are named by Author.id. `scope` says with which arguments (`gateway.access.grants`).

    `granted_at`: seconds since the epoch.
    """

    tool: str
    person: str
    scope: str
    granted_by: str
    granted_at: float


@value
class MemoPlace:
    """A place for memos: a thread, person, workspace, or the team.

    `key` names which of them: the thread, the person (Author.id), or the workspace.
    """

    team: str
    scope: MemoScope
    key: str


@value
class Memo:
    """Something that a team remembers, written on a person's behalf."""

    id: int
    team: str
    scope: MemoScope
    person: str
    name: str
    text: str = field(repr=False)


@value
class PersonLoad:
    """One person's running turns, turns of ten minutes, and waiting messages.

    `elsewhere`: other threads in which messages of theirs wait.
    """

    running: int = 0
    begun: int = 0
    waiting: int = 0
    elsewhere: int = 0


NO_LOAD = PersonLoad()


AsideStand: TypeAlias = AsideKind | Literal["decided"]
"""Kind of a text that was too long for a model, until a person has decided."""


@value
class Situation:
    """State of the store around a message while it is decided about."""

    thread: Thread | None
    """None: the conversation has no thread yet."""
    status: TurnStatus | None
    """Status of the thread's turn that is not over, if any."""
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
    deleted: bool = False
    """The message was deleted before it came: on its platform, or with its thread."""
    bots: int = 0
    """Messages of bots here, or of this one in the workspace, within a minute.

    Only counted for a bot.
    """
    load: PersonLoad = NO_LOAD
    """The person's load; only counted for one who has limits."""
    last: TurnStatus | None = None
    """Status of the thread's newest turn; only read for a command."""
    cut: str = ""
    """The agent whose answer in that turn was cut, and can go on; only read for a command."""
    aside: AsideStand = ""
    """The text that was too long in that turn; only read for a command."""
    others: bool = False
    """Somebody else has written in the thread or its forks; only read for a command."""
    forks: int = 0
    """Forks that are deleted with the thread; only read for a command."""
    queue: tuple[WaitingMessage, ...] = ()
    """Waiting messages in their order; only read for a command."""
    repeated: bool = False
    """Its author's app sent it before, under another id."""
    known: bool = False
    """Its author has written in the thread before."""
    edited: bool = False
    """An edit of the message has come before it."""
    number: int | None = None
    """That of the message's row, if it has one already."""
    lost_until: float = 0.0
    """The end of the last time of which the store has lost something."""
    grants: tuple[Grant, ...] = ()
    """Tools granted for the rest of the thread; only read for a command."""
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    """Names of people in these grants, as far as they wrote lately."""

    @property
    def busy(self) -> bool:
        """True if a message has to wait its turn."""
        return self.status is not None or self.waiting > 0


@value
class AuditRow:
    """Something that a person, an agent for them, or the gateway did.

    `person` is "" for the gateway, "deleted" for somebody who was deleted.

    `what` is asked, supported, answered, expired, closed or revoked for requests and grants, else
    an action such as "tool.started". `outcome` is for people, and never what somebody answered in
    words; `answer` is the kind of an answer. `place` is the ConversationKey it was done from.
    """

    at: float
    person: str
    what: str
    request: str
    kind: str
    tool: str
    arguments_hash: str
    outcome: str
    place: str
    position: int = 0
    thread: str = ""
    turn: str = ""
    agent: str = ""
    object: str = ""
    call: str = ""
    answer: str = ""
    arguments: str = field(default="", repr=False)


@value
class ModelUse:
    """A turn's use of one model on behalf of a person."""

    model: str
    person: str
    team: str
    workspace: str
    prompt_tokens: int
    completion_tokens: int
    estimated: int = 0
    """Tokens among them that the model did not tell."""
    cost: float


@value
class EncryptedToken:
    """A platform's encrypted token: its name and its key's id."""

    name: str
    key: str
    value: bytes = field(repr=False)


@value
class UsageTotals:
    """Sums of model use, and the number of `turns` that used models."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: int = 0
    cost: float = 0.0
    turns: int = 0

    @property
    def tokens(self) -> int:
        """Those read and those written."""
        return self.prompt_tokens + self.completion_tokens


NOTHING_USED = UsageTotals()


@value
class PairedPerson:
    """A person let in with a code; `paired_at`: seconds since the epoch."""

    id: str
    name: str
    paired_at: float


@value
class PoolFigures:
    """Connections of this process to a database."""

    used: int
    """Those in which a unit runs now."""
    most: int


@value
class Counts:
    """Figures for `parley status`."""

    threads: Mapping[str, int]
    inbox: Mapping[str, int]
    """Accepted messages by their outcome; those "queued" have none yet."""
    refused: Mapping[str, int]
    """Those that were refused, by the reason."""
    open_requests: int
    outbox: Mapping[str, int] = field(default_factory=dict[str, int])
    """Messages of platforms by how far they are: pending, attempting, delivered, failed."""
    tokens: Mapping[str, int] = field(default_factory=dict[str, int])
    """Those that models read and wrote "today" and "this month", in UTC."""
    cost: Mapping[str, float] = field(default_factory=dict[str, float])
    """Their cost, by the same."""
    feedback: Mapping[str, int] = field(default_factory=dict[str, int])
    """Number of ratings of answers, "good" and "bad"."""
    oldest_undelivered: float = 0.0
    """Seconds since the first try of the oldest message on its way to a platform."""
    held: Mapping[str, int] = field(default_factory=dict[str, int])
    """Threads whose next turn a limit holds, by its name."""


@value
class RatedAnswer:
    """A person's rating of a part of an answer."""

    thread: str
    part: str
    person: str
    good: bool
    reason: str
    at: float


@value
class BrokenPromise:
    """A key whose message is neither kept nor refused."""

    key: str
    inbox: int
    thread: str | None
    fault: str


@value
class StoreLoss:
    """A time of which the store knows nothing, though Parley worked.

    What people wrote then may have been answered. Both ends are in seconds since the epoch; `since`
    is 0 where nothing is known at all. `commits` are known to be missing.
    """

    cause: LossCause
    since: float
    until: float
    commits: int = 0


@value
class StoreFault:
    """A fault of a store; `thread` is "" where it concerns none."""

    thread: str
    text: str
