"""Few imports before a process is connected, none on its loop later."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import ssl
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from adapters.discord.testing import DiscordSimulator
from adapters.slack.testing import SlackSimulator
from teams._base.bounded.clients import tls
from teams.bounded import load_http
from tests.adapters.discord.serving import bot_texts
from tests.fakes.openai_script import Reply
from tests.fakes.openai_server import FakeOpenAI

ROOT = Path(__file__).parents[3]
UNUSED = {
    *("cryptography", "genai_prices", "httpcore", "httpcore2", "httpx", "httpx2", "openai"),
    *("psycopg", "re2", "textual", "tiktoken"),
}
"""Packages that a plain config doesn't need, or only a turn."""
CONFIG = """
health = {{ port = 0 }}
store = {{ folder = "store" }}

[models.m]
model = "gpt-4o"
base_url = "{url}"
api_key = "sk-good"

[teams.t]
type = "round_robin"
max_turns = 1
[teams.t.agents.a]
type = "assistant"

[[routes]]
adapter = "{name}"
dm = true
users = "members"
{route}

[adapters.{name}]
{table}
"""


@asynccontextmanager
async def serving(
    folder: Path, model: FakeOpenAI, name: str, table: dict[str, str], route: str = ""
) -> AsyncGenerator[list[str]]:
    """A connected process; in the end, packages that its loop imported late."""
    lines = "\n".join(f'{key} = "{value}"' for key, value in table.items())
    (folder / "config.toml").write_text(
        CONFIG.format(url=model.url, name=name, table=lines, route=route)
    )
    command = [sys.executable, "-m", "tests.gateway.journeys.imports_child", folder / "config.toml"]
    child = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    assert child.stdout is not None
    late: list[str] = []
    try:
        assert await child.stdout.readline() == b"connected\n"
        assert not UNUSED & {*json.loads(await child.stdout.readline())}
        yield late
    finally:
        child.send_signal(signal.SIGTERM)
        said, _ = await child.communicate()
    late += sorted({each.partition(".")[0] for each in json.loads(said)} - {"encodings"})


@pytest.mark.chaos
@pytest.mark.timeout(60)
async def test_the_loop_imports_nothing_after_slack_is_connected(tmp_path: Path) -> None:
    async with FakeOpenAI(Reply(text="fine")) as model, SlackSimulator(rates=False) as slack:
        table = {
            "bot_token": slack.bot_token,
            "app_token": slack.app_token,
            "api_url": slack.api_url,
        }
        async with serving(tmp_path, model, "slack", table) as late:
            ann = slack.person("ann")
            asked = await ann.uploads(ann.direct, "a.txt", b"hello", text="read it")
            await slack.until(lambda: slack.messages(ann.direct, asked)[1:], within=20)
    assert late == []


@pytest.mark.chaos
@pytest.mark.timeout(60)
async def test_the_loop_imports_nothing_after_discord_is_connected(tmp_path: Path) -> None:
    async with FakeOpenAI(Reply(text="fine")) as model, DiscordSimulator() as discord:
        table = {
            "token": discord.token,
            "api_url": discord.api_url,
            "gateway_url": discord.gateway_url,
        }
        route = f'guild = "{discord.guild("ours").id}"'
        async with serving(tmp_path, model, "discord", table, route) as late:
            alice = discord.person("alice")
            await alice.says(alice.direct, "read it", files=[("a.txt", b"hello", "text/plain")])
            await discord.until(lambda: bot_texts(discord, alice.direct), seconds=20)
    assert late == []


IN_ORDER = """
import json, sys
from importlib import import_module

def tell(*found):
    print(json.dumps(found), flush=True)

import linecache
import gateway.config.root
tell(*[file for file in linecache.cache if "gateway" in file])
for each in ("gateway.app.serve", "gateway.app.check", "gateway.delivery.writer"):
    import_module(each)
tell(*[name for name in sys.modules if name.startswith("opentelemetry")])
from gateway.cli import main
main(["status"], standalone_mode=False)
tell(*[name for name in sys.modules if name.startswith(("psycopg", "procrast"))])
"""
"""A process that imports more and more, and tells what it has found before it goes on."""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """All that one process has found, in the order of its imports."""
    done = subprocess.run(
        [sys.executable, "-c", IN_ORDER],
        cwd=ROOT,
        env={"HOME": str(tmp_path_factory.mktemp("home")), "PATH": os.defpath},
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]


def test_the_config_is_imported_without_reading_its_source(told: list[list[str]]) -> None:
    assert told[0] == []


def test_without_the_table_opentelemetry_is_not_imported(told: list[list[str]]) -> None:
    assert told[1] == []


def test_with_a_file_nothing_of_postgresql_is_imported(told: list[list[str]]) -> None:
    assert told[2] == []


def test_no_request_waits_for_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    for each in (load_http, tls):  # as another test may have left them
        each.cache_clear()
    load_http("httpx")
    monkeypatch.setattr(httpx, "create_ssl_context", lambda: pytest.fail("made on the loop"))
    assert isinstance(tls("httpx"), ssl.SSLContext)
