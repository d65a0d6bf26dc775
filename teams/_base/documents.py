"""Documents as text: PDF, DOCX, XLSX, PPTX and HTML, read by `markitdown`.

Each is read by a process of its own (`document_process.py`) within limits of time, memory and size,
with neither settings nor secrets.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from importlib.util import find_spec
from pathlib import Path

from teams._base import document_process as process

SECONDS = 20.0
"""Seconds for one document."""

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
_WHY = {
    process.BROKEN: "it is broken",
    process.ENCRYPTED: "it is encrypted, or of an old format",
    process.TOO_LARGE: "it is too large when it is unpacked",
    process.EMPTY: "no text was found in it",
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


def can_read_documents() -> bool:
    """True if `markitdown` is installed."""
    return find_spec("markitdown") is not None


async def read_document(kind: str, data: bytes, seconds: float = SECONDS) -> str:
    """The document as Markdown, 400,000 characters at most.

    Raises DocumentError with the reason for a document that breaks a limit or that nobody can read.
    """
    program = [sys.executable, "-I", process.__file__, kind, str(max(1, int(seconds)))]
    try:
        child = await asyncio.create_subprocess_exec(
            *program,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={"PATH": os.defpath, "LC_ALL": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1"},
            start_new_session=True,
        )
    except OSError as error:  # the machine has no memory or process left
        raise DocumentError(TOO_BUSY) from error
    try:
        async with asyncio.timeout(seconds):
            text, _ = await child.communicate(data)
    except TimeoutError as error:
        raise DocumentError(TOO_LONG) from error
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode == 0:
        return text.decode(errors="replace")
    raise DocumentError(_reason(child.returncode or 0))


def _reason(code: int) -> str:
    if code == -signal.SIGXCPU:
        return TOO_LONG
    if code < 0:  # a limit has ended it
        return _WHY[process.TOO_LARGE]
    return _WHY.get(code, _UNREADABLE)
