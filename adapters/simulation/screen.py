"""The screen of a simulated platform: new lines as they come."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from gateway.render.sanitize import sanitize

INDENT = "      "
Message = TypeVar("Message")


@dataclass(slots=True)
class PrintedMessage(Generic[Message]):
    """The lines of a message on the terminal."""

    number: int
    message: Message
    lines: list[str] = field(default_factory=list[str])
    gone: bool = False


class Screen(ABC, Generic[Message]):
    """Writes changes since the last time; every message has a number."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._printed: dict[Hashable, PrintedMessage[Message]] = {}
        self._numbered: list[Message] = []
        self._last: Message | None = None
        """The message whose lines were written last, with nothing after them."""
        self._wrote = False

    def message(self, number: str) -> Message:
        """The message with a number. Raises LookupError."""
        if not number.isdigit() or not 1 <= int(number) <= len(self._numbered):
            raise LookupError(f"there is no message {number!r}; use a message's number")
        return self._numbered[int(number) - 1]

    def refresh(self) -> bool:
        """Write what is new; tells whether something was."""
        self._wrote = False
        self._write_news()
        return self._wrote

    @abstractmethod
    def _write_news(self) -> None:
        """Write what is new."""

    def _printed_message(self, key: Hashable, message: Message) -> PrintedMessage[Message]:
        """The printed lines of a message, numbered at first sight."""
        if key not in self._printed:
            self._numbered.append(message)
            self._printed[key] = PrintedMessage(len(self._numbered), message)
        return self._printed[key]

    def _write_lines(self, printed: PrintedMessage[Message], lines: list[str]) -> None:
        """Write the lines of a message that are new."""
        for line in _new_lines(printed.lines, lines):
            self._put(f"{INDENT}{line}")
        printed.lines = lines

    def _write_deletion(self, printed: PrintedMessage[Message]) -> None:
        """Say once that a message was deleted."""
        if not printed.gone:
            printed.gone = True
            self._line(f"  [{printed.number}] was deleted")

    def _line(self, text: str) -> None:
        """Write a line that belongs to no message, or begins one."""
        self._last = None
        self._put(text)

    def _put(self, text: str) -> None:
        self._wrote = True
        self._write(sanitize(text))


def _new_lines(before: list[str], now: list[str]) -> list[str]:
    """Lines to write: those added at the end, or all changed."""
    if now[: len(before)] == before:
        return now[len(before) :]
    return [line for line in now if line not in before] or now
