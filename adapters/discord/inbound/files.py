"""Files of messages, read only from Discord's own hosts, within limits.

Their addresses are signed and hold for about a day (`ex`, `is` and `hm` in their query; the CDN
answers 404 then). Whoever reads the message again gets fresh ones.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from adapters.awaited_files import FetchedFiles, FileRefusal, fetch_files, too_large
from adapters.discord.connection.rest import Rest
from adapters.discord.read_message import read_message
from gateway.conversation import Attachment, AwaitedFile, MessageAwaitingFiles
from gateway.errors import GatewayError

LOG = logging.getLogger("adapters.discord")

HOSTS = frozenset({"cdn.discordapp.com", "media.discordapp.net"})


@dataclass(slots=True)
class _Links:
    """Fresh addresses of a message's files."""

    rest: Rest
    path: str
    fresh: dict[str, str] | None = None
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def ask(self, id_: str) -> str:
        """The file's address by now, "" for none."""
        async with self._asking:
            if self.fresh is None:
                found = read_message(await self.rest.call("GET", self.path))
                refs = [_ref(file) for part in found.nested() for file in part.files]
                self.fresh = {ref["file"]["id"]: ref["file"]["url"] for ref in refs}
        return self.fresh.get(id_, "")


class Files:
    """Fetches files of at most `largest` bytes, without the bot's token.

    Larger ones are left to the gateway, which refuses them in words. A simulator serves files from
    its API.
    """

    def __init__(self, rest: Rest, api: str, largest: Callable[[], int]) -> None:
        self._own = urlsplit(api).netloc
        self._rest = rest
        self._largest = largest

    async def fetch_awaited(self, message: MessageAwaitingFiles) -> FetchedFiles:
        """The files that a stored message awaits, each from its own message."""
        links: dict[str, _Links] = {}

        async def fetch(file: AwaitedFile) -> Attachment:
            path = "/channels/{channel}/messages/{message}".format_map(ref := _ref(file))
            known = links.setdefault(path, _Links(self._rest, path))
            return await self._fetch(file, ref["file"], known)

        return await fetch_files("Discord", message.files, fetch)

    async def _fetch(
        self, file: AwaitedFile, known: Mapping[str, str], links: _Links
    ) -> Attachment:
        most = self._largest()
        if file.size > most:
            return too_large(file, file.size)
        data = await self._read(known, most, links)
        if len(data) > most:
            return too_large(file, most + 1)
        return Attachment(name=file.name, media_type=file.media_type, data=data)

    async def _read(self, known: Mapping[str, str], most: int, links: _Links) -> bytes:
        url = known["url"]
        self._check_host(url)
        if not is_expired(url):
            try:
                return await self._rest.fetch(url, most)
            except GatewayError as error:
                LOG.debug("asking again for the file's address: %s", error)
        url = await links.ask(known["id"]) or url
        self._check_host(url)
        return await self._rest.fetch(url, most)

    def _check_host(self, url: str) -> None:
        with suppress(ValueError):
            parts = urlsplit(url)
            own = parts.netloc == self._own and parts.scheme in ("http", "https")
            if own or (parts.scheme == "https" and parts.netloc in HOSTS):
                return
        raise FileRefusal("it is not on Discord's hosts")


def _ref(file: AwaitedFile) -> Any:
    """The file's place, as its reader has written it."""
    return json.loads(file.ref)


def is_expired(url: str) -> bool:
    """True if a signed address has expired (`ex`, in hexadecimal seconds)."""
    ends = parse_qs(urlsplit(url).query).get("ex", [""])[0]
    try:
        return bool(ends) and int(ends, 16) < time.time()
    except ValueError:
        return False
