"""A changed config in a running gateway: checked whole, switched at once."""

import asyncio
import json
import logging
import os
import signal
from pathlib import Path

import pytest

from gateway.app.audit import audit_lines
from gateway.app.config_diff import changes
from gateway.app.load import LoadedConfig, load_config
from gateway.app.operator import reload
from gateway.app.servable import ServeError
from gateway.app.serve import open_service, until_signal
from gateway.base.exit_codes import ExitCode
from gateway.config.problems import ConfigError
from gateway.config.root import Config
from gateway.control.socket_client import SocketClient
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.errors import GatewayClosed, GatewayError
from gateway.events import MessageFinished, Notice
from gateway.sessions.live_team import GOES_ON
from tests.fakes.new_store import new_store
from tests.fakes.scripted_platform import Platform, installed
from tests.gateway.scripted import ends, of, opened, solo, turn, until

pytestmark = pytest.mark.usefixtures("fresh_imports")

PARTS = """
import asyncio
from teams.models.replay import ReplayChatCompletionClient as Replies

CLOSED = []
CALLED, DOOR = asyncio.Event(), asyncio.Event()
INFO = {"vision": False, "function_calling": True, "json_output": True, "family": "unknown",
        "structured_output": True}


class Model(Replies):
    def __init__(self, word):
        super().__init__([word] * 9, INFO)
        self.word = word

    async def close(self):
        CLOSED.append(self.word)


class Held(Model):
    async def create(self, messages, **more):
        CALLED.set()
        await DOOR.wait()
        return await super().create(messages, **more)

    async def create_stream(self, messages, **more):
        yield await self.create(messages)


def old(**settings):
    return Model("old")


def new(**settings):
    return Model("new")


def held(**settings):
    return Held("held")
"""
CONFIG = """
store = {{ folder = "store" }}
health = {{ port = 0 }}
[models.m]
provider = "parts:{model}"
[teams.solo]
type = "round_robin"
max_turns = 1
description = "{about}"
agents.one = {{}}
[adapters.scripted]
bot_token = "x"
[[routes]]
adapter = "scripted"
channels = "C1"
users = "{users}"
"""
ANN = Author(id="scripted:T1:ann", name="Ann")
KEY = ConversationKey(platform="scripted", channel="C1", root="1")


def write(folder: Path, *, model: str = "old", about: str = "", users: str = "members") -> None:
    (folder / "config.toml").write_text(CONFIG.format(model=model, about=about, users=users))


@pytest.fixture
def platform():
    with installed(Platform()) as platform:
        yield platform


@pytest.fixture
def folder(tmp_path, platform):
    (tmp_path / "parts.py").write_text(PARTS)
    write(tmp_path)
    return tmp_path


