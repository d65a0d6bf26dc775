"""A person's view of a gateway in the same process."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from gateway.client import Answer, CommandInfo, Receipt, ThreadInfo
from gateway.conversation import LOCAL_OPERATOR, Author, InboundMessage
from gateway.events import SessionEvent
from gateway.gateway import Gateway


class LocalClient:
    """The Client of `author`, who is the operator unless said otherwise. The gateway must be
    entered.

    async with Gateway(SqliteStore(folder), teams) as gateway:
        client = LocalClient(gateway)
        thread = await client.create_thread()
        await client.send(thread.id, "Hello")
    """

    def __init__(self, gateway: Gateway, author: Author = LOCAL_OPERATOR) -> None:
        self._gateway = gateway
        self._author = author

    async def threads(
        self, *, search: str = "", limit: int = 50, offset: int = 0
    ) -> list[ThreadInfo]:
        """Threads, the last used first; `search` looks into titles and texts."""
        return await self._gateway.threads(search=search, limit=limit, offset=offset)

    async def thread(self, thread: str) -> ThreadInfo:
        """One thread. Raises NotFound."""
        return await self._gateway.thread(thread)

    async def create_thread(self, *, team: str = "", title: str = "") -> ThreadInfo:
        """A fresh thread, with the default team unless one is named."""
        return await self._gateway.create_thread(team=team, title=title)

    async def rename_thread(self, thread: str, title: str) -> None:
        """Give a thread another title."""
        await self._gateway.rename_thread(thread, title)

    async def delete_thread(self, thread: str) -> None:
        """Remove a thread with everything it has."""
        await self._gateway.delete_thread(thread)

    async def send(self, thread: str, text: str) -> Receipt:
        """Say something in a thread, or type a command. Raises NotFound."""
        key = (await self._gateway.store.thread(thread)).key
        message = InboundMessage(key=key, thread=thread, author=self._author, text=text)
        return await self._gateway.accept(message)

    async def withdraw(self, thread: str, inbox: int) -> str | None:
        """Take a waiting message back and return its text; None if it no longer waits."""
        return await self._gateway.withdraw(thread, inbox)

    async def answer(self, request: str, answer: Answer) -> str | None:
        """Answer a request. None if the answer was taken, otherwise a sentence why not."""
        return await self._gateway.answer(request, answer, author=self._author)

    async def stop(self, thread: str) -> bool:
        """Stop the thread's turn. False if there was none."""
        return await self._gateway.stop(thread, author=self._author)

    def events(self, thread: str, *, after: int = 0) -> AsyncGenerator[SessionEvent]:
        """What happened in a thread after a seq, then what happens."""
        return self._gateway.events(thread, after=after)

    def commands(self) -> list[CommandInfo]:
        """What can be typed."""
        return self._gateway.commands()

    async def agents(self, team: str = "") -> dict[str, str]:
        """A team's agents with their models, the default team's unless named."""
        return self._gateway.agents(team)

    def owner(self) -> None:
        """This process has the gateway."""

    async def aclose(self) -> None:
        """Nothing to close: the gateway belongs to whoever entered it."""
