"""The list of threads: search, open, rename, delete."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast

from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input

from adapters.terminal.widgets.thread_list import ThreadList, ThreadsScreen
from gateway.client import ThreadInfo


class Client:
    """Threads of two platforms."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.infos = [
            ThreadInfo(id=ident, title=ident, team="demo", state="idle", updated_at=0.0)
            for ident in ("one", "two")
        ]

    async def threads(
        self, *, search: str, platform: str, limit: int, offset: int, own_first: bool
    ) -> list[ThreadInfo]:
        self.asked.append((search, platform))
        return self.infos[offset : offset + limit]


class Deletions(set[str]):
    """Threads that are deleted soon."""

    def undo(self) -> str:
        return self.pop() if self else ""


class Conversation:
    """A conversation that notes what is asked of it."""

    def __init__(self) -> None:
        self.client = Client()
        self.deletions = Deletions()
        self.thread: ThreadInfo | None = None
        self.told: list[str] = []

    def open(self, thread: ThreadInfo | None) -> None:
        self.told.append(f"open {thread.id if thread else 'none'}")

    async def rename(self, thread: str, title: str) -> None:
        self.told.append(f"rename {thread} {title}")

    def delete_soon(self, thread: str) -> None:
        self.deletions.add(thread)


@asynccontextmanager
async def shown() -> AsyncGenerator[tuple[Pilot[None], ThreadList, Conversation]]:
    """The list in its screen, over an empty app."""
    conversation, app = Conversation(), App[None]()
    async with app.run_test() as pilot:
        await app.push_screen(ThreadsScreen(cast("Any", conversation), lambda: 60.0))
        await pilot.pause()
        yield pilot, app.screen.query_one(ThreadList), conversation


async def test_a_thread_is_opened_and_the_list_closes() -> None:
    async with shown() as (pilot, _, conversation):
        await pilot.press("down", "enter")
        await pilot.pause()
        assert conversation.told == ["open two"]
        assert not isinstance(pilot.app.screen, ThreadsScreen)
    async with shown() as (pilot, _, conversation):
        await pilot.press("n")
        assert conversation.told == ["open none"]


async def test_a_thread_is_deleted_and_kept_again() -> None:
    async with shown() as (pilot, threads, _):
        await pilot.press("delete")
        await pilot.pause()
        assert [each.id for each in threads.threads] == ["two"]
        await pilot.press("u")
        await pilot.pause()
        assert [each.id for each in threads.threads] == ["one", "two"]


async def test_a_thread_gets_another_title() -> None:
    async with shown() as (pilot, _, conversation):
        await pilot.press("r")
        await pilot.pause()
        await pilot.press("!", "enter")
        await pilot.pause()
        assert conversation.told == ["rename one !"]


async def test_threads_are_searched_by_words_and_platform() -> None:
    async with shown() as (pilot, threads, conversation):
        await pilot.press("p")
        assert conversation.client.asked[-1] == ("", "local")
        assert "in " in threads.query_one(Input).placeholder
        await pilot.press("slash", "a")
        await pilot.pause()
        assert conversation.client.asked[-1] == ("a", "local")
