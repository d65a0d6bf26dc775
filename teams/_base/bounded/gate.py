"""Bounds of one answer: its packing, its size, its lines."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

ASKED = "gzip"
"""The packing that is asked for."""
_WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
"""Packings -> the window that zlib wants to know."""
_RAW = -15
"""Deflate without a head, which some servers send."""
_STEP = 65_536
_FRAMES = "application/vnd.amazon.eventstream"
_EVENTS = "text/event-stream"
_STREAMS = frozenset(
    {_EVENTS, _FRAMES, "application/x-ndjson", "application/jsonl", "application/json-seq"}
)
_FRAME_HEAD = 4
"""Bytes that hold a frame's length."""
_EMPTY_LINES = (b"\n\n", b"\n\r\n", b"\r\r")


class AnswerRefused(Exception):
    """An answer that breaks a bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Bounds of an unpacked answer; None for none."""

    body: int = 16_000_000
    """Bytes of an answer that is no stream."""
    stream: int | None = 64_000_000
    """Bytes of a stream of lines, events or frames."""
    piece: int = 16_000_000
    """Bytes of one of these."""
    error: int | None = 100_000
    """Bytes of an answer with an error's status, which is cut there."""
    seconds: float | None = 900.0
    """Seconds for which a whole answer is waited for, its reader's own time not counted."""
    stream_seconds: float | None = 900.0
    """The same for a stream."""

    def cut(self, status: int) -> int | None:
        """Where an answer with this status is cut."""
        return self.error if status >= 400 else None  # noqa: PLR2004 (HTTP)


class Gate:
    """Takes one answer's bytes as they come, and hands on whole lines.

    A reader that looks for a line's end in what it has so far would take time that grows with the
    square of the line. Of an answer with a `cut`, only so many bytes are taken. Raises
    AnswerRefused, like its methods.
    """

    def __init__(
        self, bounds: Bounds, packing: str, media_type: str, *, cut: int | None = None
    ) -> None:
        kind = media_type.partition(";")[0].strip().lower()
        is_stream = kind in _STREAMS
        self.seconds = bounds.stream_seconds if is_stream else bounds.seconds
        self.is_over = False
        """True when nothing more is wanted."""
        window = _window(packing)
        self._unpacker = None if window is None else zlib.decompressobj(window)
        self._may_be_raw = window == _WINDOWS["deflate"]
        self._is_cut = cut is not None
        self._most = cut if self._is_cut else bounds.stream if is_stream else bounds.body
        self._piece = bounds.piece if is_stream else None
        self._split = _Frames() if kind == _FRAMES else _Lines(by_event=kind == _EVENTS)
        self._came = self._left = 0

    def take(self, data: bytes) -> Iterator[bytes]:
        """Hand on what is whole with the next bytes."""
        self._came += len(data)
        self._check(self._came)
        for part in self._unpacked(data):
            self._left += len(part)
            self._check(self._left)
            if self.is_over and self._most is not None:
                part = part[: len(part) - (self._left - self._most)]
            if whole := self._split.take(part):
                yield whole
            if self._piece is not None and self._split.open > self._piece:
                raise AnswerRefused(f"The answer has a line of more than {self._piece:,} bytes.")
            if self.is_over:
                return

    def rest(self) -> bytes:
        """Hand on what is left at the end."""
        return self._split.rest()

    def _check(self, size: int) -> None:
        if self._most is None or size <= self._most:
            return
        if not self._is_cut:
            raise AnswerRefused(f"The answer has more than {self._most:,} bytes.")
        self.is_over = True

    def _unpacked(self, data: bytes) -> Iterator[bytes]:
        if self._unpacker is None:
            yield data
            return
        if self._may_be_raw and data:
            self._may_be_raw = False
            if data[0] & 0x0F != zlib.DEFLATED:
                self._unpacker = zlib.decompressobj(_RAW)
        while not self._unpacker.eof:
            try:
                part = self._unpacker.decompress(data, _STEP)
            except zlib.error as error:
                raise AnswerRefused("The answer is not packed as it says.") from error
            data = self._unpacker.unconsumed_tail
            if part:
                yield part
            if not data and len(part) < _STEP:
                return


def _window(packing: str) -> int | None:
    """The window of what is packed."""
    words = [word.strip().lower() for word in packing.split(",")]
    named = [word for word in words if word not in ("", "identity")]
    if not named:
        return None
    if len(named) > 1 or named[0] not in _WINDOWS:
        said = ", ".join(named)[:80]
        raise AnswerRefused(f"The answer is packed as {said!r}; asked for was {ASKED}.")
    return _WINDOWS[named[0]]


class _Lines:
    """Holds back the beginning of a line.

    Open are the bytes since the end of the last line, of events: since the last empty line.
    """

    def __init__(self, *, by_event: bool) -> None:
        self.open = 0
        self._by_event = by_event
        self._held = bytearray()
        self._before = b""

    def take(self, part: bytes) -> bytes:
        end = max(part.rfind(b"\n"), part.rfind(b"\r")) + 1
        last = self._event_end(part) if self._by_event else end
        self.open = len(part) - last if last else self.open + len(part)
        if not end:
            self._held += part
            return b""
        whole = bytes(self._held) + part[:end]
        self._held = bytearray(part[end:])
        return whole

    def _event_end(self, part: bytes) -> int:
        window, known = self._before + part, len(self._before)
        self._before = window[-3:]
        ends = [at + len(mark) for mark in _EMPTY_LINES if (at := window.rfind(mark)) >= 0]
        return max(max(ends, default=0) - known, 0)

    def rest(self) -> bytes:
        return bytes(self._held)


class _Frames:
    """Holds back the beginning of a frame, which begins with its length."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._needed = _FRAME_HEAD

    @property
    def open(self) -> int:
        return max(len(self._held), self._needed)

    def take(self, part: bytes) -> bytes:
        self._held += part
        if len(self._held) < self._needed:
            return b""
        end = 0
        self._needed = _FRAME_HEAD
        while len(self._held) - end >= _FRAME_HEAD:
            head = self._held[end : end + _FRAME_HEAD]
            self._needed = max(int.from_bytes(head, "big"), _FRAME_HEAD)
            if len(self._held) - end < self._needed:
                break
            end += self._needed
            self._needed = _FRAME_HEAD
        whole = bytes(self._held[:end])
        del self._held[:end]
        return whole

    def rest(self) -> bytes:
        return bytes(self._held)
