"""Rules for a transaction: frozen values, made on the event loop.

The thread that writes runs them, so they hold nothing that changes, and reach nothing that does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from gateway.client import Answer
from gateway.conversation import Attachment, MissingFile
from gateway.store.decisions import Decision, Situation, UsageQuery
from gateway.store.records import Request, Thread, UsageTotals
from gateway.values import value


@value
class UsageFound:
    """The usage that a command asked for, and its thread."""

    thread: Thread | None
    used: Mapping[UsageQuery, UsageTotals]


@value
class MessageFound:
    """Outcome of a command about one message, named by its number."""

    outcome: Literal["not yours", "not waiting", "taken back", "comes first", "nothing to repeat"]
    inbox: int


@value
class GrantRevoked:
    """Outcome of a command that revokes grants: whether there were any."""

    tool: str
    revoked: bool


Fact: TypeAlias = UsageFound | MessageFound | GrantRevoked
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
    """The rules that hold for one message.

    Pure: the same situation is decided the same way.
    """

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
class MissingFileWords:
    """Sentences about a missing file, with places for `name` and `why`."""

    to_team: str
    to_people: str
    too_late: str
    """The reason where nobody fetched it in time."""


class FileRules(Protocol):
    """The fetched files of a message, with the limits of its thread."""

    @property
    def words(self) -> MissingFileWords:
        """Sentences about those that are missing."""
        ...

    def sort(self, held: int) -> tuple[Sequence[Attachment], Sequence[MissingFile]]:
        """The files that are kept in the thread, and those left out."""
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
class RecoveryWords:
    """Sentences about a turn that a crash interrupted."""

    interrupted: str
    """It goes on."""
    parked: str
    """It is not tried again."""


class CodeCheck(Protocol):
    """A one-time code that somebody has typed."""

    def hashed(self, salt: bytes) -> bytes:
        """Its hash with the salt of a code that waits."""
        ...
