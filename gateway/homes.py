"""The contract of people's own pages on a platform.

A surface with such pages tells who opens theirs, and is given what stands there, for them alone.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from gateway.conversation import Author, ConversationKey
from gateway.surface import Card
from gateway.values import value


@value
class Visit:
    """A person's page in a workspace; `person` is their Author.id."""

    person: str
    workspace: str


@value
class HomeRequest:
    """An open request for the person; `key` is its thread's place."""

    card: Card
    key: ConversationKey


@value
class HomeThread:
    """A thread in which the person has asked; `waiting`: for people."""

    title: str
    link: str
    waiting: bool = False


@value
class Home:
    """A person's page.

    `teams` are those that they may ask, each with a line about it: none for whoever may not write.
    They may write `direct` messages, and in `channels`. `more`: not all open requests are among
    `requests`.
    """

    teams: tuple[tuple[str, str], ...] = ()
    direct: bool = False
    channels: bool = False
    requests: tuple[HomeRequest, ...] = ()
    more: bool = False
    threads: tuple[HomeThread, ...] = ()
    usage: str = ""


@runtime_checkable
class HomeSurface(Protocol):
    """A surface with a page of each person's own.

    All may raise RateLimited, CallRejected, PlatformUnreachable, OutcomeUnknown and AuthError.
    """

    async def next_visit(self) -> Visit:
        """Wait for the next person who opens their page."""
        ...

    async def visitor(self, visit: Visit) -> Author:
        """The person as the platform knows them now."""
        ...

    async def show_home(self, visit: Visit, home: Home) -> None:
        """Let a person's page say this."""
        ...
