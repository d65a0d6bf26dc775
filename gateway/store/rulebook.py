"""Rules that a transaction is handed: frozen values, made on the event loop, that decide by what
the store finds.

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
    """What was used, as far as a decision asked for it, and the thread in which it was asked."""

    thread: Thread | None
    used: Mapping[UsageQuery, UsageTotals]


@value
class MessageFound:
    """The outcome of a command about one message, which it names by its number."""

    outcome: Literal["not yours", "not waiting", "taken back", "comes first", "nothing to repeat"]
    inbox: int


@value
class GrantRevoked:
    """The outcome of a command that takes grants of a tool back: whether there were any."""

    tool: str
    revoked: bool


Fact: TypeAlias = UsageFound | MessageFound | GrantRevoked
"""Results of commands that only the store knows, and that their senders are told of."""


@value
class MessageMissed:
    """A message that was edited or deleted on its platform once the team had it."""

    event: Literal["edited", "deleted"]
    inbox: int


@value
class Offer:
    """A sentence for people with the command that they may answer it by, and its button."""

    text: str
    command: str
    label: str


class Rulebook(Protocol):
    """The rules that hold for one message. Pure: the same situation is decided the same way."""

    def decide(self, situation: Situation) -> Decision:
        """Decide about the message."""
        ...

    def reply(self, fact: Fact) -> str:
        """Say in words what a command has found; the words are kept with its row."""
        ...

    def offer(self, missed: MessageMissed) -> Offer:
        """Offer people what may be done about a message that was changed too late."""
        ...


@value
class MissingFileWords:
    """Sentences about a file that did not get here, with places for its `name` and for `why`."""

    to_team: str
    to_people: str
    too_late: str
    """The reason where nobody fetched it in time."""


class FileRules(Protocol):
    """The files that were fetched for a message, and which of them a thread may have."""

    @property
    def words(self) -> MissingFileWords:
        """Sentences about those that are missing."""
        ...

    def sort(self, held: int) -> tuple[Sequence[Attachment], Sequence[MissingFile]]:
        """Those that are kept in a thread that has so many bytes of files, and those left out."""
        ...


class RequestRules(Protocol):
    """The rules about requests whose time has come."""

    def who_may_answer(self, request: Request) -> tuple[str, ...]:
        """The people (Author.id) to turn to with this request, as far as they are named."""
        ...

    def reminder(self, request: Request, age: float) -> str:
        """A reminder of a request that has been open for so many seconds."""
        ...

    def expired(self, request: Request) -> tuple[str, Answer]:
        """The outcome, for people, of a request that nobody answered, and what stands for the
        answer.
        """
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
