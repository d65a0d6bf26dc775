"""What the gateway asks of a store, and the values that pass between them.

A store keeps its word at each of these calls: what it returned from is on disk, what it raised from
left nothing behind. Every write of a turn carries a `Lease` and is refused (`Fenced`) once the
thread was claimed anew or deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from gateway.client import Answer, AnswerKind, ThreadInfo
from gateway.conversation import Author, ConversationKey, InboundMessage, Quote
from gateway.counting import Scope
from gateway.events import RequestKind, SessionEvent

TurnStatus: TypeAlias = Literal[
    "running", "paused", "waiting", "done", "stopped", "failed", "interrupted"
]
InboxOutcome: TypeAlias = Literal["queued", "turn", "answer", "command", "merged", "refused"]
InboxKind: TypeAlias = Literal["message", "edit", "answer", "command"]
CallStatus: TypeAlias = Literal["shown", "started", "suspended", "finished", "unknown"]
RequestState: TypeAlias = Literal["open", "answered", "expired", "closed"]
PartStatus: TypeAlias = Literal["pending", "attempting", "delivered", "failed"]
MAX_RESUMES = 3
"""A turn that a crash interrupted is tried this often again before its thread is parked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread(ThreadInfo):
    """A thread as the gateway needs it. `handoff_from` is the agent that handed the work to the
    user.
    """

    key: ConversationKey
    current: bool = True
    definition: str = ""
    participants: tuple[str, ...] = ()
    """Who takes part in its team; empty while that is not known."""
    mode: str = "queue"
    epoch: int = 0
    handoff_from: str = ""
    attached: int = 0
    """Bytes of the files that came with its messages."""
    files_at: int = 0
    """When the newest file that was told of was changed; in nanoseconds since the epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A question to a human: open, or with its answer.

    `engine_id` is the id under which the team asks again; `call` is the key of the tool call that
    asks or is to be approved, and the request is bound to `arguments_hash`. `expires_at`: seconds
    since the epoch.
    """

    id: str
    engine_id: str
    thread: str
    turn: str
    kind: RequestKind
    agent: tuple[str, ...]
    prompt: str
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
    """Who may decide about an approval; the operators if nobody is named."""
    always: bool = True
    """It may be approved for the rest of the thread at once."""
    expires_at: float | None = None
    quorum: int = 1
    """How many people have to approve."""
    supporters: tuple[str, ...] = ()
    """Who has approved so far, where several have to."""
    always_so_far: bool = True
    """All of them did so for the rest of the thread."""

    @property
    def answer(self) -> Answer | None:
        """The answer, None while there is none."""
        return Answer(kind=self.answer_kind, text=self.answer_text) if self.answer_kind else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRow:
    """A line of the tool journal. `result` is a ToolResult as JSON."""

    key: str
    agent: tuple[str, ...]
    tool: str
    arguments_hash: str
    status: CallStatus
    result: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenMessage:
    """The text shown so far of a message that still grows."""

    message: str
    turn: str
    agent: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingMessage:
    """A message that waits for its turn, as lists show it; `author` is their id."""

    inbox: int
    author: str
    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A tool that may run for the rest of a thread on behalf of a person (both by Author.id).

    `granted_at`: seconds since the epoch.
    """

    tool: str
    person: str
    granted_by: str
    granted_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """Something that was decided about a request, or a grant. `person` is "" for the gateway.

    `what` is asked, supported, answered, expired, closed or revoked; `outcome` is for people, and
    never what somebody answered in words. `place` is the ConversationKey it was decided from.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUse:
    """What a turn has used of one model, on behalf of whom."""

    model: str
    person: str
    team: str
    workspace: str
    prompt_tokens: int
    completion_tokens: int
    cost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """Sums of what models were used for; `turns` are those that asked one."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    turns: int = 0

    @property
    def tokens(self) -> int:
        """Those read and those written."""
        return self.prompt_tokens + self.completion_tokens


NOTHING_USED = Used()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to write a turn."""

    thread: str
    turn: str
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
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
    used: Used = NOTHING_USED
    """What its earlier attempts have used."""
    saved: bool = True
    """There is a state of the thread's team."""
    folder: Path | None = None
    """The thread's own, where the store has one; it may not be there yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """The team's state, to be added: a snapshot makes all rows before it superfluous."""

    kind: Literal["snapshot", "delta"]
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnd:
    """How a turn leaves its lane. `paused` and `waiting` ones come back."""

    status: Literal["paused", "waiting", "done", "stopped", "failed"]
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What one write adds to a turn; all of it or nothing."""

    events: Sequence[SessionEvent] = ()
    checkpoint: Checkpoint | None = None
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Succession:
    """The definition under which a thread's team goes on, and what the thread is told of that.

    `replaces`: a new team begins instead of one with this definition, whose state is put away and
    whose questions are closed.
    """

    definition: str
    participants: tuple[str, ...]
    notice: str = ""
    replaces: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OldState:
    """What a team remembered that another one replaced. `replaced_at`: seconds since the epoch."""

    definition: str
    replaced_at: float
    checkpoints: tuple[Checkpoint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """The events as stored, with their seqs; `again` says that the lane has more to do at once."""

    events: tuple[SessionEvent, ...]
    again: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What one person keeps busy: turns that run, turns begun within ten minutes, and messages that
    wait.
    """

    running: int = 0
    begun: int = 0
    waiting: int = 0


