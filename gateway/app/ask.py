"""Asking the person at the terminal, line by line."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Protocol, TextIO

from gateway.client import Answer
from gateway.items import RequestItem
from gateway.questions import advice_lines, question_lines, understand


class Asker(Protocol):
    """Somebody who can be asked."""

    async def ask(self, request: RequestItem) -> Answer:
        """Their answer. Raises EOFError if they will give none."""
        ...


class TerminalAsker:
    """The user at the terminal.

    Questions go to `err`, so that the output stays the answer.
    """

    def __init__(self, terminal: TextIO, err: TextIO) -> None:
        self._terminal = terminal
        self._err = err

    async def ask(self, request: RequestItem) -> Answer:
        """Ask until the answer can be understood."""
        self._err.write("".join(f"{line}\n" for line in question_lines(request)))
        while True:
            self._err.write("\n".join((*advice_lines(request), "> ")))
            self._err.flush()
            if answer := understand(request, await self._line()):
                return answer

    async def _line(self) -> str:
        """The next line; unlike in a thread, the wait can be cancelled."""
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        loop.add_reader(self._terminal.fileno(), ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(self._terminal.fileno())
        line = self._terminal.readline()
        if not line:
            raise EOFError
        return line.strip()


class AllowingAsker:
    """Approves calls of these tools; another asker gets the rest."""

    def __init__(self, tools: Collection[str], other: Asker | None) -> None:
        self._tools = tools
        self._other = other

    async def ask(self, request: RequestItem) -> Answer:
        """Approve the call, or pass the question on."""
        asked = request.asked
        if asked and request.kind == "approval" and not asked.changed and asked.tool in self._tools:
            return Answer(kind="approve")
        if self._other is None:
            raise EOFError
        return await self._other.ask(request)
