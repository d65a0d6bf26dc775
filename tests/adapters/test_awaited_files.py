"""Files that stored messages await."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

import aiohttp
import pytest

from adapters import awaited_files
from adapters.awaited_files import (
    MOST_FILES,
    AwaitedFiles,
    FetchedFiles,
    FileRefusal,
    fetch_files,
    too_large,
)
from gateway.conversation import (
    Attachment,
    AwaitedFile,
    ConversationKey,
    MessageAwaitingFiles,
    MissingFile,
)
from gateway.errors import StoreFull

FILE = AwaitedFile(name="a.txt", media_type="text/plain")
FETCHED = Attachment(name="a.txt", media_type="text/plain", data=b"one")
KEY = ConversationKey(platform="x", root="1")


@pytest.mark.parametrize(
    ("error", "missing"),
    [
        (FileRefusal("it is gone"), MissingFile(name="a.txt", why="it is gone")),
        (FileRefusal("it is gone", "b.txt"), MissingFile(name="b.txt", why="it is gone")),
        (aiohttp.ClientError(), MissingFile(name="a.txt", why="Chat did not deliver it")),
        (
            TimeoutError(),
            MissingFile(name="a.txt", why="Chat did not deliver it in time; send it again"),
        ),
    ],
)
async def test_a_file_that_can_not_be_had_is_named_with_the_reason(
    error: Exception, missing: MissingFile
) -> None:
    async def fetch(file: AwaitedFile) -> Attachment:
        raise error

    assert await fetch_files("Chat", [FILE], fetch) == ([], [missing])


async def test_files_beyond_the_most_are_not_fetched() -> None:
    async def fetch(file: AwaitedFile) -> Attachment:
        return FETCHED

    found, missing = await fetch_files("Chat", [FILE] * (MOST_FILES + 1), fetch)
    assert (len(found), [each.why for each in missing]) == (
        MOST_FILES,
        [f"only {MOST_FILES} files are accepted"],
    )


def test_a_file_that_is_too_large_is_left_to_the_gateway() -> None:
    found = too_large(FILE, 10**9)
    assert (found.name, found.data, found.size) == ("a.txt", b"", 10**9)


class Files:
    """A store of messages, one of which awaits a file."""

    def __init__(self) -> None:
        self.brought: list[tuple[int, Any, Any]] = []
        self.full = True

    async def awaited_files(self, platform: str) -> list[MessageAwaitingFiles]:
        return [MessageAwaitingFiles(inbox=7, key=KEY, files=(FILE,))] if not self.brought else []

    async def bring_files(
        self, inbox: int, files: Sequence[Attachment], missing: Sequence[MissingFile]
    ) -> None:
        if self.full:
            self.full = False
            raise StoreFull
        self.brought.append((inbox, files, missing))


async def test_files_are_fetched_once_and_brought_until_the_store_takes_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(awaited_files, "STORE_AGAIN", 0.0)
    files, tasks = Files(), list[asyncio.Task[None]]()

    async def fetch(message: MessageAwaitingFiles) -> FetchedFiles:
        return [FETCHED], []

    def start(work: Coroutine[Any, Any, None], name: str) -> None:
        tasks.append(asyncio.ensure_future(work))

    awaited = AwaitedFiles(files, "x", fetch, start)
    await awaited.look()
    await awaited.look()
    await asyncio.gather(*tasks)
    assert len(tasks) == 1
    assert files.brought == [(7, [FETCHED], [])]
