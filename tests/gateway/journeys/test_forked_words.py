"""Words that are deleted reach the forks that have copies of them."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from adapters.terminal.plain import PlainChat
from adapters.terminal.settings import Settings
from gateway.client import Client
from gateway.content.task import DELETED
from gateway.errors import NotFound
from gateway.events import Notice
from gateway.inbound.policy import NOT_YOURS_ALONE
from gateway.store.units import events as event_units
from gateway.store.units import threads
from gateway.store.units.invariants import broken_laws
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from tests.fakes.tested_store import rows_of
from tests.gateway.journeys.test_edits import ANN, BOB, BOSS, FILE
from tests.gateway.scripted import of
from tests.gateway.scripted import turn as local_turn
from tests.gateway.sessions.test_deleted_words import Desk

pytestmark = pytest.mark.usefixtures("database")

CANARY = "the code is CANARY"


async def ask(desk: Desk, thread: str, text: str = "what is the code?") -> str:
    """Ask in a local thread; all that the model was sent."""
    await local_turn(desk.gateway, thread, text)
    return desk.sent()


async def test_a_deleted_message_is_told_in_no_fork(tmp_path: Path):
    async with Desk(tmp_path, *"123456") as desk:
        thread = (await desk.turn("1", CANARY)).thread
        await desk.turn("2", "thanks")
        fork = (await desk.person.fork_thread(thread)).id
        second = (await desk.person.fork_thread(fork)).id
        assert CANARY in await ask(desk, fork)
        third = (await desk.person.fork_thread(fork)).id
        lines = of(Notice, await desk.gateway.store.run(event_units.events, third))
        assert [each.text[:24] for each in lines] == ["This thread is a fork of"] * 2
        await desk.delete("1")
        for each in (fork, second, third):
            sent = await ask(desk, each)
            assert ("CANARY" in sent, DELETED in sent) == (False, True)
            assert b"CANARY" not in await desk.saved(each)
        assert desk.teams.built == 5  # none was replaced by a new one that is told the rest
        store: Any = desk.gateway.store
        assert await store.read(broken_laws) == []


@pytest.mark.parametrize("forgets_before", [False, True])
async def test_a_fork_whose_team_begins_anew_is_told_no_deleted_message(
    tmp_path: Path, *, forgets_before: bool
):
    async with Desk(tmp_path, *"1234567") as desk:
        thread = (await desk.turn("1", CANARY)).thread
        await desk.turn("2", "thanks")
        fork = (await desk.person.fork_thread(thread)).id
        second = (await desk.person.fork_thread(fork)).id
        if forgets_before:
            await desk.delete("1")
            for each in (fork, second):
                assert "CANARY" not in await ask(desk, each)
    async with Desk(tmp_path, *"abcdef") as desk:
        desk.teams.participants, desk.teams.definition = ("another",), "2"
        desk.teams.make = lambda: RoundRobinGroupChat(
            [AssistantAgent("another", desk.client)], max_turns=1
        )
        third = (await desk.person.fork_thread(fork)).id
        if not forgets_before:
            assert CANARY in await ask(desk, second)  # the new team was told it
            await desk.delete("1")
        for each in (fork, second, third):
            sent = await ask(desk, each)
            assert ("CANARY" in sent, DELETED in sent, "thanks" in sent) == (False, True, True)
            assert b"CANARY" not in await desk.saved(each)
        built = desk.teams.built  # each began anew once; what one was told goes from its state
        assert built == (3 if forgets_before else 4)


async def test_the_terminal_forks_a_platforms_thread_to_itself(tmp_path: Path):
    async with Desk(tmp_path, *"1234") as desk:
        thread = (await desk.turn("1", CANARY)).thread
        await desk.turn("2", "thanks", BOB, attachments=(FILE,))
        out = io.StringIO()
        plain = PlainChat(
            Settings(data_dir=tmp_path, thread=thread),
            stdin=io.StringIO("/fork\ny\nwhat is the code?\n"),
            stdout=out,
            stderr=io.StringIO(),
        )

        @asynccontextmanager
        async def connect() -> AsyncGenerator[Client, None]:
            yield desk.person

        async with asyncio.timeout(8):
            assert await plain.run(connect) == 0
        assert "people on X do not see the fork. Type y" in out.getvalue()
        store: Any = desk.gateway.store
        (fork,) = await desk.person.threads(platform="local")
        assert (fork.channel, fork.fork_asks) == ("", "")
        said = "SELECT author, text, untrusted FROM inbox WHERE thread = :t ORDER BY id"
        here, there = [
            await rows_of(store, said.replace(":t", f"'{each}'")) for each in (fork.id, thread)
        ]
        assert here[:2] == there
        marks = [(author, bool(foreign)) for author, _, foreign in there]
        assert marks == [(ANN.id, False), (BOB.id, True)]
        assert [text for _, text, _ in here[2:]] == ["what is the code?"]
        assert CANARY in desk.sent()
        await desk.delete("1")
        assert "CANARY" not in await ask(desk, fork.id, "and now?")
        assert b"CANARY" not in await desk.saved(fork.id)


async def test_a_message_that_is_edited_keeps_its_words_in_a_fork_as_in_its_thread(tmp_path: Path):
    async with Desk(tmp_path, *"123") as desk:
        thread = (await desk.turn("1", "one")).thread
        fork = (await desk.person.fork_thread(thread)).id
        await desk.edit("1", "CANARY")
        offers = [
            [
                each.command
                for each in of(Notice, await desk.gateway.store.run(event_units.events, of_))
            ]
            for of_ in (thread, fork)
        ]
        assert offers[0][0].startswith("/again")
        assert offers[1] == [""]
        sent = await ask(desk, fork)
        assert ("one" in sent, "CANARY" in sent) == (True, False)


async def test_a_deleted_thread_of_a_platform_takes_its_forks_with_it(tmp_path: Path):
    async with Desk(tmp_path, *"123") as desk:
        thread = (await desk.turn("1", CANARY)).thread
        fork = (await desk.person.fork_thread(thread)).id
        second = (await desk.person.fork_thread(fork)).id
        await ask(desk, second)
        await desk.person.delete_thread(thread)
        for each in (thread, fork, second):
            with pytest.raises(NotFound):
                await desk.person.thread(each)


async def test_who_is_forgotten_is_forgotten_in_forks(tmp_path: Path):
    async with Desk(tmp_path, *"1234") as desk:
        thread = (await desk.turn("1", "first", BOB)).thread
        without = (await desk.person.fork_thread(thread)).id
        await desk.turn("2", CANARY)
        fork = (await desk.person.fork_thread(thread)).id
        gone = await desk.person.delete_person(ANN.id)
        assert {*gone} >= {thread, fork}
        left = await desk.gateway.store.run(threads.threads_of, ANN.id)
        assert left == []
        # With the thread of a platform go all that have words of it.
        assert without in gone


async def test_a_fork_that_outlived_its_thread_still_hears_of_deletions(tmp_path: Path):
    async with Desk(tmp_path, *"123") as desk:
        thread = (await desk.turn("1", CANARY)).thread
        fork = (await desk.person.fork_thread(thread)).id
        second = (await desk.person.fork_thread(fork)).id
        store: Any = desk.gateway.store
        await store.write(lambda c: c.execute("DELETE FROM threads WHERE id = :t", {"t": thread}))
        await desk.person.delete_thread(fork)  # one of the terminal's: its own forks stay
        await desk.delete("1")
        sent = await ask(desk, second)
        assert ("CANARY" in sent, DELETED in sent) == (False, True)


async def test_who_forgets_a_thread_is_told_of_its_forks_and_does_not_delete_the_words_of_others(
    tmp_path: Path,
):
    async with Desk(tmp_path, *"12345678") as desk:
        thread = (await desk.turn("1", CANARY)).thread
        fork = (await desk.person.fork_thread(thread)).id
        assert (await desk.type("/forget")).reply == (
            "All messages and files of this thread and its fork are deleted."
        )
        left = {each.id for each in await desk.person.threads()}
        assert not left & {thread, fork}
        desk.turns = 0
        await desk.turn("2", CANARY)
        (thread,) = [each.id for each in await desk.person.threads()]
        forks = [(await desk.person.fork_thread(thread)).id for _ in range(2)]
        await ask(desk, forks[1])  # somebody else, in the terminal
        assert (await desk.type("/forget")).reply == NOT_YOURS_ALONE
        assert {each.id for each in await desk.person.threads()} == {thread, *forks}
        assert (await desk.type("/forget", BOSS)).reply == (
            "All messages and files of this thread and its 2 forks are deleted."
        )
        assert not {each.id for each in await desk.person.threads()} & {thread, *forks}
