"""Attached files, downloaded from Slack's own file host alone.

The bot's token is sent nowhere else: not to the target of a redirect, nor to the host of another
service.

They are fetched once their message is stored, and Slack has its acknowledgement.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import asdict
from typing import Any, Protocol
from urllib.parse import urlsplit

import aiohttp

from adapters.slack.config import PLATFORM, Config
from adapters.slack.connection.payload import table_at
from adapters.slack.connection.web_api import Calls
from adapters.slack.inbound.parse_events import remote_file
from adapters.slack.inbound.parsed import RemoteFile
from gateway.adapter import AdapterHost
from gateway.conversation import Attachment, AwaitedFile, MessageAwaitingFiles, MissingFile
from gateway.errors import GatewayError, StoreFull, StoreUnwritable

LOG = logging.getLogger("adapters.slack")

SLACK_HOSTS = frozenset({"files.slack.com", "slack-files.com"})
"""The hosts that a bot's token may be sent to for a file."""

MOST_FILES = 10
FETCH_SECONDS = 45.0
"""Seconds for all files of a message; its turn waits a little longer."""

AT_ONCE = 8
"""Messages whose files are fetched at a time: they are held in memory."""
STORE_AGAIN = 5.0
"""Seconds until files are handed in again that the disk did not take."""

_HTTP_OK = 200


class _FileRefusal(Exception):
    """The reason why a file is not taken."""


class Files:
    """Downloads files.

    Files above `largest` bytes are left to the gateway, which says so. The files of one message
    take at most `seconds`.
    """

    def __init__(
        self,
        calls: Calls,
        config: Config,
        largest: Callable[[], int],
        *,
        seconds: float = FETCH_SECONDS,
    ) -> None:
        self._calls = calls
        self._largest = largest
        self._seconds = seconds
        # A simulator has its files where it has everything else.
        self._simulator = None if config.real else urlsplit(config.api_url).netloc

    async def fetch(
        self, team: str, files: Sequence[RemoteFile]
    ) -> tuple[list[Attachment], list[MissingFile]]:
        """The files that can be had, and the others with the reasons."""
        wanted, left = files[:MOST_FILES], files[MOST_FILES:]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._one(team, file), name="fetch") for file in wanted]
        found = [task.result() for task in tasks]
        missing = [each for each in found if isinstance(each, MissingFile)]
        missing += [_missing(file, f"only {MOST_FILES} files are accepted") for file in left]
        return [each for each in found if isinstance(each, Attachment)], missing

    async def _one(self, team: str, file: RemoteFile) -> Attachment | MissingFile:
        try:
            async with asyncio.timeout(self._seconds):
                if file.host == "ask":
                    file = await self._asked(team, file)
                return await self._fetched(team, file)
        except _FileRefusal as reason:
            return _missing(file, str(reason))
        except TimeoutError:
            return _missing(file, "Slack did not deliver it in time; send it again")
        except (GatewayError, aiohttp.ClientError, OSError) as error:
            LOG.warning("a file was not fetched: %s", error)
            return _missing(file, "Slack did not deliver it")

    async def _asked(self, team: str, file: RemoteFile) -> RemoteFile:
        answer = await self._calls.read(team, "files.info", file=file.id)
        return remote_file({**table_at(answer, "file"), "file_access": ""})

    async def _fetched(self, team: str, file: RemoteFile) -> Attachment:
        if file.host != "slack" or not self._may_have_token(file.url):
            raise _FileRefusal("it is not stored in Slack")
        most = self._largest()
        if file.size > most:
            return _too_large(file, file.size)
        client = await self._calls.clients.client_of(team)
        async with self._calls.clients.session.get(
            file.url,
            headers={"Authorization": f"Bearer {client.token}"},
            allow_redirects=False,
        ) as answer:
            if answer.status != _HTTP_OK:
                raise _FileRefusal(
                    "Slack refused to deliver it; the bot may lack the scope files:read"
                )
            if answer.content_type == "text/html" and file.media_type != "text/html":
                raise _FileRefusal(
                    "Slack asked for a sign-in; the bot may lack the scope files:read"
                )
            data = await _read(answer, most)
        if data is None:
            return _too_large(file, most + 1)
        return Attachment(name=file.name, media_type=file.media_type, data=data)

    def _may_have_token(self, url: str) -> bool:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            return False
        if self._simulator is not None:
            return parts.netloc == self._simulator
        return parts.scheme == "https" and parts.hostname in SLACK_HOSTS and port is None


class TaskStarter(Protocol):
    """Starts tasks that outlive a delivery."""

    def __call__(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Start a task and own it until its end."""
        ...


class AwaitedFiles:
    """Fetches awaited files, whichever process accepted the message."""

    def __init__(self, host: AdapterHost, files: Files, start_task: TaskStarter) -> None:
        self._host = host
        self._files = files
        self._start_task = start_task
        self._places = asyncio.Semaphore(AT_ONCE)
        self._begun: set[int] = set()

    async def look(self) -> None:
        """Begin to fetch what nobody fetches yet."""
        for message in await self._host.awaited_files(PLATFORM):
            if message.inbox not in self._begun:
                self._begun.add(message.inbox)
                self._start_task(self._fetch(message), "slack files")

    async def _fetch(self, message: MessageAwaitingFiles) -> None:
        try:
            async with self._places:
                files = [remote(file) for file in message.files]
                found, missing = await self._files.fetch(message.key.workspace, files)
                while True:
                    try:
                        await self._host.bring_files(message.inbox, found, missing)
                    except (StoreFull, StoreUnwritable) as error:
                        LOG.warning("files were not stored, they are tried again: %s", error)
                        await asyncio.sleep(STORE_AGAIN)
                    else:
                        break
        finally:
            self._begun.discard(message.inbox)


async def _read(answer: aiohttp.ClientResponse, most: int) -> bytes | None:
    """The body; None if it is larger, whatever its declared length."""
    data = bytearray()
    async for chunk in answer.content.iter_chunked(65_536):
        data += chunk
        if len(data) > most:
            return None
    return bytes(data)


def awaited(file: RemoteFile) -> AwaitedFile:
    """A file as the gateway waits for it."""
    ref = json.dumps(asdict(file))
    return AwaitedFile(name=file.name, media_type=file.media_type, size=file.size, ref=ref)


def remote(file: AwaitedFile) -> RemoteFile:
    """The inverse of `awaited`."""
    return RemoteFile(**json.loads(file.ref))


def _missing(file: RemoteFile, why: str) -> MissingFile:
    return MissingFile(name=file.name, why=why)


def _too_large(file: RemoteFile, size: int) -> Attachment:
    return Attachment(name=file.name, media_type=file.media_type, data=b"", left_out=size)
