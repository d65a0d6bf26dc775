"""A run: nodes, people, faults by the plan, then quiet, then judgement."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from adapters.discord.testing import DiscordSimulator
from adapters.slack.testing import SlackSimulator
from tests.chaos.campaign.clock import MovedClock
from tests.chaos.campaign.discord import DiscordPlatform
from tests.chaos.campaign.model import ModelServer
from tests.chaos.campaign.platform import Platform
from tests.chaos.campaign.slack import SlackPlatform
from tests.chaos.nodes.faults import Faults
from tests.chaos.nodes.judge import Observation, Verdict, judge, marked, numbers
from tests.chaos.nodes.node import Node
from tests.chaos.nodes.people import People
from tests.chaos.nodes.plan import Plan, plan_of
from tests.chaos.nodes.rows import Rows
from tests.chaos.nodes.watch import NotSeen, Watch
from tests.fakes.postgres_server import PostgresServer
from tests.fakes.tcp_proxy import TcpProxy

CONFIG = """
default_team = "desk"
health = {{ port = 0 }}

[store]
folder = "store"
url_env = "PARLEY_STORE_URL"
pool_size = 4
failover_seconds = 2

[limits]
parallel_turns = 32
person_parallel_turns = 32
person_turns = {turns}
shutdown_seconds = 1.0

[models.gpt]
model = "gpt-4o"
base_url = "{model}"
api_key = "sk-none"

[teams.desk]
type = "round_robin"
max_turns = 1

[teams.desk.agents.helper]
tools = ["tests.chaos.nodes.tools:note"]

