"""The stream that chats print to and read from."""

from __future__ import annotations

import getpass
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class IOStream(Protocol):
    """A place that chats print to and read from.

    The default is the console; `set_default` changes it for the code inside.
    """

    def print(self, *objects: Any, sep: str = " ", end: str = "\n", flush: bool = False) -> None:
        """Print the objects."""
        ...

    def input(self, prompt: str = "", *, password: bool = False) -> str:
        """Read a line."""
        ...

    @staticmethod
    def get_default() -> IOStream:
        """Stream in use here."""
        return _STREAM.get() or _CONSOLE

    @staticmethod
    @contextmanager
    def set_default(stream: IOStream | None) -> Generator[None]:
        """Use a stream for the code inside."""
        token = _STREAM.set(stream)
        try:
            yield
        finally:
            _STREAM.reset(token)


class IOConsole(IOStream):
    """The console."""

    def print(self, *objects: Any, sep: str = " ", end: str = "\n", flush: bool = False) -> None:
        """Print the objects to stdout."""
        print(*objects, sep=sep, end=end, flush=flush)  # noqa: T201 (its purpose)

    def input(self, prompt: str = "", *, password: bool = False) -> str:
        """Read a line of stdin; a password is not shown."""
        return getpass.getpass(prompt or "Password: ") if password else input(prompt)


_STREAM: ContextVar[IOStream | None] = ContextVar("teams_conversable_io", default=None)
_CONSOLE = IOConsole()


def say(text: str) -> None:
    """Print a text to the default stream."""
    IOStream.get_default().print(text, flush=True)
