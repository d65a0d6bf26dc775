"""Rows of a store, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal, TypeAlias

from gateway.client import Answer, AnswerKind, ThreadInfo
from gateway.conversation import ConversationKey
from gateway.events import RequestKind
from gateway.values import value

TurnStatus: TypeAlias = Literal[
    "running", "paused", "waiting", "done", "stopped", "failed", "interrupted"
]
InboxOutcome: TypeAlias = Literal["queued", "turn", "answer", "command", "merged", "refused"]
InboxKind: TypeAlias = Literal["message", "edit", "answer", "command"]
CallStatus: TypeAlias = Literal["shown", "started", "suspended", "finished", "unknown"]
RequestState: TypeAlias = Literal["open", "answered", "expired", "closed"]


@value
class Thread(ThreadInfo):
    """A thread as the gateway needs it.

    `handoff_from` is the agent that handed the work to the user.
    """

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

    @property
    def takes_all(self) -> bool:
        """True if all waiting messages are taken by one turn.

        They are collected, or each takes the place of those before it.
        """
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
    expires_at: float | None = None
    quorum: int = 1
    """Number of people who have to approve."""
    supporters: tuple[str, ...] = ()
    """People who have approved so far, where several have to."""
    always_so_far: bool = True
    """All of them did so for the rest of the thread."""

    @property
    def answer(self) -> Answer | None:
        """The answer, None while there is none."""
        return Answer(kind=self.answer_kind, text=self.answer_text) if self.answer_kind else None


@value
class CallRow:
    """A line of the tool journal. `result` is a ToolResult as JSON."""

    key: str
    agent: tuple[str, ...]
    tool: str
    arguments_hash: str
    status: CallStatus
    result: str | None = None


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
    """Memory of a team that was replaced.

    `replaced_at`: seconds since the epoch.
    """

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

    Both people are named by Author.id.

    `granted_at`: seconds since the epoch.
    """

    tool: str
    person: str
    granted_by: str
    granted_at: float


@value
class AuditRow:
    """A decision about a request or a grant.

    `person` is "" for the gateway.

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


@value
class ModelUse:
    """A turn's use of one model on behalf of a person."""

    model: str
    person: str
    team: str
    workspace: str
    prompt_tokens: int
    completion_tokens: int
    cost: float


@value
class EncryptedToken:
    """A platform's encrypted token: its name and its key's id."""

    name: str
    key: str
    value: bytes = field(repr=False)


@value
class UsageTotals:
    """Sums of the use of models.

    `turns` are those that asked one.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    turns: int = 0

    @property
    def tokens(self) -> int:
        """Those read and those written."""
        return self.prompt_tokens + self.completion_tokens


NOTHING_USED = UsageTotals()


@value
class PairedPerson:
    """A person who was let in with a code.

    `paired_at`: seconds since the epoch.
    """

    id: str
    name: str
    paired_at: float


@value
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
    """Their cost, by the same."""
    feedback: Mapping[str, int] = field(default_factory=dict[str, int])
    """Number of people who called an answer "good" or "bad"."""
