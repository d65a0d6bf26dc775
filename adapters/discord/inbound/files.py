"""Files of messages, read only from Discord's own hosts, within limits."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import parse_qs, urlsplit

from adapters.discord.connection.rest import Rest
from adapters.discord.inbound.parse_messages import FileRef
from gateway.conversation import Attachment
from gateway.errors import GatewayError
from gateway.render.outbound import label
from gateway.surface import CallRejected

LOG = logging.getLogger("adapters.discord")

HOSTS = frozenset({"cdn.discordapp.com", "media.discordapp.net"})
MOST_FILES = 10

Refetch = Callable[[], Awaitable[Sequence[FileRef]]]
"""Asks Discord for the files' addresses anew: they hold for about a day."""


class FileReader:
    """Reads files of at most `largest` bytes.

    Larger ones are left to the gateway, which refuses them in words. A simulator serves files from
    its API.
    """

    def __init__(self, rest: Rest, api: str, largest: Callable[[], int]) -> None:
        host = urlsplit(api)
        self._own = host.netloc if host.hostname != "discord.com" else ""
        self._rest = rest
        self._largest = largest

    async def read(
        self, files: Sequence[FileRef], again: Refetch
    ) -> tuple[tuple[Attachment, ...], list[str]]:
        """The readable files, and a sentence about each other one."""
        taken: list[Attachment] = []
        told: list[str] = []
        for n, file in enumerate(files):
            try:
                if n >= MOST_FILES:
                    raise CallRejected(f"only {MOST_FILES} files are taken")
                taken.append(await self._read(file, again))
            except GatewayError as error:
                LOG.info("a file was not read: %s", error)
                told.append(f"[The file {label(file.name, 80)!r} was not taken: {error}]")
        return tuple(taken), told

    async def _read(self, file: FileRef, again: Refetch) -> Attachment:
        most = self._largest()
        if file.size > most:
            return Attachment(
                name=file.name, media_type=file.media_type, data=b"", left_out=file.size
            )
        data = await self._fetch(file, most, again)
        return Attachment(name=file.name, media_type=file.media_type, data=data)

    async def _fetch(self, file: FileRef, most: int, again: Refetch) -> bytes:
        self._check_host(file.url)
        if not is_expired(file.url):
            try:
                return await self._rest.fetch(file.url, most)
            except GatewayError as error:
                LOG.debug("asking for the file's address anew: %s", error)
        fresh = next((each for each in await again() if each.id == file.id), file)
        self._check_host(fresh.url)
        return await self._rest.fetch(fresh.url, most)

    def _check_host(self, url: str) -> None:
        if not self._is_discord_host(url):
            raise CallRejected("it does not lie on Discord's own hosts.")

    def _is_discord_host(self, url: str) -> bool:
        try:
            parts = urlsplit(url)
        except ValueError:
            return False
        if self._own and parts.netloc == self._own:
            return parts.scheme in ("http", "https")
        return parts.scheme == "https" and parts.netloc in HOSTS


def is_expired(url: str) -> bool:
    """True if a signed address has expired (`ex`, in hexadecimal seconds)."""
    ends = parse_qs(urlsplit(url).query).get("ex", [""])[0]
    try:
        return bool(ends) and int(ends, 16) < time.time()
    except ValueError:
        return False
