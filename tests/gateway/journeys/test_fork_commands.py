"""`/fork` on a platform: by whom, how often, and failed ones."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway.access.authority import Access, Admission, Denial
from gateway.conversation import Author, InboundMessage
from gateway.gateway import Gateway
from gateway.inbound import replies
from gateway.store.decisions import PersonLimits
from gateway.store.units import lanes, threads
from gateway.store.units.invariants import broken_laws
from teams.base import Team
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import rows_of
from tests.gateway.journeys.test_edits import ANN, BOB, KEY
from tests.gateway.scripted import calls, model, solo
from tests.gateway.sessions.test_deleted_words import Desk
from tests.gateway.sessions.test_team_change import Defined

pytestmark = pytest.mark.usefixtures("database")

BOT = Author(id="x:bot", name="Bot", kind="bot")


class Paired(Access):
    """People who are let in by codes; Bob is a member."""

    def judge(self, message: InboundMessage) -> Any:
        return Admission() if message.author == BOB else Denial(once_paired=Admission())


class Limited(Access):
    """Everybody, within limits."""

    def __init__(self, turns: int) -> None:
        super().__init__([])
        self.limits = PersonLimits(parallel=1, turns=turns)

    def judge(self, message: InboundMessage) -> Admission:
        return Admission(limits=self.limits)


def desk_of(folder: Path, access: Access, *answers: str) -> Desk:
    desk = Desk(folder / "unused", *answers)
    desk.gateway = Gateway(new_store(folder), desk.teams, access=access)
    desk.person = desk.gateway.client
    return desk


async def forks_of(desk: Desk) -> list[str]:
    store: Any = desk.gateway.store
    rows = await rows_of(store, "SELECT id FROM threads WHERE key LIKE '%fork-%'")
    return [id for (id,) in rows]


async def test_whoever_was_let_in_by_a_code_may_fork_and_a_stranger_makes_nothing(tmp_path: Path):
    async with desk_of(tmp_path, Paired(), *"12") as desk:
        await desk.turn("1", "hello", BOB)
        refused = await desk.type("/fork")
        assert (await forks_of(desk), "parley pair" in refused.reply) == ([], True)
        await desk.person.pair(refused.reply.split("parley pair ")[1].split("`")[0])
        assert (await desk.type("/fork")).reply == replies.FORKED
        assert len(await forks_of(desk)) == 1


async def test_a_fork_that_was_missed_begins(tmp_path: Path):
    async with Desk(tmp_path, *"123") as desk:
        thread = (await desk.turn("1", "hello")).thread
        said = InboundMessage(key=KEY, author=ANN, text="!fork", dedupe=("x:9",), message_id="9")
        more = replace(said, text="and more", dedupe=("x:8",), message_id="8")
        told = await desk.gateway.accept_missed([more, said])
        assert [each.reply for each in told] == ["", replies.FORKED]
        again = await desk.gateway.accept_missed([said])
        assert [each.reply for each in again] == [replies.FORKED]
        (fork,) = await forks_of(desk)
        found = await desk.gateway.store.run(threads.thread, fork)
        assert found.title == "hello (fork)"
        await desk.events(thread, 2)


async def test_forks_count_as_turns_and_what_they_copy_does_not(tmp_path: Path):
    async with desk_of(tmp_path, Limited(4), *"123456") as desk:
        await desk.turn("1", "hello")
        assert (await desk.type("/fork")).reply == replies.FORKED
        assert (await desk.type("/fork")).reply == replies.FORKED
        taken = await asyncio.gather(*(desk.type("/fork") for _ in range(3)))
        assert sorted(each.reply for each in taken) == [
            replies.FORKED,
            *[replies.FULL_OF_FORKS] * 2,
        ]
        assert (await desk.type("/fork", BOB)).reply == replies.FORKED
        assert len(await forks_of(desk)) == 4
        store: Any = desk.gateway.store
        loads = [await store.read(lambda c, p=p: lanes.load_of(c, p, 99)) for p in (ANN.id, BOB.id)]
        assert [each.begun for each in loads] == [4, 1]
        said = await rows_of(store, "SELECT COUNT(*) FROM inbox WHERE outcome = 'command'")
        assert said == [(6,)]  # no fork has the commands that have begun others
        assert await store.read(broken_laws) == []


async def test_copies_are_no_messages_of_bots_and_none_to_catch_up_with(tmp_path: Path):
    async with Desk(tmp_path, *"12345678") as desk:
        for n in range(1, 6):
            await desk.turn(f"{n}", "ping", BOT)
        for _ in range(4):
            assert (await desk.type("/fork")).reply == replies.FORKED
        taken = await desk.turn("6", "ping", BOT)
        assert taken.outcome != "refused"
        recent = await desk.gateway.store.run(threads.recent_messages, "x", "T1", 0.0)
        assert len({each.message_id for each in recent}) == len(recent) == 6


class Writes:
    """A team that writes a file into its thread's folder."""

    def __init__(self) -> None:
        self.teams = Defined(self.made)

    def made(self) -> Team:
        folder = self.teams.workdirs[-1]

        async def write(text: str) -> str:
            """Write."""
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "note").write_text(text)
            return "written"

        return solo(model(calls("write", write='{"text": "one"}'), "1"), tools=[write])


async def test_a_fork_that_fails_leaves_no_folder(tmp_path: Path):
    async with Desk(tmp_path, teams=Writes().teams) as desk:
        store: Any = desk.gateway.store
        thread = (await desk.turn("1", "hello")).thread
        folders = tmp_path / "work"
        assert [each.name for each in folders.iterdir()] == [thread]
        await store.write(lambda c: c.execute("CREATE UNIQUE INDEX one_team ON threads (team)", {}))
        with pytest.raises(Exception, match=r"(?i)unique|store"):
            await desk.person.fork_thread(thread)
        failed = await desk.type("/fork")
        assert failed.reply != replies.FORKED
        assert [each.name for each in folders.iterdir()] == [thread]
        await store.write(lambda c: c.execute("DROP INDEX one_team", {}))
        assert (await desk.type("/fork")).reply == replies.FORKED
