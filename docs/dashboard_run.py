"""A gateway under a mixed load with an incident, watched by Prometheus."""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from adapters.discord.testing.simulator import DiscordSimulator
from adapters.slack.simulator.clock import RealClock
from adapters.slack.testing.faults import TooManyRequests
from adapters.slack.testing.simulator import SlackSimulator
from tests.fakes.openai_script import Answer, Call, Fail, Reply, Request
from tests.fakes.openai_server import FakeOpenAI

ROOT = Path(__file__).resolve().parents[1]
PROMETHEUS, HEALTH = 19090, 18642
SCRAPE = 2
PHASES = {"calm": 70, "incident": 60, "away": 12, "again": 70}
"""Seconds of each phase: in the incident the main model fails, Slack asks to wait, and a tool
blocks the event loop; `parley serve` is away during the third.
"""
FAILS, ON_DISCORD = 0.8, 0.4
"""Shares of the main model's requests that fail in the incident, and of Discord's questions."""
CHANNELS = [f"team-{number}" for number in range(6)]
TOOLS = """
import asyncio, time

async def search(words: str) -> str:
    "Search."
    await asyncio.sleep(0.2)
    return "Found."

async def report(words: str) -> str:
    "Write a report, and block the event loop."
    time.sleep(0.7)
    return "Written."

async def refund(words: str) -> str:
    "Pay something back."
    return "Paid."
"""
CONFIG = """
store = {{ folder = "store" }}
health = {{ port = {health} }}
logging = {{ file = "parley.log" }}
limits = {{ person_turns = 100000, person_parallel_turns = 64 }}
models.main = {{ model = "gpt-4o", base_url = "{model}", api_key = "none", fallback = ["spare"] }}
models.spare = {{ model = "gpt-4o-mini", base_url = "{model}", api_key = "none" }}
prices."gpt-4o" = {{ input = 2.5, output = 10 }}
prices."gpt-4o-mini" = {{ input = 0.15, output = 0.6 }}
routes = [
    {{ adapter = "slack", channels = "*", users = "members" }},
    {{ adapter = "discord", guild = "{guild}", channels = "*", users = "members" }},
]
[adapters]
slack = {{ bot_token = "{bot}", app_token = "{app}", api_url = "{slack}" }}
discord = {{ token = "{token}", api_url = "{discord}", gateway_url = "{gateway}" }}
[teams.desk]
type = "round_robin"
max_turns = 1
[teams.desk.agents.helper]
tools = ["tools:search", "tools:report", "tools:refund"]
reflect_on_tool_use = true
model_client_stream = true
[policies.tools]
search = {{ action = "allow", output = "trusted" }}
report = {{ action = "allow", output = "trusted" }}
refund = {{ action = "ask", output = "trusted" }}
"""
SCRAPED = f"""
global: {{ scrape_interval: {SCRAPE}s }}
scrape_configs:
  - job_name: parley
    static_configs: [{{ targets: ["127.0.0.1:{HEALTH}"] }}]
"""


@dataclass
class Load:
    """People on both platforms, a model, and the incident."""

    slack: SlackSimulator
    discord: DiscordSimulator
    model: FakeOpenAI
    broken: bool = False
    chance: random.Random = field(default_factory=lambda: random.Random(7))

    def answer(self, request: Request) -> Answer:
        """The model's answer to a request."""
        main = request.body["model"] == "gpt-4o"
        if self.broken and main and self.chance.random() < FAILS:
            return Fail(status=503, headers={"x-should-retry": "false"})
        pause = self.chance.lognormvariate(-2.5, 0.8) * (1 if main else 3)
        wanted = request.last_user.rpartition(" ")[2]
        if request.last["role"] == "user" and wanted in ("search", "report", "refund"):
            return Reply(calls=[Call(name=wanted, arguments={"words": "x"})], usage=(900, 30))
        return Reply(text="This is an answer.", chunks=4, delay=pause, usage=(1200, 90))

    async def ask(self) -> None:
        """Write as people do, until cancelled."""
        alice, bob = self.slack.person("alice"), self.discord.person("bob")
        tools = ["search", "refund"] if not self.broken else ["search", "report"]
        while True:
            tool = self.chance.choices([*tools, "nothing"], (4, 1, 5))[0]
            channel = self.chance.choice(CHANNELS)
            await alice.asks(channel, f"please use {tool}")
            if self.chance.random() < ON_DISCORD:
                await bob.mentions(self.discord.channel(channel), f"please use {tool}")
            await asyncio.sleep(self.chance.expovariate(1 / 0.7))

    async def go(self, seconds: float) -> None:
        """Let people write for so long."""
        try:
            async with asyncio.timeout(seconds):
                await self.ask()
        except TimeoutError:
            return


@asynccontextmanager
async def running(*command: str, folder: Path) -> AsyncGenerator[None]:
    """A process for the length of the context."""
    with (folder / f"{Path(command[0]).name}.out").open("ab") as out:
        process = await asyncio.create_subprocess_exec(*command, cwd=folder, stdout=out, stderr=out)
    try:
        yield
    finally:
        process.terminate()
        await process.wait()


@asynccontextmanager
async def watched_run(folder: Path) -> AsyncGenerator[Sequence[float]]:
    """Times between the phases of a run, while Prometheus answers."""
    async with AsyncExitStack() as stack:
        slack = await stack.enter_async_context(SlackSimulator(clock=RealClock()))
        discord = await stack.enter_async_context(DiscordSimulator())
        models = ("gpt-4o", "gpt-4o-mini")
        model = await stack.enter_async_context(FakeOpenAI(models=models))
        load = Load(slack, discord, model)
        model.rule(load.answer)
        for name in CHANNELS:
            slack.add_channel(name)
        (folder / "tools.py").write_text(TOOLS)
        (folder / "config.toml").write_text(_config(load))
        (folder / "prometheus.yml").write_text(SCRAPED)
        given = ("--config.file=prometheus.yml", "--storage.tsdb.path=data")
        listen = f"--web.listen-address=127.0.0.1:{PROMETHEUS}"
        await stack.enter_async_context(running("prometheus", *given, listen, folder=folder))
        yield [time.time(), *[at async for at in _phases(load, folder)]]


async def _phases(load: Load, folder: Path) -> AsyncGenerator[float]:
    """Ends of the phases."""
    serve = (sys.executable, "-m", "gateway.cli", "serve", "--config", "config.toml")
    async with running(*serve, folder=folder):
        await load.go(PHASES["calm"])
        yield time.time()
        load.broken = True
        for method in ("chat.startStream", "chat.postMessage", "chat.appendStream"):
            load.slack.fail(method, TooManyRequests(4), skip=3, times=6)
        await load.go(PHASES["incident"])
        yield time.time()
    load.broken = False
    await load.go(PHASES["away"])
    yield time.time()
    async with running(*serve, folder=folder):
        await load.go(PHASES["again"])
        yield time.time()


def _config(load: Load) -> str:
    slack, discord = load.slack, load.discord
    return CONFIG.format(
        health=HEALTH,
        model=load.model.url,
        guild=discord.home.id,
        bot=slack.bot_token,
        app=slack.app_token,
        slack=slack.api_url,
        token=discord.token,
        discord=discord.api_url,
        gateway=discord.gateway_url,
    )
