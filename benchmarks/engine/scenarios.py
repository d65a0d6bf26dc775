"""The scenarios: what is prepared, and what is timed.

A scenario is made anew for each sample; `work` is timed and returns how many times the operation
that gives the figure was done. Nothing in here waits, so the time is the process's own: what else
the machine does disturbs it less.
"""

from __future__ import annotations

import asyncio
import gc
import json
import time
import tracemalloc
from typing import Any, ClassVar

from benchmarks.engine.api import Engine, some_text

HISTORIES: dict[tuple[type[Any], int], Any] = {}
"""States of long runs, which are expensive to make."""


class Scenario:
    """One scenario at one size."""

    title: ClassVar[str]
    per: ClassVar[str]
    sizes: ClassVar[tuple[int, ...]] = (0,)
    quick: ClassVar[tuple[int, ...]] = (0,)
    seconds: ClassVar[float] = 8.0
    """About how long the sides together are measured for at one size."""
    loose: ClassVar[bool] = False
    """The engines word their prompts differently: only letters and digits have to be equal."""

    def __init__(self, engine: Engine, size: int) -> None:
        self.engine = engine
        self.size = size
        self.team: Any = None

    def make(self) -> Any:
        """A new team of the scenario."""
        raise NotImplementedError

    async def prepare(self) -> None:
        """Get ready; not timed."""
        self.team = self.make()

    async def work(self) -> int:
        """Do it; timed."""
        await self.engine.run(self.team, "Begin.")
        return 1

    async def measure(self) -> dict[str, float]:
        """One sample: seconds of CPU per operation, or other figures by name."""
        await self.prepare()
        gc.collect()
        start = time.process_time()
        count = await self.work()
        return {"": (time.process_time() - start) / count}


class Construct(Scenario):
    """Three agents, a team, a condition."""

    title, per = "construct a team of three agents", "team"

    def make(self) -> Any:
        e = self.engine
        model = self.model
        agents = [e.assistant(name, model) for name in ("a", "b", "c")]
        return e.RoundRobinGroupChat(agents, termination_condition=e.MaxMessageTermination(20))

    async def prepare(self) -> None:
        self.model = self.engine.model()
        self.team = self.make()

    async def work(self) -> int:
        for _ in range(50):
            self.make()
        return 50


class Turns(Scenario):
    """A round robin of two, after so many messages."""

    title, per = "turn, round robin of two, model that does nothing", "turn"
    sizes = (20, 200, 1000, 5000)
    quick = (20, 1000)
    turns = 20

    def models(self) -> list[Any]:
        return [self.engine.model(), self.engine.model()]

    def make(self, turns: int | None = None) -> Any:
        e = self.engine
        agents = [e.assistant(f"a{n}", model) for n, model in enumerate(self.models())]
        return e.RoundRobinGroupChat(agents, max_turns=turns or self.turns)

    async def prepare(self) -> None:
        self.team = self.make()
        await self.team.load_state(await history(self, self.size))
        if self.engine.hooked:
            await self.engine.checkpoint(self.team)
        await self.engine.run(self.team)

    async def work(self) -> int:
        await self.engine.run(self.team)
        return self.turns


class ReplayTurns(Turns):
    """The same with the replay client, which both engines bring."""

    title = "turn, round robin of two, replay client"
    sizes = (20, 200, 1000, 5000)
    quick = (20,)

    def models(self) -> list[Any]:
        texts = [some_text(n) for n in range(2 * self.turns)]
        return [self.engine.replay(texts) for _ in range(2)]


class HandOffs(Scenario):
    """Two agents hand off in turn: model call, tool call, hand-off each."""

    title, per = "hand-off in a swarm", "hand-off"
    turns = 50

    def make(self) -> Any:
        e = self.engine
        agents = []
        for name, other in (("a", "b"), ("b", "a")):
            model = e.model(lambda n, other=other: [e.call(n, f"transfer_to_{other}")])
            agents.append(e.assistant(name, model, handoffs=[other]))
        return e.Swarm(agents, max_turns=self.turns)

    async def work(self) -> int:
        await self.engine.run(self.team, "Begin.")
        return self.turns


