"""Documents as text: PDF by `pypdf`, Office files and HTML by `markitdown`.

An image is decoded there, too, by Pillow: its text is the number of its pixels.

Each is read by a process of its own, a fork of one (`document_process.py`) that has imported what
takes seconds, within limits of time, memory and size, with neither settings nor secrets.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from teams._base import document_process as process

SECONDS = 20.0
"""Seconds for one document."""

END_SECONDS = 1.0
"""Seconds that the process which forks may take to end."""

TOO_LONG = "it takes too long to read"
TOO_BUSY = "there was no room to read it"
PASSING = frozenset({TOO_LONG, TOO_BUSY})
"""Reasons that may not hold another time."""

_OFFICE = "application/vnd.openxmlformats-officedocument."
_TYPES = {
    "application/pdf": "pdf",
    f"{_OFFICE}wordprocessingml.document": "docx",
    f"{_OFFICE}spreadsheetml.sheet": "xlsx",
    f"{_OFFICE}presentationml.presentation": "pptx",
    "text/html": "html",
    "application/xhtml+xml": "html",
}
_UNTOLD = frozenset({"", "application/octet-stream", "application/zip"})
"""Media types that say nothing of a document: its name decides."""
_MOST_BYTES = 4 * process.LONGEST + process.STATUS.size
"""Bytes that a document's process may answer."""
_WHY = {
    process.BROKEN: "it is broken",
    process.ENCRYPTED: "it is encrypted, or of an old format",
    process.TOO_LARGE: "it is too large when it is unpacked",
    process.EMPTY: "no text was found in it",
    process.SCAN: "it is a scan: pictures of pages, without their text",
}
_UNREADABLE = "it can't be read"


class DocumentError(ValueError):
    """A document that was not read, by the reason: "it is broken"."""


def document_kind(name: str, media_type: str = "", data: bytes = b"") -> str:
    """Kind of a document: "pdf", "docx", "xlsx", "pptx" or "html"; else "".

    Judged by the first bytes, then by the media type, and by the name where that says nothing.
    """
    if data.startswith(b"%PDF-"):
        return "pdf"
    kind = media_type.lower().partition(";")[0].strip()
    if kind in _TYPES:
        return _TYPES[kind]
    suffix = Path(name).suffix.lower().removeprefix(".")
    suffix = "html" if suffix == "htm" else suffix
    return suffix if kind in _UNTOLD and suffix in {*_TYPES.values()} else ""


def can_read_documents(kind: str = "docx") -> bool:
    """True if what reads documents of this kind is installed."""
    return kind == "pdf" or find_spec("PIL" if kind == "image" else "markitdown") is not None


async def read_document(kind: str, data: bytes, seconds: float = SECONDS) -> str:
    """The document as Markdown, 400,000 characters at most.

    Raises DocumentError with the reason for a document that breaks a limit or that nobody can read.
    """
    try:
        async with asyncio.timeout(seconds):
            try:
                text, code = await _exchange(kind, data, seconds)
            except ConnectionError:  # nobody needed the process that forks any more
                text, code = await _exchange(kind, data, seconds)
    except TimeoutError as error:
        raise DocumentError(TOO_LONG) from error
    except OSError as error:  # the machine has no memory, process or descriptor left
        raise DocumentError(TOO_BUSY) from error
    if code == 0:
        return text.decode(errors="replace")
    raise DocumentError(_reason(code))


async def _exchange(kind: str, data: bytes, seconds: float) -> tuple[bytes, int]:
    """The text of a document, and how its process ended.

    It ends if this is left. Raises OSError; ConnectionError if the process that forks has ended.
    """
    ours = WORKER.begin(kind, max(1, int(seconds)))
    reader, writer = await asyncio.open_unix_connection(sock=ours)
    try:
        writer.write(data)
        with suppress(ConnectionError):  # it may have ended without reading all
            await writer.drain()
            writer.write_eof()
        answer = bytearray()
        while len(answer) <= _MOST_BYTES and (part := await reader.read(65_536)):
            answer += part
    finally:
        writer.transport.abort()
    size = process.STATUS.size
    if len(answer) < size:
        raise ConnectionError
    if len(answer) > _MOST_BYTES:  # not our program's own words
        return b"", process.TOO_LARGE
    return bytes(answer[:-size]), process.STATUS.unpack(answer[-size:])[0]


class DocumentWorker:
    """The process that forks for each document, until it is idle."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._lock = threading.Lock()

    def begin(self, kind: str, seconds: int) -> socket.socket:
        """A socket that takes a document. Raises OSError."""
        ours, theirs = socket.socketpair()
        request = process.REQUEST.pack(kind.encode(), seconds)
        with theirs, self._lock:
            try:
                try:
                    socket.send_fds(self._started(), [request], [theirs.fileno()])
                except ConnectionError:  # it has ended
                    self._close()
                    socket.send_fds(self._started(), [request], [theirs.fileno()])
            except OSError:
                ours.close()
                raise
        return ours

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._close()

    def _started(self) -> socket.socket:
        if self._control is None:
            control, theirs = socket.socketpair()
            with theirs:
                try:
                    self._process = _start(theirs)
                except OSError:
                    control.close()
                    raise
            self._control = control
        return self._control

    def _close(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            try:
                self._process.wait(END_SECONDS)  # it ends its children
            except subprocess.TimeoutExpired:  # it is still importing, and has none
                self._process.kill()
                self._process.wait()
            self._process = None


def _start(control: socket.socket) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-I", process.__file__],
        stdin=control.fileno(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={"PATH": os.defpath, "LC_ALL": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1"},
        start_new_session=True,
    )


WORKER = DocumentWorker()
"""That of this process."""
atexit.register(WORKER.close)


def _reason(code: int) -> str:
    if code == -signal.SIGXCPU:
        return TOO_LONG
    if code < 0:  # a limit has ended it
        return _WHY[process.TOO_LARGE]
    return _WHY.get(code, _UNREADABLE)
