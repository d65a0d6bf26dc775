"""The console of a simulated platform: acting as people, line by line.

The command /NAME is the method `_do_NAME`, called with the rest of the line.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from typing import ClassVar, Protocol

QUIT = "/quit"


class ConsoleScreen(Protocol):
    """The screen of a console."""

    def refresh(self) -> bool:
        """Write what is new; tells whether something was."""
        ...


class Console(ABC):
    """Takes lines, and does what they say as one of the people."""

    HELP: ClassVar[str]
    UNKNOWN: ClassVar[str] = "there is no command /{name}; /help lists the commands"
    refusals: ClassVar[tuple[type[Exception], ...]] = (LookupError, OSError, ValueError)
    """Errors that are printed, not raised."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write

    @property
    @abstractmethod
    def screen(self) -> ConsoleScreen:
        """Messages and forms, as people see them."""

    @property
    @abstractmethod
    def prompt(self) -> str:
        """The current person and place."""

    @abstractmethod
    async def _post(self, text: str) -> object:
        """Write a message."""

    @abstractmethod
    async def _slash(self, line: str) -> object:
        """Use a slash command of the application."""

    async def run(self, lines: AsyncIterator[str]) -> None:
        """Do what the lines say until they end, or one is /quit."""
        async for line in lines:
            if line.strip() == QUIT:
                return
            await self.run_line(line.strip())

    async def run_line(self, line: str) -> None:
        """Do what one line says; what does not work is said."""
        try:
            await self._run(line)
        except self.refusals as error:
            self._write(f"  ({error})")
        self.screen.refresh()

    async def _run(self, line: str) -> None:
        if line.startswith("//"):
            await self._slash(line[2:])
        elif line.startswith("/"):
            name, _, rest = line[1:].partition(" ")
            if (do := getattr(self, f"_do_{name}", None)) is None:
                raise LookupError(self.UNKNOWN.format(name=name))
            await do(rest.strip())
        elif line:
            await self._post(line)

    async def _do_help(self, _: str) -> None:
        self._write(self.HELP)


def person_name(written: str) -> str:
    """A person's name, as typed; raises ValueError if it is invalid."""
    name = written.removeprefix("@")
    if not name.replace("-", "").isalnum():
        raise ValueError("a name may contain only letters, digits and -")
    return name
