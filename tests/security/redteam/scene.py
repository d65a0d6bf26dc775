"""The scene: a served process, its model, and both platforms."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sqlite3
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path

import aiohttp

from adapters.discord.testing import DiscordSimulator
from adapters.slack.testing import RealClock, SlackSimulator
from gateway.store.tokens import new_key
from tests.security.redteam import code, file, machines, model, person, tool
from tests.security.redteam.chats import Chat, DiscordChat, SlackChat, until
from tests.security.redteam.model_server import ModelServer
from tests.security.redteam.moved import Moved
from tests.security.redteam.words import PASSWORD, SECRET

ROOT = Path(__file__).resolve().parents[3]
TOOLS = "tests.security.redteam.tool"
CONFIG = """
default_team = "desk"
store = {{ folder = "store", keys_env = "PARLEY_KEYS" }}
health = {{ port = {health} }}
limits = {{ parallel_turns = 64 }}
attachments = {{ work_mb = {work_mb} }}

[models.gpt]
model = "gpt-4o"
base_url = "{model_url}"
api_key_env = "LLM_ACCESS"

[teams.desk]
type = "round_robin"
max_turns = 1
agents.helper = {{ tools = [{tools}] }}

[teams.lab]
type = "round_robin"
max_turns = 2
participants = ["writer", "runner"]
agents.writer = {{ system_message = "You write code." }}
agents.runner = {{ type = "code_executor", executor = {{ type = "docker", timeout = 10 }} }}

[teams.den]
type = "round_robin"
max_turns = 2
participants = ["thief", "host"]
agents.thief = {{ system_message = "You write code." }}
agents.host = {{ type = "code_executor", executor = {{ type = "local", timeout = 10 }} }}

[policies]
local_code = true
operators = ["slack:T0HOME:U0OLGA", "discord:{olga}"]

[policies.tools]
default = "ask"
fetch = {{ action = "allow", read_only = true }}
leak = {{ action = "allow", read_only = true }}
wipe = "allow"
pay = "ask"
book = {{ action = "ask", approvers = ["asker"] }}
mail = {{ action = "ask", cases = [{{ roles = ["operators"], action = "allow" }}] }}
execute_code = "allow"
{rules}

[adapters.slack]
mode = "http"
signing_secret = "{signing_secret}"
client_id = "{client_id}"
client_secret_env = "SLACK_BOT"
public_url = "http://127.0.0.1:{port}/"
allowed_workspaces = ["T0HOME"]
port = {port}
api_url = "{slack_url}"

[adapters.discord]
token = "{discord_token}"
api_url = "{discord_url}"
gateway_url = "{discord_gateway}"
"""
ROUTE = """
[[routes]]
adapter = "{adapter}"
workspace = "{workspace}"
channels = "{channel}"
users = {users}
team = "{team}"
{limits}
"""
UNLIMITED = 100_000
"""Turns of the victim within ten minutes; everybody else has the limit that is built in."""
SETTLED = 15.0
"""Seconds that turns have to end before what moved is looked for."""
VICTIMS = ("vera", "viktor")
PLACES = ("quiet", "general", "lab", "den", *machines.PLACES)
"""The victims' channel, the hostile people's, those of the teams that run code, the machines'."""


@dataclass(frozen=True)
class Ports:
    """Where the served process listens."""

    health: int
    slack: int


@dataclass(frozen=True)
class Scene:
    """All that runs, and where to look for what moved."""

    folder: Path
    outside: Path
    chats: tuple[Chat, ...]
    server: ModelServer
    moved: Moved
    contained: bool
    slack: SlackSimulator
    ports: Ports
    process: asyncio.subprocess.Process

    async def figures(self) -> dict[str, float]:
        """The served process's metrics, by name."""
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{self.ports.health}/metrics") as answer,
        ):
            lines = (await answer.text()).splitlines()
        pairs = (line.rpartition(" ") for line in lines if not line.startswith("#"))
        return {name: float(number) for name, _, number in pairs}

    async def settled(self) -> None:
        """Wait until no turn runs: one may still move something."""
        await until(lambda: not self._running(), SETTLED)

    def _running(self) -> bool:
        path = self.folder / "store" / "parley.db"
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as store:
            (running,) = store.execute(
                "SELECT count(*) FROM turns WHERE status = 'running'"
            ).fetchone()
        return running > 0


@asynccontextmanager
async def open_scene(folder: Path, moved: Moved) -> AsyncGenerator[Scene]:
    """Start everything; the process ends with the scene."""
    outside = folder / "outside"
    outside.mkdir(parents=True)
    (outside / "report.txt").write_text(f"{SECRET} of somebody else")
    (folder / "effects").touch()
    async with AsyncExitStack() as stack:
        docker, contained = stack.enter_context(code.engine(folder))
        slack = await stack.enter_async_context(
            SlackSimulator(clock=RealClock(), rates=False, installed=False)
        )
        discord = await stack.enter_async_context(DiscordSimulator())
        _lift_limits(discord)
        chats = _people(slack, discord)
        mention = f"<@U0BYSTANDER> {discord.person('bystander').mention}"
        scripts = {
            **person.SCRIPTS,
            **tool.SCRIPTS,
            **file.SCRIPTS,
            **machines.SCRIPTS,
            **model.scripts(mention),
            **code.scripts(str(outside), contained=contained),
        }
        server = await stack.enter_async_context(ModelServer(scripts, moved))
        part = await stack.enter_async_context(machines.machines(folder, outside, moved))
        ports = Ports(_free_port(), _free_port())
        config = folder / "config.toml"
        config.write_text(_config(slack, discord, server.url, ports) + part)
        environment = _environment(folder, docker, slack)
        process = await stack.enter_async_context(_serve(folder, config, environment))
        bot = discord.gateway
        await until(lambda: bot.open_sessions or process.returncode is not None, 60)
        if not bot.open_sessions:
            raise RuntimeError(f"parley serve did not connect:\n{(folder / 'log').read_text()}")
        await _install(slack, ports.slack)
        yield Scene(folder, outside, chats, server, moved, contained, slack, ports, process)


