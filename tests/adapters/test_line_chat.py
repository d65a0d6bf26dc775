"""The docs' example platform: found by its entry point, and its contract."""

import asyncio
import base64
import json
import shutil
import socket
import sys
import tomllib
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gateway.app.find_adapters import find_adapter
from gateway.app.load import load_config
from gateway.app.serve import run_adapters, served
from gateway.conversation import ConversationKey
from gateway.store.sqlite.store import SqliteStore
from gateway.surface import Place
from tests.contract.text_surface import TextSurfaceContract, VisibleMessage

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "line_chat"

CONFIG = """
health = { port = 0 }

[adapters.lines]
port = PORT

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
        self.surface = module.LineSurface()
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
            file = data.get("file")
            self._seen.append(
                VisibleMessage(
                    id=data["id"],
                    text=data["text"],
                    pings=frozenset(data.get("pings", ())),
                    buttons=tuple(each["label"] for each in data.get("buttons", ())),
                    files=((file["name"], base64.b64decode(file["data"])),) if file else (),
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


@pytest.mark.usefixtures("installed")
async def test_a_person_on_a_line_is_answered(tmp_path: Path):
    port, config = free_port(), tmp_path / "config.toml"
    config.write_text(CONFIG.replace("PORT", str(port)))
    async with (
        served(load_config(config), SqliteStore(tmp_path / "store")) as (gateway, adapters, _),
        asyncio.TaskGroup() as group,
    ):
        running = group.create_task(run_adapters(gateway, adapters), name="runs the example")
        while True:
            with suppress(ConnectionError):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                break
            await asyncio.sleep(0.02)
        writer.write(b'{"name": "ann"}\n')
        assert "can't be read" in json.loads(await reader.readline())["text"]
        writer.write(b'{"name": "ann", "room": "lobby", "text": "Good morning"}\n')
        answer = json.loads(await reader.readline())["text"]
        assert answer.startswith("front_desk:")
        writer.close()
        running.cancel()


def test_the_example_is_short():
    assert len((EXAMPLE / "line_chat.py").read_text().splitlines()) < 200