NO_LOAD = Load()


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonLimits:
    """How many turns of one person may run side by side, and begin within ten minutes."""

    parallel: int
    turns: int


@dataclass(frozen=True, slots=True, kw_only=True)
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
    load: Load = NO_LOAD
    """What the person keeps busy already."""
    last: TurnStatus | None = None
    """How the thread's newest turn stands."""
    others: bool = False
    """Somebody else has written in the thread."""
    queue: tuple[WaitingMessage, ...] = ()
    """What waits, in its order; only read for a command."""
    grants: tuple[Grant, ...] = ()
    """What may run for the rest of the thread; only read for a command."""

    @property
    def busy(self) -> bool:
        """Whether a message has to wait its turn."""
        return self.status is not None or self.waiting > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Enqueue:
    """The message waits for its turn, or does with it what the thread's `mode` says; `notice` is
    told to the thread, `limits` are its author's. `quiet`: seconds for which nobody may write
    before it begins.
    """

    notice: str = ""
    limits: PersonLimits | None = None
    mode: str = "queue"
    quiet: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolve:
    """The message answers this request; `outcome` is for people."""

    request: str
    answer: Answer
    outcome: str
    grant: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """The message approves a request that needs others' approval, too."""

    request: str
    always: bool
    approved: int
    """How many have by now."""
    quorum: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The message that this one edits is changed, if it still waits; otherwise its author is
    offered, once, to run it again. `anybody`: also if it is not the same author's.
    """

    anybody: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """The message that was deleted on its platform is withdrawn if it still waits, and missed if
    the team works on it. `anybody`: also if it is not the same author's.
    """

    anybody: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignore:
    """Nothing is done about the message, nor stored of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """What the message with this number was edited to gets a turn of its own, as `enqueue` says."""

    inbox: int
    enqueue: Enqueue = Enqueue()
    anybody: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """The waiting message with this number is taken back."""

    inbox: int
    anybody: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class First:
    """The waiting message with this number comes before the others."""

    inbox: int
    anybody: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SetMode:
    """What a message during a turn does from now on. `quiet` is as in Enqueue."""

    mode: str
    reply: str
    quiet: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Revoke:
    """A tool is asked for again whose calls were approved for the rest of the thread."""

    tool: str
    anybody: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """A command that only answers its sender."""

    reply: str