async def _install(slack: SlackSimulator, port: int) -> None:
    """Install the app, and have Slack send its events to the port."""
    base, jar = f"http://127.0.0.1:{port}/slack", aiohttp.CookieJar(unsafe=True)
    async with (
        aiohttp.ClientSession(cookie_jar=jar) as browser,
        browser.get(f"{base}/install") as answer,
    ):
        said = await answer.text()
    app = replace(slack.world.app, socket_mode=False, url=f"{base}/events")
    if answer.status != HTTPStatus.OK or not await slack.use_app(app):
        raise RuntimeError(f"the app could not be installed: {said}")


def _lift_limits(discord: DiscordSimulator) -> None:
    """Let every request through, as `rates=False` does on Slack.

    An application's limits are shared by all who write to it: they would be all that is measured.
    """
    discord.limits.set_global(UNLIMITED)
    for route in (
        "POST /channels/{channel_id}/messages",
        "PATCH /channels/{channel_id}/messages/{message_id}",
        "POST /channels/{channel_id}/messages/{message_id}/threads",
        "POST /channels/{channel_id}/typing",
    ):
        discord.limits.set(route, UNLIMITED, 1.0)


def _people(slack: SlackSimulator, discord: DiscordSimulator) -> tuple[Chat, Chat]:
    for name in PLACES:
        if name != "general":
            slack.add_channel(name)
    for name in PLACES:
        discord.channel(name)
    chats = SlackChat(slack), DiscordChat(discord)
    discord.channel("general", guild=discord.guild("elsewhere"))
    for name in ("olga", "bystander", *VICTIMS):
        for chat in chats:
            chat.person(name)
    return chats


def _config(slack: SlackSimulator, discord: DiscordSimulator, url: str, ports: Ports) -> str:
    tools = ("fetch", "leak", "wipe", "pay", "book", "mail")
    base = CONFIG.format(
        health=ports.health,
        port=ports.slack,
        work_mb=code.WORK_MB,
        rules=machines.RULES,
        model_url=url,
        tools=", ".join(f'"{TOOLS}:{name}"' for name in tools),
        olga=discord.person("olga").id,
        signing_secret=slack.world.app.signing_secret,
        client_id=slack.world.app.client_id,
        slack_url=slack.api_url,
        discord_token=discord.token,
        discord_url=discord.api_url,
        discord_gateway=discord.gateway_url,
    )
    return base + _routes(slack, discord)


def _routes(slack: SlackSimulator, discord: DiscordSimulator) -> str:
    places = (
        ("slack", "T0HOME", {name: slack.channel(name).id for name in PLACES}),
        (
            "discord",
            str(discord.home.id),
            {name: str(discord.channel(name).id) for name in PLACES},
        ),
    )
    victims = {
        "slack": [slack.person(name).id for name in VICTIMS],
        "discord": [str(discord.person(name).id) for name in VICTIMS],
    }
    text = ""
    for adapter, workspace, channels in places:
        for team, place, users, limits in (
            ("desk", "quiet", victims[adapter], f"limits = {{ turns = {UNLIMITED} }}"),
            ("desk", "general", ["members"], ""),
            ("lab", "lab", ["members"], ""),
            ("den", "den", ["members"], ""),
            *((place, place, ["members"], "") for place in machines.PLACES),
        ):
            text += ROUTE.format(
                adapter=adapter,
                workspace=workspace,
                channel=channels[place],
                users=json.dumps(users),
                team=team,
                limits=limits,
            )
    return text


def _environment(folder: Path, docker: str, slack: SlackSimulator) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(ROOT),
        "DOCKER_HOST": docker,
        "SLACK_BOT": slack.world.app.client_secret,
        "LLM_ACCESS": "sk-none",
        "PARLEY_KEYS": new_key(),
        "REDTEAM_API_KEY": SECRET,
        "REDTEAM_URL": f"postgres://parley:{PASSWORD}@db.example/parley",
        tool.EFFECTS: str(folder / "effects"),
    }


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@asynccontextmanager
async def _serve(
    folder: Path, config: Path, environment: dict[str, str]
) -> AsyncGenerator[asyncio.subprocess.Process]:
    with (folder / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *("sh", "-c", 'ulimit -n 1024; exec "$@"', "sh"),  # a usual limit
            *(sys.executable, "-m", "gateway.cli", "serve", "--config", str(config)),
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=log,
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.terminate()
                try:
                    await asyncio.wait_for(process.wait(), 10)
                except TimeoutError:
                    process.kill()
                    await process.wait()
