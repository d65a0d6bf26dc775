"""`parley simulate` runs the teams on a local platform."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.adapter import AdapterHost
from gateway.base.exit_codes import ExitCode
from gateway.base.redaction import Redaction
from gateway.cli import main
from gateway.client import Receipt
from gateway.conversation import Author, ConversationKey, InboundMessage
from tests.fakes.scripted_platform import Platform, installed

CONFIG = """
[adapters.other]
token_env = "NOT_SET"

[[routes]]
adapter = "other"
users = ["U9"]
channels = ["C9"]
team = "demo"

[teams.demo]
type = "demo"

[teams.second]
type = "demo"
"""


class Place:
    """A simulation whose people say one thing per room, then leave."""

    def __init__(self) -> None:
        self.table = {"bot_token": "xoxb-worthless"}
        self.scope: dict[str, list[str]] = {}
        self.operators = ["scripted:W1:U1"]
        self.rooms: list[str] = []
        self.ports: list[int] = []
        self.receipts: list[Receipt] = []
        self.said = asyncio.Event()

    def room(self, name: str) -> str:
        self.rooms.append(name)
        return f"C{name}"

    async def script(self, gateway: AdapterHost) -> None:
        for room in self.rooms:
            key = ConversationKey(platform="scripted", workspace="W1", channel=f"C{room}", root="1")
            author = Author(id="scripted:W1:U1", name="Ann")
            message = InboundMessage(key=key, author=author, text="hello", dedupe=(room,))
            self.receipts.append(await gateway.accept(message))
        self.said.set()

    async def talk(self) -> None:
        if self.rooms:
            await self.said.wait()

    @asynccontextmanager
    async def simulate(self, port: int) -> AsyncGenerator["Place"]:
        self.ports.append(port)
        yield self


@pytest.fixture
def place() -> Place:
    return Place()


def parley(place: Place, *arguments: str):
    platform = Platform(place.script)
    with installed(platform, simulate=place.simulate):
        result = CliRunner().invoke(main, ["simulate", *arguments])
    return platform, result


def test_every_team_answers_in_a_room_of_its_own(place: Place, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(CONFIG)
    platform, result = parley(place, "scripted", "--config", str(config), "--port", "7")
    assert result.exit_code == ExitCode.DONE, result.output
    assert place.rooms == ["general", "second"]
    assert place.ports == [7]
    assert [each.outcome for each in place.receipts] == ["turn", "turn"]
    assert platform.configs[0].bot_token.get_secret_value() == "xoxb-worthless"


def test_without_a_config_the_demo_team_answers(place: Place) -> None:
    _, result = parley(place, "scripted")
    assert result.exit_code == ExitCode.DONE, result.output
    assert [each.outcome for each in place.receipts] == ["turn"]


def test_alone_it_says_how_to_connect(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    # In a process of its own, which has read no config.
    monkeypatch.setattr("gateway.base.redaction.REDACTION", Redaction())
    platform, result = parley(place, "scripted", "--alone")
    assert result.exit_code == ExitCode.DONE
    assert '[adapters.scripted]\nbot_token = "xoxb-worthless"\n' in result.output
    assert platform.connected == 0


@pytest.mark.parametrize("name", ["scriptd", "../x", "terminal"])
def test_what_has_no_simulator_is_refused(place: Place, name: str) -> None:
    _, result = parley(place, name)
    assert result.exit_code == ExitCode.USAGE
    assert f"there is no simulator of {name!r}" in result.output


def test_a_platform_that_is_not_served_any_more_ends_it(place: Place) -> None:
    place.said.clear()
    with installed(Platform(refuses=True), simulate=place.simulate):
        result = CliRunner().invoke(main, ["simulate", "scripted"])
    assert result.exit_code == ExitCode.FAILED
    assert "scripted is no longer served" in result.output