class ToolLoop(Scenario):
    """A turn with ten rounds of a model call and tool call."""

    title, per = "tool loop of ten rounds", "run"

    def make(self) -> Any:
        e = self.engine

        async def add(a: int, b: int) -> int:
            """Add two numbers."""
            return a + b

        model = e.model(lambda n: [e.call(n, "add", json.dumps({"a": n, "b": 1}))])
        agent = e.assistant("a", model, tools=[add], max_tool_iterations=10)
        return e.RoundRobinGroupChat([agent], max_turns=1)

    async def prepare(self) -> None:
        self.teams = [self.make() for _ in range(5)]
        self.team = self.teams[-1]

    async def work(self) -> int:
        for team in self.teams:
            await self.engine.run(team, "Begin.")
        return len(self.teams)


class Selector(Scenario):
    """A model chooses who speaks, of three."""

    title, per = "selector turn", "turn"
    turns = 20
    loose = True

    def make(self) -> Any:
        e = self.engine
        model = e.model()
        agents = [e.assistant(name, model, description="One.") for name in ("ann", "bob", "cid")]
        choice = e.model(lambda n: ("ann", "bob", "cid")[n % 3])
        return e.SelectorGroupChat(
            agents, choice, max_turns=self.turns, selector_prompt="{participants} {history}"
        )

    async def work(self) -> int:
        await self.engine.run(self.team, "Begin.")
        return self.turns


class FanOut(Scenario):
    """One agent, ten side by side, one that joins them."""

    title, per = "graph with a fan-out of ten", "run"

    def make(self) -> Any:
        e = self.engine
        first, last = e.assistant("first", e.model()), e.assistant("last", e.model())
        middle = [e.assistant(f"m{n}", e.model()) for n in range(10)]
        builder = e.DiGraphBuilder()
        for agent in (first, *middle, last):
            builder.add_node(agent)
        for agent in middle:
            builder.add_edge(first, agent)
            builder.add_edge(agent, last)
        return e.GraphFlow([first, *middle, last], builder.build())


class Nested(Scenario):
    """A team as a participant of a team."""

    title, per = "nested team, 2 x (2 inner turns + 1)", "run"

    def make(self) -> Any:
        e = self.engine
        inner = e.RoundRobinGroupChat(
            [e.assistant("x", e.model()), e.assistant("y", e.model())], max_turns=2, name="inner"
        )
        return e.RoundRobinGroupChat([inner, e.assistant("z", e.model())], max_turns=4)


class Chunks(Scenario):
    """An answer in 10,000 pieces."""

    title, per = "streaming, 10,000 chunks", "chunk"
    count = 10_000

    def make(self) -> Any:
        e = self.engine
        text = " ".join(["word"] * self.count)
        agent = e.assistant("a", e.model(lambda _: text), model_client_stream=True)
        return e.RoundRobinGroupChat([agent], max_turns=1)

    async def measure(self) -> dict[str, float]:
        await self.prepare()
        gc.collect()
        chunk, first = self.engine.ModelClientStreamingChunkEvent, 0.0
        saved = self.engine.BaseChatMessage
        start = time.process_time()
        async for item in self.team.run_stream(task="Begin."):
            if not first and isinstance(item, chunk):
                first = time.process_time() - start
            elif self.engine.hooked and isinstance(item, saved):
                await self.engine.checkpoint(self.team)
        return {"": (time.process_time() - start) / self.count, "to the first chunk": first}


class Memory(Scenario):
    """Memory in bytes of an idle team with so many messages."""

    title, per = "memory of an idle team of three", "team"
    sizes = (0, 20, 200)
    quick = (20,)

    def __init__(self, engine: Engine, size: int) -> None:
        super().__init__(engine, size)
        self.model = engine.model()

    def make(self) -> Any:
        e = self.engine
        agents = [e.assistant(name, self.model) for name in ("a", "b", "c")]
        return e.RoundRobinGroupChat(agents, max_turns=self.size or 1)

    async def work(self) -> int:
        if self.size:
            await self.engine.run(self.team, "Begin.")
        return 1

    async def measure(self) -> dict[str, float]:
        count = 10 if self.size > 20 else 40
        await self._one()  # what is made once is not counted
        gc.collect()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        teams = [await self._one() for _ in range(count)]
        gc.collect()
        held = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        return {"bytes": held / len(teams)}

    async def _one(self) -> Any:
        await self.prepare()
        await self.work()
        return self.team