class Heard(logging.Handler):
    """Waits for lines of the log."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: asyncio.Queue[str] = asyncio.Queue()

    def emit(self, record):
        self._lines.put_nowait(record.getMessage())

    async def line(self, beginning: str) -> None:
        while not (await self._lines.get()).startswith(beginning):
            pass


def load(folder: Path) -> LoadedConfig:
    return load_config(folder / "config.toml")


def said(text: str) -> InboundMessage:
    return InboundMessage(key=KEY, author=ANN, text=text)


async def test_the_next_turn_has_the_new_team_and_the_next_message_the_new_rules(folder):
    async with open_service(load(folder), new_store(folder / "store")) as (gateway, _, read_anew):
        thread = (await gateway.accept(said("hello"))).thread
        assert of(MessageFinished, await until(gateway, thread, ends))[0].text == "old"
        write(folder, model="new", about="Better", users="ben")
        text = await read_anew(dry_run=False)
        assert text.splitlines() == [
            '~ models.m.provider = "parts:old" -> "parts:new"',
            '~ routes[0].users = ["members"] -> ["ben"]',
            '~ teams.solo.description = "" -> "Better"',
            "threads whose team goes on: 1",
        ]
        [noted] = [
            json.loads(line)
            async for line in audit_lines(gateway.store)
            if "config.reloaded" in line
        ]
        assert noted["actor"] == "local:operator"
        assert noted["outcome"].split(", ") == [
            *("models.m.provider", "routes[0].users", "teams.solo.description"),
        ]
        assert (await gateway.accept(said("hello?"))).outcome == "refused"
        events = await turn(gateway, thread, "and you?")
        assert [notice.text for notice in of(Notice, events)] == [GOES_ON]
        assert of(MessageFinished, events)[0].text == "new"
        import parts  # pyright: ignore[reportMissingImports]

        assert parts.CLOSED == ["old"]


async def test_a_turn_that_runs_ends_with_the_team_it_has(folder):
    write(folder, model="held")
    async with open_service(load(folder), new_store(folder / "store")) as (gateway, _, read_anew):
        import parts  # pyright: ignore[reportMissingImports]

        thread = (await gateway.accept(said("hello"))).thread
        await parts.CALLED.wait()
        write(folder, model="new")
        await read_anew(dry_run=False)
        assert "held" not in parts.CLOSED
        parts.DOOR.set()
        assert of(MessageFinished, await until(gateway, thread, ends))[0].text == "held"
        assert of(MessageFinished, await turn(gateway, thread, "now?"))[0].text == "new"
        assert "held" in parts.CLOSED


async def test_a_service_that_watches_its_config_says_so(folder):
    store = new_store(folder / "store")
    async with open_service(load(folder), store, watch=True) as (gateway, _, read_anew):
        assert (await SocketClient.connect(folder / "store")).watches
        write(folder, model="new")
        assert '-> "parts:new"' in await read_anew(dry_run=False)  # it may still be told to
        thread = (await gateway.accept(said("hello"))).thread
        assert of(MessageFinished, await until(gateway, thread, ends))[0].text == "new"


async def test_a_changed_module_is_imported_anew_unless_the_config_is_refused(folder):
    async with open_service(load(folder), new_store(folder / "store")) as (gateway, _, read_anew):
        (folder / "parts.py").write_text(PARTS.replace('"old"', '"own"'))
        assert "did not change" in await read_anew(dry_run=True)
        write(folder, users="nobody here")
        thread = (await gateway.client.create_thread()).id
        assert of(MessageFinished, await turn(gateway, thread, "hi"))[0].text == "old"
        await read_anew(dry_run=False)
        assert of(MessageFinished, await turn(gateway, thread, "hi"))[0].text == "own"


async def test_a_dry_run_changes_nothing(folder):
    async with open_service(load(folder), new_store(folder / "store")) as (gateway, _, read_anew):
        assert "The settings did not change." in await read_anew(dry_run=True)
        write(folder, model="new")
        remote = new_store(folder / "store")
        text = await reload(remote, dry_run=True)
        assert text.splitlines()[-1] == "This was a dry run: no setting has changed."
        assert '-> "parts:new"' in text
        thread = (await gateway.client.create_thread()).id
        assert of(MessageFinished, await turn(gateway, thread, "hi"))[0].text == "old"
        lines = [line async for line in audit_lines(gateway.store)]
        assert not any("config.reloaded" in line for line in lines)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ("colour = 1\n", ConfigError),
        ("[teams.solo]\n", ConfigError),
        ("[adapters.other]\n", ConfigError),
        (None, ServeError),
    ],
    ids=["setting", "toml", "platform", "nothing to serve"],
)
async def test_a_config_that_can_not_be_used_leaves_the_last_good_one(folder, wrong, error):
    async with open_service(load(folder), new_store(folder / "store")) as (gateway, _, read_anew):
        good = (folder / "config.toml").read_text()
        (folder / "config.toml").write_text(
            good + wrong if wrong else good[: good.index("[adapters")]
        )
        with pytest.raises(error):
            await read_anew(dry_run=False)
        thread = (await gateway.accept(said("hi"))).thread
        assert of(MessageFinished, await until(gateway, thread, ends))[0].text == "old"


async def test_a_process_that_reads_its_config_once_says_so(tmp_path):
    async with opened(tmp_path, lambda: solo("one")):
        remote = await SocketClient.connect(tmp_path)
        with pytest.raises(GatewayError, match="only at its start"):
            await remote.reload(dry_run=False)
    with pytest.raises(GatewayClosed):
        await reload(new_store(tmp_path), dry_run=False)


def test_secrets_are_compared_and_never_shown():
    def config(key: str) -> Config:
        return Config.model_validate(
            {"models": {"m": {"provider": "openai", "model": "x", "api_key": key}}}
        )

    assert changes(config("a"), config("a")) == []
    assert changes(config("a"), config("b")) == ["~ models.m.api_key = (secret) -> (secret)"]


def test_what_waits_for_the_next_start_says_so():
    new = Config.model_validate({"logging": {"level": "debug"}, "store": {"retention_days": 9}})
    assert changes(Config(), new) == [
        '~ logging.level = "info" -> "debug"  (at the next start)',
        "~ store.retention_days = 90 -> 9",
    ]


async def test_sighup_reads_the_config_anew_and_goes_on_serving(
    folder, platform, monkeypatch, caplog
):
    heard = Heard()
    caplog.set_level(logging.INFO, "gateway")
    monkeypatch.setattr(logging.getLogger("gateway"), "handlers", [heard])

    async def script(gateway):
        write(folder, model="new")
        os.kill(os.getpid(), signal.SIGHUP)
        await heard.line("the config was reloaded")
        (folder / "config.toml").write_text("colour = 1")
        os.kill(os.getpid(), signal.SIGHUP)
        await heard.line("the config was not reloaded, the last good one stays")
        os.kill(os.getpid(), signal.SIGTERM)

    platform.script = script
    assert await until_signal(load(folder)) == ExitCode.DONE


@pytest.mark.chaos  # it waits for the watch's own looks, two seconds for each change
async def test_a_watching_service_takes_changes_by_itself_and_keeps_the_last_good_one(
    folder, monkeypatch, caplog
):
    heard = Heard()
    caplog.set_level(logging.INFO, "gateway")
    monkeypatch.setattr(logging.getLogger("gateway"), "handlers", [heard])
    store = new_store(folder / "store")
    async with open_service(load(folder), store, watch=True) as (gateway, _, _):
        thread = (await gateway.accept(said("hello"))).thread
        assert of(MessageFinished, await until(gateway, thread, ends))[0].text == "old"
        write(folder, model="new")
        await heard.line("config.toml changed: models.m.provider; taken from the next turn on.")
        assert of(MessageFinished, await turn(gateway, thread, "now?"))[0].text == "new"
        (folder / "parts.py").write_text(PARTS.replace('"new"', '"newer"'))
        await heard.line("parts.py changed; taken from the next turn on.")
        assert of(MessageFinished, await turn(gateway, thread, "now?"))[0].text == "newer"
        (folder / "config.toml").write_text("colour = 1")
        await heard.line("config.toml changed and can't be used; the last good version stays")
        assert of(MessageFinished, await turn(gateway, thread, "now?"))[0].text == "newer"
