"""Asking the person at the terminal, line by line."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from textwrap import indent
from typing import Protocol, TextIO

from gateway.client import Answer
from gateway.events import GrantKind, InputRequested, grant_label, grant_word
from gateway.render.arguments import plain_text
from gateway.render.sanitize import sanitize, visible


class Asker(Protocol):
    """Somebody who can be asked."""

    async def ask(self, request: InputRequested) -> Answer:
        """Their answer. Raises EOFError if they will give none."""
        ...


class TerminalAsker:
    """The user at the terminal.

    Questions go to `err`, so that the output stays the answer.
    """

    def __init__(self, terminal: TextIO, err: TextIO) -> None:
        self._terminal = terminal
        self._err = err

    async def ask(self, request: InputRequested) -> Answer:
        """Ask until the answer can be understood."""
        self._err.write(question(request))
        while True:
            self._err.write(_grants(request) + _PROMPTS[request.request_kind])
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

    async def ask(self, request: InputRequested) -> Answer:
        """Approve the call, or pass the question on."""
        named = request.tool in self._tools and not request.changed
        if request.request_kind == "approval" and named:
            return Answer(kind="approve")
        if self._other is None:
            raise EOFError
        return await self._other.ask(request)


_LETTERS: Mapping[GrantKind, str] = {
    "approve_same": "e",
    "approve_below": "f",
    "approve_always": "a",
    "approve_new": "d",
}
_PROMPTS = {
    "text": "> ",
    "choice": "number> ",
    "approval": "Allow it? [y]es, [n]o and why: ",
}


def question(request: InputRequested) -> str:
    """The request as the terminal shows it."""
    agent = sanitize(request.agent)
    match request.request_kind:
        case "text":
            return f"{agent} asks: {sanitize(request.prompt)}\n"
        case "choice":
            options = "".join(
                f"  {number}. {visible(option)}\n"
                for number, option in enumerate(request.options, 1)
            )
            return f"{agent} asks: {sanitize(request.prompt)}\n{options}"
        case "approval":
            reason = f"{sanitize(request.reason)}\n" if request.reason else ""
            arguments = indent(plain_text(request.shown_arguments), "  ")
            return f"{agent} wants to use {visible(request.tool)}:\n{arguments}\n{reason}"


def understand(request: InputRequested, line: str) -> Answer | None:
    """The answer that a line means; None to ask again."""
    match request.request_kind:
        case "text":
            return Answer(kind="text", text=line)
        case "choice":
            if line.isdecimal() and 0 < int(line) <= len(request.options):
                return Answer(kind="text", text=request.options[int(line) - 1])
            return Answer(kind="text", text=line) if line in request.options else None
        case "approval":
            return _verdict(line, [kind for kind, _ in request.grants])


def _grants(request: InputRequested) -> str:
    """Approvals of more than the call, each with its words."""
    told = ", ".join(f"[{_LETTERS[kind]}] {arguments}" for kind, arguments in request.grants)
    return f"{grant_label(request.grants[0][0], told)}.\n" if request.grants else ""


def _verdict(line: str, granted: Sequence[GrantKind]) -> Answer | None:
    word, _, note = line.partition(" ")
    for kind in granted:
        if not note and word.casefold() in (_LETTERS[kind], grant_word(kind)):
            return Answer(kind=kind)
    match word.casefold().rstrip(",:"):
        case "y" | "yes" if not note:
            return Answer(kind="approve")
        case "n" | "no":
            return Answer(kind="deny", text=note.strip())
        case _:
            return None
