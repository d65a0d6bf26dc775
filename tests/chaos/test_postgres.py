"""A gateway on PostgreSQL with faults of the server.

tests/gateway/store/postgres/test_faults.py has the store alone.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

import aiohttp
import psycopg
import pytest

from adapters.slack.simulator.clock import VirtualClock
from gateway.access.authority import Access
from gateway.app.operator import owner_status
from gateway.client import Answer
from gateway.control.health import serve_health
from gateway.control.socket_server import serve_control
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.delivery.service import delivering
from gateway.errors import GatewayError, StoreFull, StoreInUse, StoreUnreachable
from gateway.events import InputRequested, MessageFinished, SessionEvent, TurnFinished
from gateway.gateway import Gateway
from gateway.registry import ToolRule
from gateway.runtime.settings import Limits
from gateway.store.postgres.database import Database, Patience
from gateway.store.postgres.store import PostgresStore
from gateway.store.units import audit
from gateway.store.units.audit import note
from gateway.surface import Speech
from teams.models import CreateResult, LLMMessage
from teams.models.replay import ReplayChatCompletionClient
from tests.fakes.postgres_server import PostgresServer
from tests.fakes.scripted_model import calls, says
from tests.fakes.scripted_surface import Board, Surface
from tests.fakes.tcp_proxy import TcpProxy
from tests.fakes.tested_store import at
from tests.folders_in_memory import VARIABLE
from tests.gateway.scripted import CAN_CALL, ScriptedTeams, of, solo, until

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(90)]

T = TypeVar("T")

HASTY = Patience(unit=1.0, connection=0.5, silence=0.6, look=0.1, end=0.5)
"""A unit is given up long before the database is back."""
ENDS = {"queue": ["done", "done"], "approval": ["waiting", "done"]}
ALICE = Author(id="chat:alice", name="Alice")


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


@pytest.fixture
def url(server: PostgresServer) -> str:
    return server.new_url()


@pytest.fixture
async def proxy(url: str) -> AsyncIterator[TcpProxy]:
    async with TcpProxy(url) as proxy:
        yield proxy


class Outage:
    """A server that crashes, or that nobody hears."""

    def __init__(self, kind: str, server: PostgresServer, proxy: TcpProxy) -> None:
        self._kind = kind
        self._server = server
        self._proxy = proxy

    async def begin(self) -> None:
        if self._kind == "crash":
            await asyncio.to_thread(self._server.stop, immediate=True)
        else:
            self._proxy.lose()

    async def end(self) -> None:
        if self._kind == "crash":
            await asyncio.to_thread(self._server.start)
        else:
            self._proxy.speak()


class Phases(ReplayChatCompletionClient):
    """Answers by the name that the last message of a person has.

    A text of two halves waits between them until `go_on`.
    """

    def __init__(self) -> None:
        super().__init__([], model_info=CAN_CALL)
        self.halves = Counter[str]()
        self.reached = asyncio.Condition()
        self.running = asyncio.Event()
        self.go_on = asyncio.Event()
        self.effects: list[str] = []

    async def create_stream(
        self, messages: Any, **_: Any
    ) -> AsyncGenerator[str | CreateResult, None]:
        name, called = _asked(messages)
        if name in ("tool", "approval") and not called:
            yield calls((name, {}))
            return
        yield f"Half of {name}, "
        if name in ("stream", "queue"):
            async with self.reached:
                self.halves[name] += 1
                self.reached.notify_all()
            await self.go_on.wait()
        yield "and all."
        yield says(f"Half of {name}, and all.")

    async def tool(self) -> str:
        """Take a while."""
        self.effects.append("tool")
        self.running.set()
        await self.go_on.wait()
        return "done"

    async def approval(self) -> str:
        """Do what somebody has to approve."""
        self.effects.append("approval")
        return "done"

    async def until_half(self, *names: str) -> None:
        async with self.reached:
            await self.reached.wait_for(lambda: all(self.halves[name] for name in names))


def _asked(messages: list[LLMMessage]) -> tuple[str, bool]:
    """Name of the last message; True if a tool has answered since."""
    said = [message for message in messages if message.type == "UserMessage"]
    return str(said[-1].content), messages[-1].type != "UserMessage"


def gateway_on(store: PostgresStore, model: Phases) -> Gateway:
    teams = ScriptedTeams(
        lambda: solo(model, tools=[model.tool, model.approval], model_client_stream=True),
        rules={"approval": ToolRule(action="ask", output="trusted")},
    )
    limits = Limits(shutdown=1.0)
    return Gateway(store, teams, access=Access(["chat:alice"]), limits=limits)


def message(name: str, thread: str = "") -> InboundMessage:
    key = ConversationKey(platform="scripted", channel="C", root=thread or name)
    return InboundMessage(key=key, author=ALICE, text=name, dedupe=(key.dedupe("create", name),))


async def insist(act: Callable[[], Awaitable[T]]) -> T:
    """Do it again until it is taken, as platforms do."""
    while True:
        try:
            return await act()
        except GatewayError:
            await asyncio.sleep(0.05)


def said_in(board: Board) -> dict[str, str]:
    """Everything that agents say, by thread."""
    found: dict[str, str] = {}
    for posted in board.posted:
        if isinstance(content := posted.part.content, Speech):
            root = posted.place.key.root
            found[root] = found.get(root, "") + content.text
    return found


@pytest.mark.parametrize("kind", ["crash", "silence"])
async def test_an_outage_in_any_phase_loses_and_repeats_nothing_and_ends_by_itself(
    kind: str,
    server: PostgresServer,
    proxy: TcpProxy,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "gateway.store")
    database = Database(url=f"{proxy.url}?connect_timeout=2", patience=HASTY, failover=1.2)
    store = PostgresStore(database, tmp_path)
    model, outage = Phases(), Outage(kind, server, proxy)
    board, clock = Board(), VirtualClock()
    surface = Surface(board)
    surface.open.clear()
    gateway = gateway_on(store, model)
    async with (
        asyncio.timeout(40),
        gateway,
        serve_control(gateway),
        serve_health(gateway, "127.0.0.1", 0) as port,
        delivering(gateway.delivery, surface, clock=clock),
    ):
        names = ("stream", "tool", "approval", "queue", "done")
        thread = {name: (await gateway.accept(message(name))).thread for name in names}
        queued = await gateway.accept(message("next", thread="queue"))
        asked = await until(gateway, thread["approval"], is_end)
        await until(gateway, thread["done"], is_end)
        await model.until_half("stream", "queue")
        await model.running.wait()

        await outage.begin()
        surface.open.set()
        model.go_on.set()
        late = asyncio.ensure_future(insist(lambda: gateway.accept(message("late"))))
        request = of(InputRequested, asked)[0].request
        answer = asyncio.ensure_future(
            insist(lambda: gateway.client.answer(request, Answer(kind="approve"), author=ALICE))
        )
        await check_that_it_is_said(store, port)
        assert not late.done()
        assert not answer.done()
        await outage.end()

        thread["late"] = (await late).thread
        assert await answer is None
        expected = {name: f"Half of {name}, and all." for name in (*names, "late")}
        expected["queue"] += "Half of next, and all."
        while said_in(board) != expected:
            await asyncio.sleep(0.02)
            clock.advance(10)
        for name, place in thread.items():
            outcomes = ENDS.get(name, ["done"])
            events = await until(gateway, place, _nth_end(len(outcomes)))
            assert [end.outcome for end in of(TurnFinished, events)] == outcomes
        assert queued.thread == thread["queue"]
        assert sorted(model.effects) == ["approval", "tool"]
        counts = (await gateway.client.status()).counts
        assert counts is not None
        assert counts.inbox == {"turn": 7, "answer": 1}
        assert await answer_of(port, "readyz") == 200
        while store.unreachable_since:  # noqa: ASYNC110 (nobody tells)
            await asyncio.sleep(0.02)
    lost, found = [each.message for each in caplog.records if each.name == "gateway.store"]
    assert "does not answer: " in lost
    assert "answers again" in found


async def check_that_it_is_said(store: PostgresStore, port: int) -> None:
    """Check the answers during an outage, and their time."""
    began = monotonic()
    ready, metrics, status = await asyncio.gather(
        answer_of(port, "readyz"), answer_of(port, "metrics"), owner_status(store)
    )
    assert monotonic() - began < 6
    assert (ready, metrics) == (503, 200)
    assert "Degraded: Parley can't reach the store" in status[1]
    assert store.unreachable_since is not None


async def answer_of(port: int, page: str) -> int:
    address = f"http://127.0.0.1:{port}/{page}"
    async with aiohttp.ClientSession() as session, session.get(address) as response:
        return response.status


def is_end(event: SessionEvent) -> bool:
    return isinstance(event, TurnFinished)


def _nth_end(turns: int) -> Callable[[SessionEvent], bool]:
    ends = count(1)
    return lambda event: is_end(event) and next(ends) == turns


async def test_a_gateway_that_ends_in_an_outage_goes_on_at_its_next_start(
    proxy: TcpProxy, tmp_path: Path
) -> None:
    database = Database(url=f"{proxy.url}?connect_timeout=2", patience=HASTY, failover=1.2)
    model = Phases()
    async with asyncio.timeout(40):
        async with gateway_on(PostgresStore(database, tmp_path), model) as gateway:
            thread = (await gateway.accept(message("stream"))).thread
            await model.until_half("stream")
            proxy.lose()
            began = monotonic()
        assert monotonic() - began < 6
        proxy.speak()
        model.go_on.set()
        async with gateway_on(PostgresStore(database, tmp_path), model) as gateway:
            events = await until(gateway, thread, is_end)
            assert [said.text for said in of(MessageFinished, events)] == [
                "Half of stream, and all."
            ]


async def test_a_store_whose_server_is_away_at_the_start_says_so(
    server: PostgresServer, url: str, tmp_path: Path
) -> None:
    store = PostgresStore(Database(url=url, patience=HASTY, failover=1.2), tmp_path)
    server.stop(immediate=True)
    try:
        with pytest.raises(StoreUnreachable, match=r"can't be reached: .*refused"):
            async with store.own():
                pass
    finally:
        server.start()
    async with store.own():
        await store.probe()


async def test_a_lost_transaction_is_not_taken_for_a_later_one_with_its_number(
    tmp_path: Path,
) -> None:
    patience = Patience(unit=30.0, connection=0.5, silence=0.6, look=0.1, end=0.5)
    with PostgresServer({"wal_writer_delay": "10s"}) as server:
        async with asyncio.timeout(40), TcpProxy(server.url) as proxy:
            database = Database(url=f"{proxy.url}?connect_timeout=2", patience=patience)
            store = PostgresStore(database, tmp_path)
            async with store.own():
                await store.run(audit.note, "first.one")
                proxy.cut = "held"
                lost = asyncio.ensure_future(store.run(audit.note, "second.one"))
                await proxy.was_cut.wait()
                proxy.silence()
                await asyncio.to_thread(server.restart, immediate=True)
                await asyncio.to_thread(spend_numbers, server.url)
                proxy.reset()
                proxy.speak()
                await lost
                rows = await store.read(lambda c: c.fetch("SELECT what FROM audit ORDER BY id"))
                assert [row["what"] for row in rows if "one" in row["what"]] == [
                    "first.one",
                    "second.one",
                ]


def spend_numbers(url: str) -> None:
    """Commit transactions with the numbers of those that were lost, and more."""
    with psycopg.connect(url, autocommit=True) as connection:
        for _ in range(300):
            connection.execute("SELECT pg_current_xact_id()")


OWNER = """
import asyncio, sys
from pathlib import Path
from gateway.store.postgres.database import Database, Patience
from gateway.store.postgres.store import PostgresStore

