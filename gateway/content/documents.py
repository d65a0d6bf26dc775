"""Documents as text: PDF, DOCX, XLSX, PPTX and HTML, read by `markitdown`.

Each is read by a process of its own (`document_process.py`) within limits of time, memory and size,
with neither settings nor secrets. A document that breaks one, or that nobody can read, is a missing
file with its reason, never an error of the turn.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import signal
import sys
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from gateway.base.describe import describe
from gateway.config.settings import Attachments
from gateway.content import document_process as process
from gateway.content.attachments import READ, UNKNOWN_TYPES, is_forbidden
from gateway.conversation import Attachment, MissingFile

LOG = logging.getLogger("gateway")

SECONDS = 20.0
"""Seconds for one document."""
MESSAGE_SECONDS = 30.0
"""Seconds for all documents of a message; its turn waits a little longer."""
AT_ONCE = 2
"""Documents that are read at a time."""
KEPT = 16
"""Results that are kept, so that a document is not read again for each message with it."""

EXTRA = "parley-gateway[documents]"

_OFFICE = "application/vnd.openxmlformats-officedocument."
_TYPES = {
    "application/pdf": "pdf",
    f"{_OFFICE}wordprocessingml.document": "docx",
    f"{_OFFICE}spreadsheetml.sheet": "xlsx",
    f"{_OFFICE}presentationml.presentation": "pptx",
    "text/html": "html",
    "application/xhtml+xml": "html",
}
_WHY = {
    process.BROKEN: "it is broken",
    process.ENCRYPTED: "it is encrypted, or of an old format",
    process.TOO_LARGE: "it is too large when it is unpacked",
    process.EMPTY: "no text was found in it",
}
_TOO_LONG = "it takes too long to read"
_TOO_BUSY = "there was no room to read it"
_PASSING = frozenset({_TOO_LONG, _TOO_BUSY})
"""Reasons that may not hold another time."""
_UNREADABLE = "it can't be read"


def document_kind(file: Attachment) -> str:
    """The kind of document that a file is, "" for none."""
    if file.data.startswith(b"%PDF-"):
        return "pdf"
    kind = file.media_type.lower().partition(";")[0].strip()
    if kind in _TYPES:
        return _TYPES[kind]
    suffix = Path(file.name).suffix.lower().removeprefix(".")
    untold = kind in (*UNKNOWN_TYPES, "application/zip")
    return suffix if untold and suffix in {*_TYPES.values()} else ""


def can_read() -> bool:
    """True if the extra is installed."""
    return find_spec("markitdown") is not None


class Documents:
    """Reads documents, each content once as long as it is remembered."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(AT_ONCE)
        self._read: OrderedDict[str, tuple[bytes, str]] = OrderedDict()
        self._reading: dict[str, asyncio.Lock] = {}
        self._told = False

    async def as_text(
        self, files: Sequence[Attachment], limits: Attachments
    ) -> tuple[list[Attachment], list[MissingFile]]:
        """The files with documents as text, and those that can't be read.

        What the limits forbid stays as it is, and is refused in words later.
        """
        if not any(map(document_kind, files)):
            return [*files], []
        until = asyncio.get_running_loop().time() + MESSAGE_SECONDS
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._as_text(file, limits, until), name="reads a document")
                for file in files
            ]
        found = [task.result() for task in tasks]
        taken = [each for each in found if isinstance(each, Attachment)]
        return taken, [each for each in found if isinstance(each, MissingFile)]

    async def _as_text(
        self, file: Attachment, limits: Attachments, until: float
    ) -> Attachment | MissingFile:
        kind = document_kind(file)
        if not kind or is_forbidden(file, limits) or not self._is_able(kind):
            return file
        text, why = await self._known(kind, file.data, until)
        if not why:
            return replace(file, media_type=READ, data=text, left_out=file.size)
        if kind == "html":  # it is text, even as it stands
            return file
        LOG.warning("a document (%s, %s bytes) was not read: %s", kind, file.size, why)
        return MissingFile(name=file.name, why=why)

    def _is_able(self, kind: str) -> bool:
        able = can_read()
        if not able and not self._told:
            self._told = True
            LOG.warning("a %s was not read: pip install '%s' lets teams read it", kind, EXTRA)
        return able

    async def _known(self, kind: str, data: bytes, until: float) -> tuple[bytes, str]:
        """The text of a document, or the reason why there is none."""
        key = f"{kind} {hashlib.sha256(data).hexdigest()}"
        reading = self._reading.setdefault(key, asyncio.Lock())
        try:
            async with asyncio.timeout_at(until), reading:
                if (known := self._read.get(key)) is not None:
                    self._read.move_to_end(key)
                    return known
                async with self._places:
                    result = await _read(kind, data)
        except TimeoutError:
            return b"", _TOO_LONG
        finally:
            if not reading.locked():
                self._reading.pop(key, None)
        if result[1] not in _PASSING:
            self._read[key] = result
            while len(self._read) > KEPT:
                self._read.popitem(last=False)
        return result


async def _read(kind: str, data: bytes) -> tuple[bytes, str]:
    program = [sys.executable, "-I", process.__file__, kind, str(max(1, int(SECONDS)))]
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
        LOG.warning("a document can't be read now: %s", describe(error))
        return b"", _TOO_BUSY
    try:
        async with asyncio.timeout(SECONDS):
            text, _ = await child.communicate(data)
    except TimeoutError:
        return b"", _TOO_LONG
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode == 0:
        return text, ""
    if child.returncode == -signal.SIGXCPU:
        return b"", _TOO_LONG
    if child.returncode is not None and child.returncode < 0:  # a limit has ended it
        return b"", _WHY[process.TOO_LARGE]
    return b"", _WHY.get(child.returncode or 0, _UNREADABLE)
