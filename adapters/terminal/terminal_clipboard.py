"""The clipboard's image, handed over by the terminal itself. No Textual.

Kitty's clipboard protocol (sw.kovidgoyal.net/kitty/clipboard): the terminal answers a request for
types, or for data of one type, among what is typed. It asks the person before it hands over data.
"""

import asyncio
import base64
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field

IMAGES = ("image/png", "image/jpeg", "image/webp", "image/gif")
"""Types of images that models take, best first."""
TELLING = 1.0
"""Seconds for a terminal to tell the types; one that can't says nothing."""
GIVING = 30.0
"""Seconds for the data, and for the person to allow it."""
NOT_GIVEN = "The terminal did not hand the image over. /attach PATH attaches a file."
NO_IMAGE = "The clipboard has no image. /attach PATH attaches a file."

_MARK, _END = "\x1b]5522;", ("\x1b\\", "\x07")
_CONTROL = re.compile(r"[\x00-\x1f]")
_MOST_REPLY = 8192
"""Characters of one reply, which has at most 4,096 bytes of data."""
_MOST_TYPES = 65_536


@dataclass(slots=True)
class _Request:
    """A request to the terminal, and its answer so far."""

    most: int
    loop: asyncio.AbstractEventLoop
    done: asyncio.Future[bytes]
    """The data; none if the terminal refuses or gives too much."""
    id: str = field(default_factory=lambda: os.urandom(8).hex())
    data: bytearray = field(default_factory=bytearray)

    def end(self, data: bytes) -> None:
        """Answer; called by the worker that reads."""
        self.loop.call_soon_threadsafe(lambda: self.done.done() or self.done.set_result(data))


class TerminalClipboard:
    """Asks the terminal, and takes its answers out of what is typed."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._turn = asyncio.Lock()
        self._request: _Request | None = None
        self._waits = False
        """True until the terminal has answered what it was asked last."""
        self._silent = False
        self._held = ""
        """The beginning of an answer."""

    async def read(self, most: int) -> bytes | str | None:
        """The image, or a sentence why there is none.

        None for a terminal without this protocol, or one that refuses.
        """
        async with self._turn:
            if self._silent:
                return None
            try:
                types = await self._ask(".", TELLING, _MOST_TYPES)
            except TimeoutError:
                self._silent, self._waits = True, False
                return None
            if not types:
                return None
            if not (kind := best_type(types)):
                return NO_IMAGE
            try:
                return await self._ask(kind, GIVING, most) or NOT_GIVEN
            except TimeoutError:
                return NOT_GIVEN

    async def _ask(self, what: str, seconds: float, most: int) -> bytes:
        loop = asyncio.get_running_loop()
        self._request = request = _Request(most, loop, loop.create_future())
        self._waits = True
        named = base64.b64encode(what.encode()).decode()
        self._write(f"{_MARK}type=read:id={request.id};{named}{_END[0]}")
        try:
            async with asyncio.timeout(seconds):
                return await request.done
        finally:
            self._request = None

    def take_out(self, typed: str) -> str:
        """Typed characters, without answers; called by the worker that reads."""
        rest, self._held, kept = self._held + typed, "", ""
        while (at := rest.find(_MARK)) >= 0:
            kept, rest = kept + rest[:at], rest[at:]
            found = _CONTROL.search(rest, 1)
            if found is None or rest[found.start() :] == "\x1b":  # more of it is to come
                self._held = rest[:_MOST_REPLY]
                return kept
            end = found.start()
            ended = next((each for each in _END if rest.startswith(each, end)), "")
            if ended:
                self._hear(rest[len(_MARK) : end])
            rest = rest[end + len(ended) :]
        if self._waits:  # for an answer, whose beginning this may be
            known = next((n for n in range(len(_MARK), 0, -1) if rest.endswith(_MARK[:n])), 0)
            rest, self._held = rest[: len(rest) - known], rest[len(rest) - known :]
        return kept + rest

    def let_go(self) -> str:
        """A key that looked like an answer's beginning; called like that, too."""
        held = self._held
        if not _MARK.startswith(held):
            return ""
        self._held = ""
        return held

    def _hear(self, answer: str) -> None:
        self._silent = False  # it may be slow, and does answer
        told, _, payload = answer.partition(";")
        facts = {name: value for name, _, value in (e.partition("=") for e in told.split(":"))}
        status, request = facts.get("status"), self._request
        if request is not None and facts.get("id") != request.id:
            return  # it comes from elsewhere
        self._waits = status in ("OK", "DATA")
        if request is None:
            return  # it comes too late
        match status:
            case "OK":
                pass
            case "DATA":
                self._add(request, payload)
            case "DONE":
                request.end(bytes(request.data))
            case _:
                request.end(b"")

    def _add(self, request: _Request, payload: str) -> None:
        try:
            request.data += base64.b64decode(payload, validate=True)
        except ValueError:
            request.end(b"")
        if len(request.data) > request.most:
            request.data.clear()
            request.end(b"")


def best_type(listed: bytes) -> str:
    """The image type to take of those in a list, or ""."""
    types = listed.decode(errors="replace").split()
    return next((each for each in IMAGES if each in types), "")