async def own(url, folder):
    store = PostgresStore(Database(url=url, patience=Patience(idle=1.0)), Path(folder))
    async with store.own():
        def hold(connection):
            connection.lock("thread")
            connection.fetch("SELECT 1")
            print("holds", flush=True)
            sys.stdin.read()
        await store.write(hold)

asyncio.run(own(*sys.argv[1:]))
"""


async def test_a_frozen_owner_holds_no_locks_and_a_killed_one_makes_room_at_once(
    url: str, tmp_path: Path
) -> None:
    store = PostgresStore(
        Database(url=url, patience=Patience(lock=10.0, owner=0.2)), tmp_path / "new"
    )
    command = [sys.executable, "-c", OWNER, url, str(tmp_path / "old")]
    old = await asyncio.create_subprocess_exec(
        *command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        async with asyncio.timeout(20):
            assert old.stdout is not None
            assert await old.stdout.readline() == b"holds\n"
            old.send_signal(signal.SIGSTOP)
            with pytest.raises(StoreInUse, match=f"process {old.pid} on "):
                async with store.own(alone=True):
                    pass
            await lock(url, "thread")
    finally:
        old.kill()
        await old.wait()
    began = monotonic()
    async with store.own():
        assert monotonic() - began < 2
        await store.run(audit.note, "a.b")


async def lock(url: str, name: str) -> None:
    """Wait until nobody else has the lock."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as other:
        await other.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", [name])


