"""Rules for a transaction: frozen values, made on the event loop.

The worker that writes runs them, so they hold nothing that changes, and reach nothing that does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from gateway.client import Answer
from gateway.conversation import Attachment, InboundMessage, MissingFile
from gateway.events import ContextFill
from gateway.store.decisions import Decision, NewThread, UsageQuery
from gateway.store.records import InboxKind, Memo, Request, Situation, Thread, UsageTotals
from gateway.values import Origin, value


@value
class UsageFound:
    """Usage that a command asked for, and the fill of contexts."""

    thread: Thread | None
    used: Mapping[UsageQuery, UsageTotals]
    fill: tuple[ContextFill, ...] = ()


@value
class MessageFound:
    """Outcome of a command about one message, named by its number."""

    outcome: Literal["not yours", "not waiting", "taken back", "comes first", "not repeatable"]
    inbox: int


@value
class GrantRevoked:
    """Outcome of a command that revokes grants: whether there were any."""

    tool: str
    revoked: bool


@value
class MemosFound:
    """Memos of a command's sender, and how many were deleted."""

    memos: Sequence[Memo]
    page: int
    deleted: int | None


Fact: TypeAlias = UsageFound | MessageFound | GrantRevoked | MemosFound
"""Results of commands that only the store knows, and that their senders are told of."""


@value
class MessageMissed:
    """A message that was edited or deleted after the team had it."""

    event: Literal["edited", "deleted"]
    inbox: int


@value
class Offer:
    """A sentence with a command as its answer, and that command's button."""

    text: str
    command: str
    label: str


class Rulebook(Protocol):
    """The rules for one message; pure: alike situations are decided alike."""

    def decide(self, situation: Situation) -> Decision:
        """Decide about the message."""
        ...

    def reply(self, fact: Fact) -> str:
        """Words for a command's findings; they are kept with its row."""
        ...

    def offer(self, missed: MessageMissed) -> Offer:
        """Offer a choice about a message that was changed too late."""
        ...


@value
class JudgedMessage:
    """A message with all that its transaction needs.

    `new` is the thread to make where it needs one, `named` the request it names; `counted` says
    that its author has limits, so that the situation holds what they keep busy.
    """

    message: InboundMessage
    rulebook: Rulebook
    new: NewThread
    kind: InboxKind
    named: str = ""
    counted: bool = True
    claim: TurnClaim | None = None
    """Lets an idle thread's turn begin in the same transaction."""


@value
class MissingFileWords:
    """A sentence about a missing file, with places for `name` and `why`."""

    to_people: str
    too_late: str
    """The reason where nobody fetched it in time."""


@value
class TurnClaim:
    """Claim of a thread's next turn.

    `boot` is the run of the gateway that claims it.
    """

    boot: str
    words: MissingFileWords
    quiet: float = 0.0
    """Seconds for which nobody may have written where the thread collects."""
    only: Origin | None = None
    """The config whose threads of the terminal's it is for; None: any."""


@value
class SortedFiles:
    """Files kept in the thread, and those left out."""

    taken: Sequence[Attachment]
    missing: Sequence[MissingFile]
    notice: str
    """Sentences for their author."""


class FileRules(Protocol):
    """The fetched files of a message, with the limits of its thread."""

    def sort(self, held: int) -> SortedFiles:
        """Sort the files for a thread that has `held` bytes."""
        ...


class RequestRules(Protocol):
    """The rules about requests whose time has come."""

    def who_may_answer(self, request: Request) -> tuple[str, ...]:
        """The people (Author.id) who may answer this request, as far as named."""
        ...

    def reminder(self, request: Request, age: float) -> str:
        """A reminder of a request that is open for so long."""
        ...

    def expired(self, request: Request) -> tuple[str, Answer]:
        """Outcome of an expired request, and the text in its answer's place."""
        ...


@value
class DoubtWords:
    """Sentences about unfinished work that a loss makes doubtful."""

    notice: str
    """With what can be done about it."""
    command: str
    label: str
    """The command that continues, and its button."""
    reason: str
    """Why its turn ended."""


@value
class RecoveryWords:
    """Sentences about a turn that a crash interrupted."""

    interrupted: str
    """It goes on."""
    parked: str
    """It is not tried again."""
    reason: str
    """Why a parked turn ended."""
    mode_ended: str = ""
    """A mode of approval has ended with its chat."""
    doubt: DoubtWords | None = None
    """There is a loss that the threads do not know of."""


@value
class RequestDating:
    """Adjustment of open requests to the clock when a boot begins.

    `by` is the time in their terms, and `lag` the seconds by which they are dated too early.
    """

    by: float
    lag: float = 0.0


class CodeCheck(Protocol):
    """A one-time code that somebody has typed."""

    @property
    def lifetime(self) -> float:
        """Seconds for which such codes are good."""
        ...

    def hashed(self, salt: bytes) -> bytes:
        """Its hash with the salt of a code that waits."""
        ...
