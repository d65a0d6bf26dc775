"""What an interactive surface may ask of a gateway, whether in its own process or behind its Unix
socket.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Literal, Protocol, TypeAlias

from gateway.events import InputRequested, SessionEvent
from gateway.values import value

ThreadState: TypeAlias = Literal["idle", "working", "waiting", "parked"]
AnswerKind: TypeAlias = Literal["text", "approve", "approve_always", "deny"]
Outcome: TypeAlias = Literal["turn", "queued", "answer", "command", "merged", "refused"]


@value
class ThreadInfo:
    """One thread as lists show it. `updated_at` is in seconds since the epoch."""

    id: str
    title: str
    team: str
    state: ThreadState
    updated_at: float
    last_seq: int = 0
    preview: str = ""


@value
class Receipt:
    """What became of a message once it was safely stored. `reply` is a command's answer, for the
    sender alone.

    `thread` is where the conversation goes on: another one after /new.
    """

    inbox: int
    thread: str
    outcome: Outcome
    reply: str = ""


@value
class Answer:
    """A person's answer to a request: text (or the chosen option), approve, approve always, or deny
    with a note.
    """

    kind: AnswerKind
    text: str = ""


@value
class RequestInfo:
    """A request to a human as people are shown it, and how it stands.

    `asker` is whose message the asking turn works on (Author.id), `outcome` is for people.
    """

    card: InputRequested
    open: bool
    outcome: str = ""
    asker: str = ""


@value
class CommandInfo:
    """A slash command with its one-line description."""

    name: str
    description: str


class Client(Protocol):
    """A person's view of the gateway. Every method may raise GatewayError with a sentence for
    people.

    `events(thread, after)` first replays what is stored after that seq, then goes on live until
    closed; it never yields the same seq twice. Deltas of an open message are given from its
    beginning.
    """

    async def threads(
        self, *, search: str = "", limit: int = 50, offset: int = 0
    ) -> list[ThreadInfo]:
        """The threads, last used first; `search` looks in titles and texts."""
        ...

    async def thread(self, thread: str) -> ThreadInfo:
        """One thread. Raises NotFound."""
        ...

    async def create_thread(self, *, team: str = "", title: str = "") -> ThreadInfo:
        """A new, empty thread, on the default team unless named."""
        ...

    async def rename_thread(self, thread: str, title: str) -> None:
        """Give the thread another title."""
        ...

    async def delete_thread(self, thread: str) -> None:
        """Delete the thread with everything that was said and made in it."""
        ...

    async def send(self, thread: str, text: str) -> Receipt:
        """Write to the thread; once this returns, the text is safely stored."""
        ...

    async def withdraw(self, thread: str, inbox: int) -> str | None:
        """Take a waiting message back and return its text; None if it is no longer waiting."""
        ...

    async def answer(self, request: str, answer: Answer) -> str | None:
        """Answer a request.

        None if the answer was taken, otherwise a sentence why not (already answered ...).
        """
        ...

    async def stop(self, thread: str) -> bool:
        """Stop the running turn. False if there was none."""
        ...

    def events(self, thread: str, *, after: int = 0) -> AsyncIterator[SessionEvent]:
        """What happened in the thread after this seq, then what happens."""
        ...

    def commands(self) -> list[CommandInfo]:
        """The slash commands there are."""
        ...

    async def agents(self, team: str = "") -> dict[str, str]:
        """A team's agents in its order, the default team's unless named, each with the model it
        runs on as people call it, "" without one. Those of a team from Python are known once it
        was built; an unknown team has none.
        """
        ...

    def owner(self) -> int | None:
        """The pid of the process that has the gateway; None if it is this one."""
        ...
