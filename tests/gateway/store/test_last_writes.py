"""Health of a store, by what its last writes met."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gateway.access.authority import Access
from gateway.app.operator import owner_status
from gateway.control.health import serve_health
from gateway.control.socket_server import serve_control
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.errors import GatewayError, NotFound, StatementRefused, StoreFull, StoreUnwritable
from gateway.events import MessageFinished
from gateway.gateway import Gateway
from gateway.store import last_writes
from gateway.store.connection import Connection
from gateway.store.last_writes import LastWrites
from gateway.store.postgres.database import Database
from gateway.store.postgres.store import PostgresStore
from gateway.store.units import adapters as adapter_units
from gateway.store.units import search_index
from tests.fakes.full_disk import FullDisk
from tests.fakes.new_store import new_store
from tests.gateway.scripted import Door, ScriptedTeams, calls, ends, model, of, solo, until

KEY = ConversationKey(platform="chat", channel="C", root="1")
LARGE = "many words " * 20_000
on_each = pytest.mark.usefixtures("database")


def said(number: int, text: str = LARGE) -> InboundMessage:
    author = Author(id="chat:ann", name="Ann")
    return InboundMessage(key=KEY, author=author, text=text, dedupe=(f"{number}",))


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> FullDisk:
    return FullDisk(monkeypatch)


@asynccontextmanager
async def watched(folder: Path, teams: ScriptedTeams) -> AsyncGenerator[tuple[Gateway, Any]]:
    """A gateway, and a look at all of its instruments."""
    store = new_store(folder)
    async with (
        Gateway(store, teams, access=Access(["chat:ann"])) as gateway,
        serve_control(gateway),
        serve_health(gateway, "127.0.0.1", 0) as port,
        aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session,
    ):

        async def look() -> tuple[str, str, bool, bool]:
            async with session.get("/healthz") as response:
                health = (await response.json())["status"]
            async with session.get("/readyz") as response:
                ready = (await response.json())["store"]
            async with session.get("/metrics") as response:
                takes = "\nparley_store_writes 1.0\n" in await response.text()
            return (
                health,
                ready,
                takes,
                "Degraded: The disk is full." in (await owner_status(store))[1],
            )

        yield gateway, look


WELL = ("ok", "ok", True, False)
FULL = ("degraded", "StoreFull", False, True)


@on_each
async def test_a_message_that_found_no_room_is_the_health_of_the_store_until_there_is_some(
    tmp_path, disk
):
    async with watched(tmp_path, ScriptedTeams(lambda: solo("yes"))) as (gateway, look):
        thread = (await gateway.accept(said(1, "hello"))).thread
        await until(gateway, thread, ends)
        while await gateway.store.run(
            search_index.index_words
        ):  # or it would find the disk full first
            pass
        await disk.fill(gateway.store)
        assert await look() == WELL  # what is written in place still fits
        for _ in range(2):
            with pytest.raises(StoreFull):
                await gateway.accept(said(2))
            assert await look() == FULL
        await disk.fill(gateway.store, full=False)
        assert await look() == WELL
        await gateway.accept(said(2))


@on_each
async def test_a_turn_that_found_no_room_asks_no_model_before_the_store_takes_a_write(
    tmp_path, disk, monkeypatch
):
    monkeypatch.setattr("gateway.sessions.lanes.FIRST_RETRY", 0.001)
    monkeypatch.setattr("gateway.sessions.lanes.LONGEST_RETRY", 0.001)
    door, shared = Door(), model(calls("slow"), LARGE, LARGE, LARGE, "short")
    probes = 0

    async def slow() -> str:
        await door.pass_through()
        return "done"

    teams = ScriptedTeams(lambda: solo(shared, tools=[slow], messages=2))
    async with watched(tmp_path, teams) as (gateway, look):
        probe = gateway.store.probe

        async def counted() -> None:
            nonlocal probes
            probes += 1
            await probe()

        monkeypatch.setattr(gateway.store, "probe", counted)
        thread = (await gateway.accept(said(1, "hello"))).thread
        await door.reached.wait()
        await disk.fill(gateway.store)
        door.open()
        while probes < 5:  # noqa: ASYNC110 (a count tells nobody)
            await asyncio.sleep(0.005)
        asked = len(shared.create_calls)
        assert asked <= 2
        assert await look() == FULL
        await disk.fill(gateway.store, full=False)
        events = await until(gateway, thread, ends)
        assert of(MessageFinished, events)
        assert await look() == WELL


@on_each
async def test_a_unit_that_fails_by_itself_says_nothing_of_the_store(tmp_path):
    def fails(connection: Connection) -> None:
        raise NotFound("not there")

    store = new_store(tmp_path)
    async with store.own():
        with pytest.raises(NotFound):
            await store.write(fails)
        await store.probe()


REFUSING = (
    "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql"
    " AS $$ BEGIN RAISE EXCEPTION 'a damaged row'; END $$",
    "CREATE TRIGGER refuse BEFORE INSERT ON inbox FOR EACH ROW EXECUTE FUNCTION refuse()",
)
REFUSED = "The store refused a statement, which may be the fault of one thread's rows: see the log."


async def test_a_statement_refused_for_one_threads_rows_makes_no_node_unready(
    tmp_path, postgres_url
):
    store = PostgresStore(Database(url=postgres_url), tmp_path)
    async with (
        Gateway(store, ScriptedTeams(lambda: solo("yes"))) as gateway,
        serve_health(gateway, "127.0.0.1", 0) as port,
        aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session,
    ):

        async def look() -> tuple[int, str, list[str]]:
            async with session.get("/readyz") as response:
                ready, body = response.status, await response.json()
            return ready, body["store"], list(await gateway.client.troubles())

        for statement in REFUSING:
            await store.write(lambda c, each=statement: c.execute(each))
        with pytest.raises(StatementRefused):
            await gateway.accept(said(1, "hello"))
        assert await look() == (200, "StatementRefused", [REFUSED])


async def nothing(unit: Callable[[Any], None]) -> None:
    """Take every write."""


async def refused(error: GatewayError) -> None:
    raise error


def one_kind(connection: Connection) -> None: ...


def other_kind(connection: Connection) -> None: ...


async def met(last: LastWrites, unit: Callable[[Any], None], error: GatewayError) -> None:
    with pytest.raises(type(error)):
        await last.watch(unit, refused(error))


async def test_an_error_of_one_kind_lasts_until_that_kind_is_taken_again(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(last_writes, "monotonic", lambda: now[0])
    last = LastWrites(StoreFull)
    for _ in range(2):
        await met(last, one_kind, StoreUnwritable("permission denied"))
        await last.watch(other_kind, nothing(other_kind))
        with pytest.raises(StoreUnwritable, match="permission denied"):
            await last.probe(nothing, one_kind)
        await last.watch(one_kind, nothing(one_kind))
        await last.probe(nothing, one_kind)
    await met(last, one_kind, StoreUnwritable("permission denied"))
    now[0] = last_writes.KEPT + 1  # nobody has tried since
    await last.probe(nothing, one_kind)


async def test_a_refused_statement_is_told_after_what_is_wrong_with_the_store():
    last = LastWrites(StoreFull)
    await met(last, one_kind, StatementRefused("a row"))
    with pytest.raises(StatementRefused):
        await last.probe(nothing, one_kind)
    await met(last, other_kind, StoreUnwritable("permission denied"))
    with pytest.raises(StoreUnwritable, match="permission denied"):
        await last.probe(nothing, one_kind)


async def test_what_is_refused_to_a_probe_is_refused_by_the_store():
    last = LastWrites(StoreFull)

    async def refuses(unit: Callable[[Any], None]) -> None:
        await last.watch(unit, refused(StatementRefused("no such table")))

    for _ in range(2):
        with pytest.raises(StoreUnwritable, match="no such table"):
            await last.probe(refuses, one_kind)


async def test_a_probe_that_finds_room_says_nothing_of_what_was_refused_meanwhile():
    last = LastWrites(StoreFull)
    await met(last, one_kind, StoreFull())

    async def meanwhile(unit: Callable[[Any], None]) -> None:
        await met(last, other_kind, StoreFull())

    with pytest.raises(StoreFull):
        await last.probe(meanwhile, one_kind)
    await last.probe(nothing, one_kind)


async def test_writes_that_are_cut_off_are_no_word_about_the_store():
    last = LastWrites(StoreFull)
    waiting = asyncio.get_running_loop().create_future()
    writing = asyncio.ensure_future(last.watch(one_kind, waiting))
    await asyncio.sleep(0)
    writing.cancel()
    await asyncio.wait([writing])
    await last.probe(nothing, one_kind)


async def test_a_right_that_is_lost_on_one_table_is_told_although_others_are_written(
    tmp_path, postgres_url
):
    store = PostgresStore(Database(url=postgres_url), tmp_path)
    async with Gateway(store, ScriptedTeams(lambda: solo("yes"))) as gateway:
        for change, state in (
            ("REVOKE INSERT ON inbox FROM", "StoreUnwritable"),
            ("GRANT INSERT ON inbox TO", "ok"),
        ):
            await store.write(lambda c, change=change: c.execute(f"{change} CURRENT_USER"))
            with nullcontext() if state == "ok" else pytest.raises(StoreUnwritable):
                await gateway.accept(said(1, "hello"))
            await store.run(adapter_units.mark, "chat", "of another kind", "x")
            assert (await gateway.client.status()).store == state
