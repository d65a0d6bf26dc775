"""Documents of messages as text, and images decoded, within limits.

A document or an image that breaks a limit, or that nobody can read, is a missing file with its
reason, never an error of the turn.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace

from gateway.config.settings import Attachments
from gateway.content.attachments import MB, READ, is_forbidden
from gateway.content.images import image_head
from gateway.conversation import Attachment, MissingFile
from teams.documents import (
    PASSING,
    TOO_LONG,
    DocumentError,
    can_read_documents,
    document_kind,
    read_document,
)

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
IMAGE = "image"
MORE_PIXELS = "it has more pixels than it says"


def _kind(file: Attachment) -> str:
    return IMAGE if image_head(file.data) else document_kind(file.name, file.media_type, file.data)


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
        """The files, documents as text, and those that can't be read.

        What the limits forbid stays as it is, and is refused in words later.
        """
        if not any(map(_kind, files)):
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
        kind = _kind(file)
        if not kind or is_forbidden(file, limits) or not self._is_able(kind):
            return file
        text, why = await self._known(kind, file.data, until)
        if kind == IMAGE and not why:
            if int(text) <= limits.image_megapixels * MB:
                return file
            why = MORE_PIXELS
        if not why:
            return replace(file, media_type=READ, data=text, left_out=file.size)
        if kind == "html":  # it is text, even as it stands
            return file
        LOG.warning("a document (%s, %s bytes) was not read: %s", kind, file.size, why)
        return MissingFile(name=file.name, why=why)

    def _is_able(self, kind: str) -> bool:
        able = can_read_documents(kind)
        if not able and not self._told and kind != IMAGE:
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
            return b"", TOO_LONG
        finally:
            if not reading.locked():
                self._reading.pop(key, None)
        if result[1] not in PASSING:
            self._read[key] = result
            while len(self._read) > KEPT:
                self._read.popitem(last=False)
        return result


async def _read(kind: str, data: bytes) -> tuple[bytes, str]:
    """The text, or the reason why there is none."""
    try:
        return (await read_document(kind, data, SECONDS)).encode(), ""
    except DocumentError as error:
        return b"", str(error)
