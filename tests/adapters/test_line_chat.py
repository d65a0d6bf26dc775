"""The docs' example platform: found by its entry point, and its contract."""

import asyncio
import base64
import json
import math
import shutil
import socket
import struct
import sys
import time
import tomllib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from gateway.app.find_adapters import find_adapter
from gateway.app.load import load_config
from gateway.app.serve import open_service, run_adapters
from gateway.backfill import pauses
from gateway.backfill.pauses import ALIVE, CONNECTED
from gateway.conversation import ConversationKey
from gateway.gateway import Gateway
from gateway.pacing.pacer import Pacer
from gateway.store.units import adapters as adapter_units
from gateway.store.units import gaps
from gateway.store.units import gaps as gap_units
from gateway.surface import Line, Part, Place, PlatformUnreachable
from tests.contract.backfill import BackfillContract
from tests.contract.text_surface import TextSurfaceContract, VisibleMessage
from tests.fakes.hand_clock import HandClock
from tests.fakes.new_store import new_store
from tests.fakes.rooms import Everybody
from tests.gateway.scripted import ScriptedTeams, solo

Connection: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "line_chat"

CONFIG = """
health = { port = 0 }

[adapters.lines]
port = PORT
history = "HISTORY"

[[routes]]
adapter = "lines"
channels = "lobby"
users = "members"
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The example as an installer leaves it in a folder of modules."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    ((name, target),) = project["entry-points"]["parley.adapters"].items()
    info = tmp_path / "site" / "parley_line_chat-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[parley.adapters]\n{name} = {target}\n")
    shutil.copy(EXAMPLE / f"{target}.py", info.parent)
    monkeypatch.syspath_prepend(info.parent)
    yield
    sys.modules.pop(target, None)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class LineHarness:
    """A listening connection; a marker tells that earlier lines have arrived."""

    people = ("lines:ann", "lines:bob")

    def __init__(self, module) -> None:
        self.module = module
        self.surface = module.LineSurface(Pacer())
        key = ConversationKey(platform="lines", channel="lobby")
        self.place = Place(key=key, thread="t", asker=self.people[0])
        self._seen: list[VisibleMessage] = []
        self.writer: asyncio.StreamWriter

    async def connect(self) -> asyncio.Server:
        async def listen(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.surface.listeners[writer] = "lobby"
            self.writer = writer

        server = await asyncio.start_server(listen, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        self.reader, self.client = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
        while not self.surface.listeners:  # noqa: ASYNC110 (the server's doing)
            await asyncio.sleep(0.01)
        return server

    async def seen(self) -> list[VisibleMessage]:
        await self.module.send_line(self.writer, {"marker": 1})
        while "marker" not in (data := json.loads(await self.reader.readline())):
            self._seen.append(
                VisibleMessage(
                    id=data["id"],
                    text=data["text"],
                    pings=frozenset(data.get("pings", ())),
                    buttons=tuple(each["label"] for each in data.get("buttons", ())),
                    files=tuple(
                        (name, base64.b64decode(file)) for name, file in data.get("files", ())
                    ),
                )
            )
        return self._seen

    def break_down(self) -> None:
        self.surface.listeners.clear()

    def _cannot(self, *_: str):
        raise NotImplementedError

    limit_rate = lose_answer = archive = remove = busy = title = _cannot


@pytest.mark.usefixtures("installed")
class TestTheContract(TextSurfaceContract):
    @pytest.fixture
    async def harness(self) -> AsyncIterator[LineHarness]:
        harness = LineHarness(find_adapter("lines"))
        async with await harness.connect():
            yield harness
            harness.writer.close()
            harness.client.close()


class PausesHarness:
    """A process of the example, by a clock of its own."""

    def __init__(self, module, clock: HandClock, folder: Path) -> None:
        self.module, self.clock, self._folder = module, clock, folder
        self.file = folder / "lines.jsonl"
        self._gateway: Gateway | None = None
        self._store = new_store(folder)

    @asynccontextmanager
    async def process(self) -> AsyncGenerator[None]:
        self._store = new_store(self._folder)
        teams = ScriptedTeams(lambda: solo(*["fine"] * 30))
        adapter = self.module.build(self.module.Config(port=free_port(), history=self.file))
        async with (
            Gateway(self._store, teams, access=Everybody(), clock=self.clock.time) as self._gateway,
            asyncio.TaskGroup() as group,
        ):
            running = group.create_task(adapter.run(self._gateway), name="the example")
            await self._marked()
            yield
            running.cancel()
        self._gateway = None

    async def _marked(self) -> None:
        now = f"{self.clock.time():.3f}"
        while self._gateway and now != (await self._gateway.marks.read("lines")).get(CONNECTED):  # noqa: ASYNC110 (a store tells nobody)
            await asyncio.sleep(0.002)

    async def say(self, text: str) -> None:
        said = {"name": "ann", "room": f"room {text}", "text": text, "at": self.clock.time()}
        with self.file.open("a") as file:
            file.write(json.dumps(said) + "\n")
        self.clock.advance(1)

    async def pass_time(self, seconds: float) -> None:
        self.clock.advance(seconds)
        await self._marked()

    async def heard(self) -> list[str]:
        if self._gateway is None:
            return []
        return await self._store.write(
            lambda c: [row[0] for row in c.fetch("SELECT text FROM inbox ORDER BY id")]
        )

    async def cards(self) -> int:
        raise NotImplementedError

    async def unread(self) -> int:
        counts = await self._gateway.store.run(gap_units.missed_counts) if self._gateway else None
        return sum(counts.unread.values()) if counts else 0


@pytest.mark.usefixtures("installed")
class TestTheLawsOfPauses(BackfillContract):
    @pytest.fixture
    def harness(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PausesHarness:
        monkeypatch.setattr(pauses, "MARK_EVERY", 0.006)
        monkeypatch.setattr(pauses, "FROZEN", math.inf)  # minutes go by at once
        module, clock = find_adapter("lines"), HandClock()

        class TimedHistory(module.LineHistory):
            def __init__(self, file: Path) -> None:
                super().__init__(file)
                self.clock = clock

        monkeypatch.setattr(module, "LineHistory", TimedHistory)
        return PausesHarness(module, clock, tmp_path)


@asynccontextmanager
async def serving(folder: Path) -> AsyncGenerator[Callable[[], Awaitable[Connection]]]:
    """The example in a gateway. Yields the function that connects to it."""
    port, config = free_port(), folder / "config.toml"
    history = folder / "lines.jsonl"
    config.write_text(CONFIG.replace("PORT", str(port)).replace("HISTORY", str(history)))

    async def connect() -> Connection:
        while True:
            with suppress(ConnectionRefusedError):
                return await asyncio.open_connection("127.0.0.1", port)
            await asyncio.sleep(0.02)

    async with (
        open_service(load_config(config), new_store(folder / "store")) as (gateway, adapters, _),
        asyncio.TaskGroup() as group,
    ):
        running = group.create_task(run_adapters(gateway, adapters), name="runs the example")
        yield connect
        running.cancel()


@pytest.mark.usefixtures("installed")
async def test_what_was_written_while_the_server_was_away_is_answered(tmp_path: Path):
    store = new_store(tmp_path / "store")
    async with store.own():  # an earlier process was there
        await store.run(adapter_units.mark, "lines", ALIVE, f"{time.time() - 60:.3f}")
    missed = {"name": "ann", "room": "lobby", "text": "Anybody?", "at": time.time()}
    form = missed | {"press": "text:r1"}
    lines = [json.dumps(each) for each in (missed, form, "no object", {"name": "ann"})]
    (tmp_path / "lines.jsonl").write_text("".join(f"{line}\n" for line in lines))
    async with serving(tmp_path) as connect:
        reader, writer = await connect()
        writer.write(b'{"name": "bob", "room": "lobby", "text": "/help"}\n')
        while "front_desk" not in await read_text(reader):
            pass
        writer.close()
    async with store.own():
        assert (await store.run(gaps.missed_counts)).found == {"answer": 1}


async def read_text(reader: asyncio.StreamReader) -> str:
    return json.loads(await asyncio.wait_for(reader.readline(), 10))["text"]


@pytest.mark.chaos
@pytest.mark.usefixtures("installed")
async def test_a_person_on_a_line_is_answered(tmp_path: Path):
    async with serving(tmp_path) as connect:
        reader, writer = await connect()
        writer.write(b'{"name": "ann"}\n')
        assert "can't be read" in await read_text(reader)
        writer.write(b'{"name": "ann", "room": "lobby", "text": "Good morning"}\n')
        assert (await read_text(reader)).startswith("front_desk:")
        writer.close()


@pytest.mark.usefixtures("installed")
async def test_a_busy_room_is_written_to_at_its_pace():
    clock = HandClock()
    surface = find_adapter("lines").LineSurface(Pacer(clock=clock))
    places = [
        Place(key=ConversationKey(platform="lines", channel=room), thread="t", asker="lines:ann")
        for room in ("lobby", "attic")
    ]
    for _ in range(10):
        await surface.ready(places[0], "post")
    await surface.ready(places[1], "post")
    async with asyncio.TaskGroup() as group:
        next_one = group.create_task(surface.ready(places[0], "post"))
        await asyncio.sleep(0)
        assert not next_one.done()
        clock.advance(0.5)
    assert surface.limit("post") == "messages in a room"


@pytest.mark.usefixtures("installed")
async def test_an_unknown_button_is_refused(tmp_path: Path):
    async with serving(tmp_path) as connect:
        reader, writer = await connect()
        person = {"name": "ann", "room": "lobby"}
        for press in ("maybe:r1", "", ["approve"], None, "approve:", "missed:1", "feedback:p:1"):
            writer.write(json.dumps({**person, "press": press}).encode() + b"\n")
            assert "no button" in await read_text(reader)
        writer.close()


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("press", ["note:r1", "text:r1", "approve:r1", "choice:r1:0"])
async def test_a_button_of_no_request_opens_and_answers_nothing(tmp_path: Path, press: str):
    async with serving(tmp_path) as connect:
        reader, writer = await connect()
        for more in ({}, {"text": "because"}):
            line = {"name": "ann", "room": "lobby", "press": press, **more}
            writer.write(json.dumps(line).encode() + b"\n")
            assert await read_text(reader) == "There is no such request."
        writer.close()


@pytest.mark.usefixtures("installed")
async def test_a_line_that_is_too_long_ends_its_connection_in_words(tmp_path: Path, failures):
    async with serving(tmp_path) as connect:
        reader, writer = await connect()
        writer.write(b"x" * 70_000 + b"\n")
        assert "64 KiB" in await read_text(reader)
        with suppress(ConnectionError):
            assert not await asyncio.wait_for(reader.read(), 10)
        writer.close()
    assert not failures


@pytest.mark.usefixtures("installed")
async def test_a_reset_connection_ends_quietly(tmp_path: Path, failures):
    async with serving(tmp_path) as connect:
        reader, writer = await connect()
        writer.write(b"{}\n")
        assert "can't be read" in await read_text(reader)
        linger = struct.pack("ii", 1, 0)  # close() then resets the connection
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()
        reader, writer = await connect()
        writer.write(b"{}\n")
        assert "can't be read" in await read_text(reader)
        writer.close()
    assert not failures


@pytest.fixture
async def failures() -> list[dict[str, Any]]:
    """Errors that nobody handles."""
    found: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: found.append(context))
    return found


class Gone:
    """The writer of a connection that is lost."""

    def write(self, data: bytes) -> None: ...

    async def drain(self) -> None:
        raise ConnectionResetError


@pytest.mark.usefixtures("installed")
async def test_a_lost_listener_does_not_make_the_others_see_a_post_twice():
    harness = LineHarness(find_adapter("lines"))
    part = Part(key="p1", content=Line(text="Hello"))
    harness.surface.listeners[Gone()] = "lobby"
    with pytest.raises(PlatformUnreachable):
        await harness.surface.post(harness.place, part)
    harness.surface.listeners.clear()
    async with await harness.connect():
        harness.surface.listeners[Gone()] = "lobby"
        await harness.surface.post(harness.place, part)
        assert [each.text.strip() for each in await harness.seen()] == ["Hello"]
        harness.writer.close()
        harness.client.close()


def test_the_example_is_short():
    assert len((EXAMPLE / "line_chat.py").read_text().splitlines()) <= 258
