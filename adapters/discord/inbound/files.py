"""Files of messages, read only from Discord's own hosts, within limits.

Their addresses are signed and hold for about a day (`ex`, `is` and `hm` in their query; the CDN
answers 404 then). Whoever reads the message again gets fresh ones.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from urllib.parse import parse_qs, urlsplit

from adapters.awaited_files import FetchedFiles, FileRefusal, fetch_files, too_large
from adapters.discord.connection.rest import Rest
from adapters.discord.inbound.parse_messages import FileRef, ParsedMessage, parse_files
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

    async def ask(self, file: FileRef) -> str:
        """The file's address by now; the message is read once."""
        async with self._asking:
            if self.fresh is None:
                found = await self.rest.call("GET", self.path)
                others = [found.get("referenced_message") or {}]
                others += [each.get("message", {}) for each in found.get("message_snapshots") or ()]
                self.fresh = {
                    each.id: each.url
                    for message in (found, *others)
                    for each in parse_files(message)
                }
        return self.fresh.get(file.id, file.url)


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
        """The files that a stored message awaits."""
        refs = [json.loads(file.ref) for file in message.files]
        files = [FileRef(**ref["file"]) for ref in refs]
        where = "/channels/{channel}/messages/{message}".format_map(refs[0])
        links = _Links(self._rest, where)
        return await fetch_files("Discord", files, lambda file: self._fetch(file, links))

    async def _fetch(self, file: FileRef, links: _Links) -> Attachment:
        most = self._largest()
        if file.size > most:
            return too_large(file, file.size)
        data = await self._read(file, most, links)
        if len(data) > most:
            return too_large(file, most + 1)
        return Attachment(name=file.name, media_type=file.media_type, data=data)

    async def _read(self, file: FileRef, most: int, links: _Links) -> bytes:
        self._check_host(file.url)
        if not is_expired(file.url):
            try:
                return await self._rest.fetch(file.url, most)
            except GatewayError as error:
                LOG.debug("asking again for the file's address: %s", error)
        link = await links.ask(file)
        self._check_host(link)
        return await self._rest.fetch(link, most)

    def _check_host(self, url: str) -> None:
        if not self._is_discord_host(url):
            raise FileRefusal("it is not on Discord's hosts")

    def _is_discord_host(self, url: str) -> bool:
        try:
            parts = urlsplit(url)
        except ValueError:
            return False
        if parts.netloc == self._own:
            return parts.scheme in ("http", "https")
        return parts.scheme == "https" and parts.netloc in HOSTS


def awaited_files(parsed: ParsedMessage) -> tuple[AwaitedFile, ...]:
    """The files of a message, as the gateway waits for them."""
    return tuple(
        AwaitedFile(
            name=file.name,
            media_type=file.media_type,
            size=file.size,
            ref=json.dumps({"channel": parsed.channel, "message": parsed.id, "file": asdict(file)}),
        )
        for file in parsed.files
    )


def is_expired(url: str) -> bool:
    """True if a signed address has expired (`ex`, in hexadecimal seconds)."""
    ends = parse_qs(urlsplit(url).query).get("ex", [""])[0]
    try:
        return bool(ends) and int(ends, 16) < time.time()
    except ValueError:
        return False