@pytest.fixture
def small_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file system of its own, for a server of its own."""
    place = Path(tempfile.mkdtemp(prefix="parley-disk-"))
    place.chmod(0o755)  # the server is another user's
    mount = ["mount", "-t", "tmpfs", "-o", "size=250m,mode=755", "tmpfs", str(place)]
    try:
        if os.getuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("only root may mount a small disk")
        monkeypatch.setenv(VARIABLE, str(place))
        yield place
        subprocess.run(["umount", str(place)], check=True)
    finally:
        place.rmdir()


async def test_a_full_disk_is_said_and_nothing_is_taken_until_there_is_space(
    small_disk: Path, tmp_path: Path
) -> None:
    with PostgresServer() as server:
        store = PostgresStore(
            Database(url=server.url, patience=HASTY, failover=1.2), tmp_path / "store"
        )

        def big(connection: Any) -> None:
            note(at(connection, 1.0), "a.b", object=os.urandom(50_000).hex())

        async with store.own():
            await store.write(big)
            fill = small_disk / "fill"
            with fill.open("wb") as file, suppress(OSError):
                while True:
                    file.write(bytes(65_536))
                    file.flush()
            taken, refused = 0, list[GatewayError]()
            while not refused:
                try:
                    await store.write(big)
                    taken += 1
                except GatewayError as error:
                    refused.append(error)
            assert isinstance(refused[0], StoreFull), refused
            with pytest.raises(GatewayError):
                await store.write(big)
            fill.unlink()
            await insist(lambda: store.write(big))
            rows = await store.read(lambda c: c.fetch("SELECT COUNT(*) AS n FROM audit"))
            assert rows[0]["n"] == taken + 2