class State(Scenario):
    """The documented state of a team of three."""

    title, per = "state of a team of three", "call"
    sizes = (20, 200, 2000)
    quick = (200,)

    def make(self, turns: int | None = None) -> Any:
        e = self.engine
        agents = [e.assistant(name, e.model()) for name in ("a", "b", "c")]
        return e.RoundRobinGroupChat(agents, max_turns=turns or 1)

    async def prepare(self) -> None:
        self.team = self.make(self.size)
        await self.engine.run(self.team, "Begin.")

    async def work(self) -> int:
        return 1

    async def measure(self) -> dict[str, float]:
        await self.prepare()
        gc.collect()
        first, state = await timed(self.team.save_state())
        again, state = await timed(self.team.save_state())
        fresh = self.make()
        load, _ = await timed(fresh.load_state(state))
        return {
            "save_state": first,
            "save_state again": again,
            "load_state": load,
            "bytes as JSON": float(len(json.dumps(state))),
        }


class CompactState(State):
    """Our own format: a whole team, or the additions of a turn."""

    title = "compact state of a team of three"

    async def measure(self) -> dict[str, float]:
        await self.prepare()
        gc.collect()
        save, snapshot = await timed(self.team.save_snapshot())
        # max_turns counts a run's turns: the next run is one more of them.
        self.team._max_turns = 1
        await self.team.run()
        delta, added = await timed(self.team.save_delta())
        load, _ = await timed(self.make().load_snapshot([snapshot, added]))
        return {
            "save_snapshot": save,
            "load_snapshot": load,
            "save_delta of one turn": delta,
            "snapshot, bytes": float(len(snapshot)),
            "delta, bytes": float(len(added)),
        }


class StatelessWorker(State):
    """A stateless worker: bytes in, a team, one turn, bytes out."""

    title, per = "stateless worker: load, one turn, save", "turn"
    sizes = (20, 200, 2000)

    async def prepare(self) -> None:
        self.team = self.make(self.size)
        await self.engine.run(self.team, "Begin.")
        self.bytes = await self.engine.saved(self.team)

    async def work(self) -> int:
        self.team = self.make()
        await self.engine.loaded(self.team, self.bytes)
        await self.engine.run(self.team, "More.")
        if self.engine.ours:
            await self.team.save_delta()
        else:
            await self.engine.saved(self.team)
        return 1

    async def measure(self) -> dict[str, float]:
        return await Scenario.measure(self)


class Together(Scenario):
    """A hundred teams at once, ten turns each."""

    title, per = "100 teams at once", "turn"
    count, turns = 100, 10

    def make(self) -> Any:
        e = self.engine
        agents = [e.assistant(name, e.model()) for name in ("a", "b")]
        return e.RoundRobinGroupChat(agents, max_turns=self.turns)

    async def prepare(self) -> None:
        self.teams = [self.make() for _ in range(self.count)]
        self.team = self.teams[-1]

    async def work(self) -> int:
        if self.engine.recorder is not None:
            await self.engine.run(self.team, "Begin.")
        else:
            await asyncio.gather(*(self.engine.run(team, "Begin.") for team in self.teams))
        return self.count * self.turns


async def history(scenario: Turns, size: int) -> Any:
    """The state of the scenario's team after so many messages."""
    key = (type(scenario.make()), size)
    if key not in HISTORIES:
        engine, recorder = scenario.engine, scenario.engine.recorder
        engine.recorder = None  # this is not what is compared
        team = Turns(engine, size).make(size - 1)
        await team.run(task="Begin.")
        engine.recorder = recorder
        HISTORIES[key] = await team.save_state()
    return HISTORIES[key]


async def timed(awaitable: Any) -> tuple[float, Any]:
    """Seconds of CPU it took, and its result."""
    start = time.process_time()
    result = await awaitable
    return time.process_time() - start, result


SCENARIOS: dict[str, type[Scenario]] = {
    kind.__name__: kind
    for kind in (
        Construct, Turns, ReplayTurns, HandOffs, ToolLoop, Selector, FanOut, Nested, Chunks,
        Memory, State, CompactState, StatelessWorker, Together,
    )
}  # fmt: skip
