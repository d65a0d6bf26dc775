"""Standard input and output of a console."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress

import click

from adapters.simulation.console import QUIT, Console
from gateway.render.sanitize import sanitize

CLEAR_LINE = "\r\x1b[K"


class Terminal:
    """Lines to and from a console.

    Where a person sits there, the prompt stays below them.
    """

    def __init__(self) -> None:
        self._prompts = sys.stdin.isatty() and sys.stdout.isatty()

    def write(self, line: str) -> None:
        """Write a line, in place of the prompt."""
        line = sanitize(line)
        self._echo(f"{CLEAR_LINE}{line}\n" if self._prompts else f"{line}\n")

    async def talk(
        self,
        console: Console,
        change: Callable[[], Awaitable[object]],
        connected: Callable[[], Awaitable[object]],
    ) -> None:
        """Run the typed lines, and show what is new after every `change`.

        Lines wait until the app is `connected`; one that quits ends it before, as their end does.
        """
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(self._watch(console, change), name="simulator screen")
            connecting = group.create_task(self._connect(console, connected), name="connect")
            try:
                await console.run(self._ready_lines(console, connecting))
            finally:
                watching.cancel()
                connecting.cancel()

    async def _connect(self, console: Console, connected: Callable[[], Awaitable[object]]) -> None:
        await connected()
        self._prompt(console)

    async def _ready_lines(
        self, console: Console, connecting: asyncio.Task[None]
    ) -> AsyncGenerator[str]:
        async with aclosing(self._read_lines(console)) as lines:
            async for line in lines:
                if line.strip() != QUIT:
                    await asyncio.wait({connecting})
                yield line

    async def _watch(self, console: Console, change: Callable[[], Awaitable[object]]) -> None:
        while True:
            await change()
            if console.screen.refresh():
                self._prompt(console)

    def _prompt(self, console: Console) -> None:
        if self._prompts:
            self._echo(f"{CLEAR_LINE}{console.prompt}")

    def _echo(self, text: str) -> None:
        try:
            click.echo(text, nl=False)
        except OSError:
            if not self._prompts:
                raise
            # The window was closed: SIGHUP, which comes with that, ends the program in order.

    async def _read_lines(self, console: Console) -> AsyncGenerator[str]:
        """Lines of standard input, read in a worker."""
        loop = asyncio.get_running_loop()
        lines: asyncio.Queue[str] = asyncio.Queue()

        def read() -> None:
            with suppress(RuntimeError):  # the loop has ended
                with suppress(OSError, ValueError):  # the terminal is gone
                    for line in sys.stdin:
                        loop.call_soon_threadsafe(lines.put_nowait, line)
                loop.call_soon_threadsafe(lines.put_nowait, "")

        threading.Thread(target=read, name="stdin", daemon=True).start()
        while True:
            self._prompt(console)
            if not (line := await lines.get()):
                return
            yield line