Spent: TypeAlias = Callable[[Scope | None, str, float], Used]
"""What was used in the scope of a name, or by everybody, since a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TellUsage:
    """A command that tells its sender what was used: `tell`, which the gateway gives, puts it in
    words.
    """

    tell: Callable[[Spent], str] = lambda _: ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """The running or waiting turn ends."""

    reply: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """The conversation goes on in a fresh thread."""

    reply: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """The turn that failed, or was interrupted too often, is tried again."""

    reply: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Forget:
    """The thread is removed with everything it has; the conversation goes on in a fresh one."""

    reply: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingCode:
    """A one-time code, only as its salted hash."""

    salt: bytes
    hash: bytes
    expires_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """The message is not taken; its text is not kept. `pair` is a code that its author is given."""

    reason: str
    reply: str = ""
    pair: PairingCode | None = None


Decision: TypeAlias = (
    Enqueue
    | Resolve
    | Support
    | Say
    | TellUsage
    | Stop
    | Begin
    | Retry
    | Forget
    | Change
    | Cancel
    | Again
    | Drop
    | First
    | SetMode
    | Revoke
    | Refuse
    | Ignore
)
Judge: TypeAlias = Callable[[Situation], Decision]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewThread:
    """What a thread made for a message starts with."""

    id: str
    team: str
    definition: str
    participants: tuple[str, ...] = ()
    mode: str = "queue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Later:
    """The thread's next turn may begin in so many seconds, unless somebody writes meanwhile."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """Messages that were taken into a turn that runs, and what this adds to the thread."""

    messages: tuple[QueuedMessage, ...]
    events: tuple[SessionEvent, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What became of requests whose time had come: what it adds to each thread, the threads that
    can go on, with whose turn it is, and when the next one's time comes (seconds since the epoch).
    """

    events: Mapping[str, tuple[SessionEvent, ...]]
    ready: Sequence[tuple[str, str]]
    next_at: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """What an earlier boot left to do in a thread."""

    thread: str
    person: str
    crowds: tuple[tuple[str, str], ...] = ()
    open_messages: tuple[OpenMessage, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody who was let in with a code. `paired_at`: seconds since the epoch."""

    id: str
    name: str
    paired_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxRow:
    """A message of a platform, as it stands there or is to stand.

    It is part `n` of what `item` names, whose text it shows from `first` to `last`; `body` is a
    hash of that text, `digest` one of everything that stands there. `place` is a ConversationKey.
    """

    key: str
    thread: str
    place: str
    item: str
    n: int
    seq: int
    status: PartStatus
    first_at: float
    at: float
    message: str = ""
    first: int = 0
    last: int = 0
    body: str = ""
    digest: str = ""
    closed: bool = False
    """The platform takes no change of it any more."""
    open: bool = False
    """A question that nobody has answered."""
    unsure: bool = False
    """It may stand there twice, and says so."""
    generation: int = 0
    attempts: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """How far a thread is told on its platform, and what of it stands there.

    `gone` is why nothing can be written there any more, "" while it can.
    """

    told: int
    gone: str
    rows: tuple[OutboxRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Figures for `parley status`."""

    threads: Mapping[str, int]
    inbox: Mapping[str, int]
    """Accepted messages by their outcome; those "queued" have none yet."""
    refused: Mapping[str, int]
    """Those that were refused, by the reason."""
    turns: Mapping[str, int]
    open_requests: int
    outbox: Mapping[str, int] = field(default_factory=dict[str, int])
    """Messages of platforms by how far they are: pending, attempting, delivered, failed."""
    tokens: Mapping[str, int] = field(default_factory=dict[str, int])
    """Those that models read and wrote "today" and "this month", in UTC."""
    cost: Mapping[str, float] = field(default_factory=dict[str, float])
    """What they cost, by the same."""
    feedback: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many have called an answer "good" or "bad"."""


class SessionReader(Protocol):
    """The part of a store that only reads; the CLI has it without being the owner."""

    async def threads(self, *, search: str = "", limit: int = 50, offset: int = 0) -> list[Thread]:
        """Threads, the last used first; `search` looks into titles and texts."""
        ...

    async def thread(self, thread: str) -> Thread:
        """Raises NotFound."""
        ...

    async def thread_at(self, key: ConversationKey) -> Thread | None:
        """The thread in which a conversation goes on, None for one that is not known."""
        ...

    async def taken(self, keys: Collection[str]) -> frozenset[str]:
        """Those of these dedupe keys whose messages were taken."""
        ...

    async def events(self, thread: str, *, after: int = 0, limit: int = 500) -> list[SessionEvent]:
        """The first `limit` events after a seq."""
        ...

    async def open_messages(self, thread: str) -> list[OpenMessage]:
        """What was shown of messages that are not finished."""
        ...

    async def request(self, request: str) -> Request:
        """Raises NotFound."""
        ...

    async def checkpoints(self, thread: str) -> list[Checkpoint]:
        """The newest snapshot and the deltas after it; none for a team that never ran."""
        ...

    async def outdated(self, definitions: Mapping[str, str]) -> list[Thread]:
        """The threads whose team has another definition than here, or none."""
        ...

    async def old_states(self, thread: str) -> list[OldState]:
        """What teams remembered that were replaced in this thread, the oldest first."""
        ...

    async def threads_of(self, person: str) -> list[Thread]:
        """The threads in which this person has written, asked or answered."""
        ...

    async def audit(self, thread: str) -> list[AuditRow]:
        """What was decided about the thread's requests and grants, by whom, in its order."""
        ...

    async def people(self) -> list[Person]:
        """Who was let in with a code, the first ones first."""
        ...

    async def counts(self) -> Counts:
        """Figures over all threads."""
        ...

    async def feedback(self, thread: str) -> Mapping[str, int]:
        """How many have called an answer of the thread "good" or "bad"."""
        ...

    async def untold(self, platform: str) -> list[str]:
        """The threads of a platform of which something is not told there yet."""
        ...

    async def delivery(self, thread: str) -> Delivery:
        """How far a thread is told on its platform, and what of it stands there."""
        ...

    async def link_of(self, turn: str) -> str:
        """A link to what the turn works on; "" if there is none."""
        ...

    async def spent(self, scope: Scope | None, name: str, since: float) -> Used:
        """What was used since then, in the scope of this name or by everybody."""
        ...


class SessionStore(SessionReader, Protocol):
    """A store that its owner writes."""

    @property
    def folder(self) -> Path:
        """Where the control socket lives."""
        ...

    def own(self) -> AbstractAsyncContextManager[None]:
        """Be its only owner. Raises StoreError."""
        ...

    async def create_thread(
        self, new: NewThread, *, key: ConversationKey, title: str = ""
    ) -> Thread:
        """Make a thread."""
        ...

    async def rename_thread(self, thread: str, title: str) -> list[SessionEvent]:
        """Raises NotFound."""
        ...

    async def delete_thread(self, thread: str) -> None:
        """Remove all its rows and its work folder, from the disk, too. Raises NotFound."""
        ...

    async def delete_person(self, person: str) -> list[str]:
        """Remove whatever is known of a person, with all threads they had a part in; their ids."""
        ...

    async def expire(self, before: float) -> list[str]:
        """Remove the threads that were last used before this time and have nothing to do."""
        ...

    async def marks(self, platform: str) -> Mapping[str, str]:
        """What a platform's adapter keeps from one run to the next, by its names."""
        ...

    async def mark(
        self, platform: str, name: str, value: str, *, of: ConversationKey | None = None
    ) -> None:
        """Keep a text for a platform's adapter, instead of an earlier one of this name.

        What is known `of` a conversation is deleted with its last thread, and not kept if it has
        none.
        """
        ...

    async def rate(self, thread: str, part: str, person: str, *, good: bool) -> None:
        """Keep what a person says about a part of a thread's answer, instead of what they have
        said before. Raises NotFound.
        """
        ...

    async def probe(self) -> None:
        """Nothing, as a write. Raises the GatewayError that a write would."""
        ...

    async def backup(self, path: Path) -> None:
        """Write a copy of the store as it is now to a file, whole or not at all.

        Raises StoreUnwritable or StoreFull.
        """
        ...

    async def work_folder(self, thread: str) -> Path:
        """Where the thread's tools may write; made if it is not there, removed with the thread."""
        ...

    async def accept(
        self,
        message: InboundMessage,
        judge: Judge,
        *,
        new: NewThread,
        kind: InboxKind,
        named: str = "",
        then: Callable[[Accepted], None],
    ) -> Accepted:
        """Take a message once, as `judge` decides, in one transaction.

        `new` is the thread to make where it needs one, `named` the request it names. `then` is
        called with the result on the event loop even if the caller was cancelled meanwhile.
        """
        ...

    async def redeem(self, hashed: Callable[[bytes], bytes]) -> Person | None:
        """Let in whose waiting code it is that `hashed` hashes with a salt; None for a wrong, used
        or late one.
        """
        ...

    async def unpair(self, person: str) -> bool:
        """Shut somebody out again who was let in; False if they were not."""
        ...

    async def withdraw(self, thread: str, inbox: int) -> tuple[str, list[SessionEvent]] | None:
        """Take back a message that still waits: its text and what this adds to the thread."""
        ...

    async def recover(self, boot: str) -> list[Recovered]:
        """Judge what earlier boots left behind; call once, before anything is run."""
        ...

    async def begin(self, thread: str, boot: str, *, quiet: float = 0.0) -> Work | Later | None:
        """Claim the thread and its next turn: one that goes on, or that of the first waiting
        message, once nobody has written for `quiet` seconds where the thread collects.
        """
        ...

    async def join(self, lease: Lease) -> Joined:
        """Take what waits into the turn, if the thread's mode says so. Raises Fenced."""
        ...

    async def settle_due(self, may_answer: Callable[[Request], tuple[str, ...]]) -> Settled:
        """Let requests expire whose time is over, and remind of those that are open for long."""
        ...

    async def succeed(self, lease: Lease, succession: Succession) -> tuple[SessionEvent, ...]:
        """Note how the thread's team goes on; what this adds to the thread. Raises Fenced."""
        ...

    async def withdraw_questions(
        self, threads: Collection[str]
    ) -> Mapping[str, tuple[SessionEvent, ...]]:
        """End the turns of these threads that wait for answers; what this adds to each."""
        ...

    async def record(self, lease: Lease, record: Record) -> Recorded:
        """Add to a turn. Raises Fenced."""
        ...

    async def put_part(self, row: OutboxRow) -> None:
        """Write a row of the outbox. Raises NotFound once its thread is gone."""
        ...

    async def told(self, thread: str, seq: int) -> int:
        """Note that all up to this seq is told; the thread's last seq. Raises NotFound."""
        ...

    async def give_up(self, thread: str, seq: int, why: str) -> None:
        """Note that nothing can be told there: all up to this seq is given up. Raises NotFound."""
        ...

    async def take_up(self, thread: str) -> None:
        """Note that the thread can be written to again."""
        ...
