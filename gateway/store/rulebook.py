"""Rules that a transaction is handed: frozen values, made on the event loop, that decide by what
the store finds.

The thread that writes runs them, so they hold nothing that changes, and reach nothing that does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

from gateway.conversation import Attachment, MissingFile
from gateway.store.decisions import Decision, Situation, UsageQuery
from gateway.store.records import Request, Thread, Used
from gateway.values import value


@value
class UsageFound:
    """What was used, as far as a decision asked for it, and the thread in which it was asked."""

    thread: Thread | None
    used: Mapping[UsageQuery, Used]


Fact: TypeAlias = UsageFound
"""Results of commands that only the store knows, and that their senders are told of."""


class Rulebook(Protocol):
    """The rules that hold for one message. Pure: the same situation is decided the same way."""

    def decide(self, situation: Situation) -> Decision:
        """Decide about the message."""
        ...

    def reply(self, fact: Fact) -> str:
        """Say in words what a command has found; the words are kept with its row."""
        ...


class FileRules(Protocol):
    """The files that were fetched for a message, and which of them a thread may have."""

    def sort(self, held: int) -> tuple[Sequence[Attachment], Sequence[MissingFile]]:
        """Those that are kept in a thread that has so many bytes of files, and those left out."""
        ...


class Respondents(Protocol):
    """The people who may answer requests."""

    def who_may_answer(self, request: Request) -> tuple[str, ...]:
        """The people (Author.id) to turn to with this request, as far as they are named."""
        ...


class CodeCheck(Protocol):
    """A one-time code that somebody has typed."""

    def hashed(self, salt: bytes) -> bytes:
        """Its hash with the salt of a code that waits."""
        ...
