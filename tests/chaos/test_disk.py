"""Full disks: nothing is acknowledged, and work resumes when they recover."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from adapters.slack.simulator.clock import VirtualClock
from gateway.access.authority import Access
from gateway.app.operator import owner_status
from gateway.control.health import serve_health
from gateway.control.socket_server import serve_control
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.delivery.service import delivering
from gateway.errors import GatewayError
from gateway.events import MessageFinished, SessionEvent, TurnFinished
from gateway.gateway import Gateway
from gateway.store.sqlite.store import SqliteStore
from gateway.store.units import counts
from tests.chaos.sqlite_layer import OK, dynamic, watched
from tests.fakes.scripted_surface import Board, Surface
from tests.gateway.scripted import Door, ScriptedTeams, calls, model, of, solo, until

pytestmark = [
    pytest.mark.sqlite,
    pytest.mark.chaos,
    pytest.mark.skipif(
        not dynamic() and "CI" not in os.environ, reason="this Python's SQLite is linked statically"
    ),
]

FULL, READ_ONLY, BROKEN = 13, 8 | 1 << 8, 10 | 3 << 8
"""SQLITE_FULL, SQLITE_READONLY_RECOVERY, SQLITE_IOERR_WRITE (sqlite.org/rescode.html)."""
MOODS = pytest.mark.parametrize(
    "mood", [FULL, READ_ONLY, BROKEN], ids=["full", "read-only", "broken"]
)


class FailingDisk:
    """A disk that answers every write with `mood`."""

    def __init__(self, folder: Path) -> None:
        self._folder = os.fsencode(folder.resolve())
        self.mood = OK

    def opens(self, path: bytes) -> bool:
        return path.startswith(self._folder)

    def writes(self, path: bytes, offset: int, data: bytes | None) -> int:
        return self.mood

    def syncs(self, path: bytes) -> int:
        return self.mood

    def removed(self, path: bytes) -> None: ...


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[FailingDisk]:
    moody = FailingDisk(tmp_path)
    with watched(moody):
        yield moody


def gateway_on(folder: Path, teams: ScriptedTeams) -> Gateway:
    return Gateway(SqliteStore(folder / "store"), teams, access=Access(["chat:alice"]))


def message(n: int) -> InboundMessage:
    key = ConversationKey(platform="chat", channel="C", root="1")
    author = Author(id="chat:alice", name="Alice")
    return InboundMessage(
        key=key, author=author, text=f"message {n}", dedupe=(key.dedupe("create", str(n)),)
    )


async def until_done(gateway: Gateway, thread: str, turns: int) -> list[SessionEvent]:
    """The thread's events to the end of so many turns."""
    done = 0

    def last(event: SessionEvent) -> bool:
        nonlocal done
        done += isinstance(event, TurnFinished) and event.outcome == "done"
        return done == turns

    return await until(gateway, thread, last)


@MOODS
async def test_what_a_disk_does_not_take_is_not_acknowledged_and_is_taken_later(
    tmp_path: Path, disk: FailingDisk, mood: int
) -> None:
    shared = model("One.", "Two.", "Three.")
    async with gateway_on(tmp_path, ScriptedTeams(lambda: solo(shared))) as gateway:
        thread = (await gateway.accept(message(1))).thread
        await until_done(gateway, thread, 1)

        disk.mood = mood
        refusals = await asyncio.gather(
            *(gateway.accept(message(n)) for n in (2, 3)), return_exceptions=True
        )
        assert [isinstance(refusal, GatewayError) for refusal in refusals] == [True, True]
        with pytest.raises(GatewayError):
            await gateway.store.probe()
        assert (await gateway.store.run(counts.counts)).inbox == {"turn": 1}

        disk.mood = OK
        for n in (2, 3):
            await gateway.accept(message(n))  # platforms deliver again what nobody acknowledged
        events = await until_done(gateway, thread, 3)
        assert [event.text for event in of(MessageFinished, events)] == ["One.", "Two.", "Three."]


@MOODS
async def test_a_turn_that_a_disk_stops_goes_on_when_it_takes_something_again(
    tmp_path: Path, disk: FailingDisk, mood: int
) -> None:
    door, done = Door(), list[str]()

    async def slow() -> str:
        """Take a while."""
        done.append("slow")
        await door.pass_through()
        return "it is done"

    shared = model(calls("slow"), "All is well.")
    teams = ScriptedTeams(lambda: solo(shared, tools=[slow], messages=2))
    async with gateway_on(tmp_path, teams) as gateway:
        thread = (await gateway.accept(message(1))).thread
        await door.reached.wait()
        disk.mood = mood
        door.open()
        while gateway.vitals.turns["cut short"] == 0:  # noqa: ASYNC110 (a count tells nobody)
            await asyncio.sleep(0.01)
        disk.mood = OK
        events = await until_done(gateway, thread, 1)
        assert done == ["slow"]  # its result was lost with the disk, and it is not run again
        assert [event.text for event in of(MessageFinished, events)] == ["All is well."]


@MOODS
async def test_what_a_disk_keeps_from_being_shown_is_shown_once_it_takes_something_again(
    tmp_path: Path, disk: FailingDisk, mood: int
) -> None:
    board, clock = Board(), VirtualClock()
    platform = Surface(board)
    asked = replace(message(1), key=replace(message(1).key, platform=platform.platform))
    async with gateway_on(tmp_path, ScriptedTeams(lambda: solo("All is well."))) as gateway:
        thread = (await gateway.accept(asked)).thread
        await until_done(gateway, thread, 1)
        disk.mood = mood
        async with delivering(gateway.delivery, platform, clock=clock):
            for _ in range(30):  # far more often than a fault of our own is tried again
                await asyncio.sleep(0.005)
                clock.advance(60)
            assert board.posted == []
            disk.mood = OK
            while board.said() != "All is well.":
                await asyncio.sleep(0.005)
                clock.advance(60)


async def test_a_full_disk_is_said_for_as_long_as_it_is_full(
    tmp_path: Path, disk: FailingDisk
) -> None:
    store = SqliteStore(tmp_path / "store")
    async with (
        Gateway(store, ScriptedTeams(lambda: solo("One."))) as gateway,
        serve_control(gateway),
        serve_health(gateway, "127.0.0.1", 0) as port,
        aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session,
    ):

        async def said() -> tuple[str, str]:
            async with session.get("/healthz") as response:
                health = (await response.json())["status"]
            return health, (await owner_status(store))[1]

        await gateway.client.create_thread()
        for mood in (OK, FULL, OK):
            disk.mood = mood
            health, status = await said()
            assert health == ("ok" if mood == OK else "degraded")
            assert ("Degraded: The disk is full." in status) == (mood == FULL)
            assert "1 thread" in status
