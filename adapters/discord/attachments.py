"""Files that came with a message: read from Discord's own hosts alone, within bounds."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import parse_qs, urlsplit

from adapters.discord.inbound import FileRef
from adapters.discord.rest import Rest
from gateway.conversation import Attachment
from gateway.errors import GatewayError
from gateway.render.outbound import label

LOG = logging.getLogger("adapters.discord")

HOSTS = frozenset({"cdn.discordapp.com", "media.discordapp.net"})
MOST_FILES = 10
FILE_BYTES = 10_000_000
ALL_BYTES = 25_000_000
PIXELS = 40_000_000
TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp", "text/", "application/json")

Refetch = Callable[[], Awaitable[Sequence[FileRef]]]
"""Asks Discord for the files' addresses anew: they hold for about a day."""


class Files:
    """Reads files. `own` is the host of another API than Discord's, which is trusted as such."""

    def __init__(self, rest: Rest, api: str) -> None:
        host = urlsplit(api)
        self._own = host.netloc if host.hostname != "discord.com" else ""
        self._rest = rest

    async def read(
        self, files: Sequence[FileRef], again: Refetch
    ) -> tuple[tuple[Attachment, ...], list[str]]:
        """The files that may be taken, and a sentence about each other one."""
        taken: list[Attachment] = []
        told: list[str] = []
        left = ALL_BYTES
        for n, file in enumerate(files):
            why = "there are too many files" if n >= MOST_FILES else self._wrong(file, left)
            if not why:
                try:
                    data = await self._fetch(file, again)
                except GatewayError as error:
                    LOG.info("a file was not read: %s", error)
                    why = "Discord does not give it"
                else:
                    left -= len(data)
                    taken.append(Attachment(name=file.name, media_type=file.media_type, data=data))
            if why:
                told.append(f"[The file {label(file.name, 80)!r} was not taken: {why}.]")
        return tuple(taken), told

    def _wrong(self, file: FileRef, left: int) -> str:
        if not self._is_theirs(file.url):
            return "it is not one of Discord's own"
        if not file.media_type.startswith(TYPES):
            return f"files of the type {file.media_type or 'unknown'} are not taken"
        if file.size > FILE_BYTES:
            return f"it is larger than {FILE_BYTES // 1_000_000} MB"
        if file.size > left:
            return f"all files together are larger than {ALL_BYTES // 1_000_000} MB"
        if file.pixels > PIXELS:
            return f"it has more than {PIXELS // 1_000_000} megapixels"
        return ""

    def _is_theirs(self, url: str) -> bool:
        try:
            parts = urlsplit(url)
        except ValueError:
            return False
        if self._own and parts.netloc == self._own:
            return parts.scheme in ("http", "https")
        return parts.scheme == "https" and parts.netloc in HOSTS

    async def _fetch(self, file: FileRef, again: Refetch) -> bytes:
        if not expired(file.url):
            try:
                return await self._rest.fetch(file.url, FILE_BYTES)
            except GatewayError as error:
                LOG.debug("asking for the file's address anew: %s", error)
        fresh = next((each for each in await again() if each.id == file.id), file)
        if not self._is_theirs(fresh.url):
            raise GatewayError("its address is not one of Discord's own")
        return await self._rest.fetch(fresh.url, FILE_BYTES)


def expired(url: str) -> bool:
    """Whether an address has signed itself out; `ex` is its end, in hexadecimal seconds."""
    ends = parse_qs(urlsplit(url).query).get("ex", [""])[0]
    try:
        return bool(ends) and int(ends, 16) < time.time()
    except ValueError:
        return False