[policies.tools]
default = "allow"
note = {{ action = "allow", output = "trusted" }}
{platforms}
"""
PAUSE = 0.1
"""Seconds between the pieces of an answer: a turn lasts about half a second."""
TALKS = {"slack": 1, "discord": 2}
"""Conversations in a channel, and as many with the bot alone. Slack takes an answer a second."""
RETRIES = (0.0, *[0.5] * 240)
"""Seconds until Slack delivers again what was not acknowledged."""


@dataclass(slots=True)
class Result:
    """The outcome of a run; `trace` has what was done, and when."""

    seed: int
    messages: int
    marked: int
    """Posts that say that they may be there twice."""
    fenced: int
    """Lines of logs about what came too late."""
    verdict: Verdict
    trace: list[str]
    seen: Observation
    seconds: float

    def summary(self) -> str:
        """The figures, in a line."""
        counts = [f"{len(said)} {kind}" for kind, said in self.verdict.violations().items()]
        return (
            f"seed {self.seed}: {self.messages} messages, {', '.join(counts)}, "
            f"{self.marked} marked, {self.fenced} refused late, {self.seconds:.1f} s"
        )

    def explain(self) -> str:
        """The violations, the trace, and the command."""
        found = [
            f"{kind}: {each}" for kind, said in self.verdict.violations().items() for each in said
        ]
        named = {int(n) for each in found for n in re.findall(r"\b\d+\b", each[:200])}
        places = {sent.place for n, sent in self.seen.sent.items() if n in named}
        shown = [f"{p.place}: {p.text!r}" for p in self.seen.posts if p.place in places]
        again = f"Again: python -m tests.chaos.nodes --seed {self.seed}"
        return "\n".join([*found, *shown, *self.trace, self.summary(), again])


@dataclass(slots=True)
class _Run:
    folder: Path
    nodes: Sequence[Node]
    people: People
    faults: Faults
    watch: Watch
    rows: Rows
    trace: list[str]
    begun: float

    async def begin(self, plan: Plan, platforms: Sequence[Platform]) -> None:
        """Start all nodes, until each platform can reach one."""
        for node, skew in zip(self.nodes, plan.skews, strict=True):
            node.clock.advance(skew)
            await node.start()
        await self.faults.all_serve()
        for each in platforms:
            await self.watch.until(lambda each=each: each.connected, f"{each.name}: no connection")
        self.note(f"all nodes serve, {plan.skews} s ahead")

    async def play(self, plan: Plan) -> None:
        """Meet all faults of the plan while people write."""
        for fault in plan.faults:
            enough = len(self.watch.answered) + fault.after
            await self.watch.until(
                lambda enough=enough: len(self.watch.answered) >= enough, f"no answers: {fault}"
            )
            self.note(str(fault))
            before = set(self.people.sent)
            await self.faults.meet(fault)
            self.note("all nodes serve")
            await self._answered(before)
        self.people.ending = True

    async def finish(self) -> None:
        """Wait until all is done, and end the nodes."""
        await self._answered(set(self.people.sent))
        await self.watch.until(lambda: not self.watch.left, "the store is not at rest")
        await asyncio.gather(*map(self.faults.end, self.nodes))
        self.note("all nodes have ended")

    async def _answered(self, wanted: set[int]) -> None:
        await self.watch.until(
            lambda: wanted <= self.watch.answered,
            lambda: f"{sorted(wanted - self.watch.answered)} are not answered",
        )
        self.note(f"{len(wanted)} messages are answered")

    def note(self, what: str) -> None:
        """Write down what was done."""
        passed = asyncio.get_running_loop().time() - self.begun
        self.trace.append(f"{passed:6.1f} s  {what}")

    def observation(self) -> Observation:
        """Everything that the judge looks at."""
        effects = (self.folder / "effects").read_text().splitlines()
        return Observation(
            sent=self.people.sent,
            posts=self.watch.posts(),
            inbox=self.rows.inbox() or [],
            effects=[n for line in effects for n in numbers(line)],
            finished=self.rows.finished(),
            rows=[*(self.rows.left() or []), *self.rows.faults()],
            nodes=self.faults.wrong,
        )


async def run_nodes(
    seed: int, folder: Path, server: PostgresServer, *, nodes: int = 3, long: bool = False
) -> Result:
    """Run a seed, in an empty folder and a new database."""
    begun = asyncio.get_running_loop().time()
    trace: list[str] = []
    (folder / "effects").touch()
    url = server.new_url()
    rows = Rows(url)
    async with _platforms() as platforms, ModelServer(PAUSE) as model, AsyncExitStack() as stack:
        config = partial(_config, model.url, platforms)
        made: list[Node] = []
        for number in range(nodes):
            proxy = await stack.enter_async_context(TcpProxy(url))
            made.append(Node(number, folder, proxy, config(0)))
            stack.push_async_callback(made[-1].kill)
        watch = Watch(platforms, rows)
        people, faults = People(watch, seed), Faults(made, server, watch, config)
        run = _Run(folder, made, people, faults, watch, rows, trace, begun)
        try:
            async with watch.running(), asyncio.TaskGroup() as group:
                plan = plan_of(seed, nodes, long=long)
                await run.begin(plan, platforms)
                talking = [
                    group.create_task(people.talk(each, TALKS[each.name])) for each in platforms
                ]
                await run.play(plan)
                await asyncio.gather(*talking)
                await run.finish()
        except* (NotSeen, TimeoutError) as errors:
            faults.wrong += [f"{type(e).__name__}: {e}" for e in _leaves(errors)]
            faults.wrong += [f"log of node {node.number}: {node.log_end()}" for node in made]
        seen = run.observation()
        verdict = judge(seen)
        if not verdict:
            (folder / "rows").write_text(rows.evidence())
            calls = [str(call) for each in platforms for call in each.calls()]
            (folder / "calls").write_text("\n".join(calls))
        rows.close()
        return Result(
            seed=seed,
            messages=len(people.sent),
            marked=marked(seen.posts),
            fenced=sum(node.fenced for node in made),
            verdict=verdict,
            trace=trace,
            seen=seen,
            seconds=asyncio.get_running_loop().time() - begun,
        )


def _leaves(errors: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    return [
        leaf
        for error in errors.exceptions
        for leaf in (_leaves(error) if isinstance(error, BaseExceptionGroup) else [error])
    ]


def _config(model: str, platforms: Sequence[Platform], reloads: int) -> str:
    """The config of all nodes, with another limit after each reload."""
    settings = "".join(each.settings for each in platforms)
    return CONFIG.format(model=model, platforms=settings, turns=100_000 + reloads)


@asynccontextmanager
async def _platforms() -> AsyncGenerator[Sequence[Platform]]:
    clock = MovedClock()
    async with SlackSimulator(clock=clock, rates=False) as slack, DiscordSimulator() as discord:
        slack.world.deliveries.retry_after = RETRIES
        yield SlackPlatform(slack, clock), DiscordPlatform(discord, clock)
