"""Files that stored messages await, fetched by the process that runs.

Their platform has its acknowledgement by then. What a killed process was fetching is taken up by
the next one. What is special to a platform is how it fetches one file.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

import aiohttp

from gateway.adapter import FileStore
from gateway.base.describe import describe
from gateway.conversation import Attachment, MessageAwaitingFiles, MissingFile
from gateway.errors import GatewayError, StoreFull, StoreUnwritable

LOG = logging.getLogger("adapters")

MOST_FILES = 10
FETCH_SECONDS = 45.0
"""Seconds for all files of a message; its turn waits a little longer."""
AT_ONCE = 8
"""Messages whose files are fetched at a time: they are held in memory."""
STORE_AGAIN = 5.0
"""Seconds until files are handed in again that the disk did not take."""

FetchedFiles: TypeAlias = tuple[list[Attachment], list[MissingFile]]
"""The files that can be had, and the others with the reasons."""


class FileRefusal(Exception):
    """The reason why a file is not taken.

    `name` is the file's, if it had to be asked for.
    """

    def __init__(self, why: str, name: str = "") -> None:
        super().__init__(why)
        self.name = name


class NamedFile(Protocol):
    """A file on a platform."""

    @property
    def name(self) -> str:
        """Its name, for people."""
        ...

    @property
    def media_type(self) -> str:
        """Its type, as the platform says."""
        ...


File = TypeVar("File", bound=NamedFile)


async def fetch_files(
    platform: str,
    files: Sequence[File],
    fetch: Callable[[File], Awaitable[Attachment]],
    seconds: float = FETCH_SECONDS,
) -> FetchedFiles:
    """Fetch the files of a message side by side; `fetch` gets one.

    Beside FileRefusal, `fetch` may raise GatewayError and the errors of the network.
    """
    wanted, left = files[:MOST_FILES], files[MOST_FILES:]
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(_fetch(platform, file, fetch, seconds), name="fetches a file")
            for file in wanted
        ]
    found = [task.result() for task in tasks]
    missing = [each for each in found if isinstance(each, MissingFile)]
    missing += [_missing(file, f"only {MOST_FILES} files are accepted") for file in left]
    return [each for each in found if isinstance(each, Attachment)], missing


async def _fetch(
    platform: str, file: File, fetch: Callable[[File], Awaitable[Attachment]], seconds: float
) -> Attachment | MissingFile:
    try:
        async with asyncio.timeout(seconds):
            return await fetch(file)
    except FileRefusal as reason:
        return MissingFile(name=reason.name or file.name, why=str(reason))
    except TimeoutError:
        return _missing(file, f"{platform} did not deliver it in time; send it again")
    except (GatewayError, aiohttp.ClientError, OSError) as error:
        LOG.warning("a file on %s was not fetched: %s", platform, describe(error))
        return _missing(file, f"{platform} did not deliver it")


def too_large(file: NamedFile, size: int) -> Attachment:
    """A file left to the gateway, which refuses it in words."""
    return Attachment(name=file.name, media_type=file.media_type, data=b"", left_out=size)


def _missing(file: NamedFile, why: str) -> MissingFile:
    return MissingFile(name=file.name, why=why)


class TaskStarter(Protocol):
    """Starts tasks that outlive a delivery."""

    def __call__(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Start a task and own it until its end."""
        ...


class AwaitedFiles:
    """Fetches a platform's awaited files, whichever process accepted the message."""

    def __init__(
        self,
        files: FileStore,
        platform: str,
        fetch: Callable[[MessageAwaitingFiles], Awaitable[FetchedFiles]],
        start_task: TaskStarter,
    ) -> None:
        self._files = files
        self._platform = platform
        self._fetch_files = fetch
        self._start_task = start_task
        self._places = asyncio.Semaphore(AT_ONCE)
        self._begun: set[int] = set()

    async def look(self) -> None:
        """Begin to fetch what nobody fetches yet."""
        for message in await self._files.awaited_files(self._platform):
            if message.inbox not in self._begun:
                self._begun.add(message.inbox)
                self._start_task(self._fetch(message), f"fetches files of {self._platform}")

    async def _fetch(self, message: MessageAwaitingFiles) -> None:
        try:
            async with self._places:
                found, missing = await self._fetch_files(message)
                while True:
                    try:
                        await self._files.bring_files(message.inbox, found, missing)
                    except (StoreFull, StoreUnwritable) as error:
                        LOG.warning("files were not stored, trying again: %s", error)
                        await asyncio.sleep(STORE_AGAIN)
                    else:
                        break
        finally:
            self._begun.discard(message.inbox)
