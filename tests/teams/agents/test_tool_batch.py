"""A call that had begun before a save never begins again.

Teams of every type make tool calls side by side, of lengths that a seed chooses. A run is stopped
at every item, saved, ended as by a kill, and taken up in a fresh team.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from teams import (
    BaseGroupChat,
    DiGraphBuilder,
    GraphFlow,
    MagenticOneGroupChat,
    RoundRobinGroupChat,
    SelectorGroupChat,
    Swarm,
)
from teams._run.run import NextCall
from teams.agents import AssistantAgent, CodeExecutorAgent, MessageFilterAgent, SocietyOfMindAgent
from teams.agents import MessageFilterConfig as Filter
from teams.base import InputRequired, TaskResult, ToolCall, run_hooks
from teams.code_executor import CodeBlock, CodeResult
from teams.conditions import TextMentionTermination
from teams.core import CancellationToken
from teams.messages import TextMessage, ToolCallExecutionEvent, ToolCallRequestEvent
from teams.models import FunctionExecutionResult
from teams.tools import (
    AgentTool,
    BaseStreamTool,
    FunctionTool,
    TeamTool,
    TextResultContent,
    ToolResult,
    ToolTraits,
)
from tests.fakes.interrupted_runs import Models
from tests.fakes.scripted_executor import ScriptedExecutor
from tests.fakes.scripted_model import Answer, ScriptedModel, calls
from tests.fakes.streams import texts
from tests.teams._group_chats.test_magentic_one import Orchestrator, ledger
from tests.teams.test_safe_points_inside import Answering, chooser

UNKNOWN = "The call was interrupted: it may or may not have happened. Check before you repeat it."
CODE = "code"
REPEATABLE = ToolTraits(idempotent=True)
Way = Literal["state", "deltas", "stay"]
Wanted = tuple[str, dict[str, Any]]


class World:
    """The effects of a team's calls, in all its lives."""

    def __init__(self) -> None:
        self.begun: Counter[str] = Counter()
        self.open: set[str] = set()
        self.repeatable: set[str] = set()

    async def pay(self, order: str, ticks: int) -> str:
        """Pay, which must not happen twice."""
        self.begin(order)
        for _ in range(ticks):
            await asyncio.sleep(0)
        return self.end(order)

    async def look(self, order: str, ticks: int) -> str:
        """Look, as often as you like."""
        self.repeatable.add(order)
        return await self.pay(order, ticks)

    def begin(self, order: str) -> None:
        self.begun[order] += 1
        self.open.add(order)

    def end(self, order: str) -> str:
        self.open.discard(order)
        return f"did {order}"

    def tools(self) -> list[Any]:
        return [self.pay, FunctionTool(self.look, traits=REPEATABLE), Tell(self)]


class Told(BaseModel):
    order: str
    ticks: int = 0


class Tell(BaseStreamTool[Told, TextMessage, Told]):
    """Says things while it pays."""

    def __init__(self, world: World) -> None:
        super().__init__(Told, Told, "tell", "Pay, and say so.")
        self._world = world

    async def run(self, args: Told, cancellation_token: CancellationToken) -> Told:
        return args

    async def run_stream(
        self, args: Told, cancellation_token: CancellationToken
    ) -> AsyncGenerator[Any, None]:
        self._world.begin(args.order)
        for number in range(args.ticks):
            await asyncio.sleep(0)
            yield TextMessage(content=f"{number}", source="teller")
        yield Told(order=self._world.end(args.order))

    def return_value_as_string(self, value: Any) -> str:
        return value.order


class Executor(ScriptedExecutor):
    """Executes code that takes its time."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    async def execute_code_blocks(
        self, code_blocks: list[CodeBlock], cancellation_token: CancellationToken
    ) -> CodeResult:
        order, ticks = code_blocks[0].code.split()
        return CodeResult(exit_code=0, output=await self._world.pay(order, int(ticks)))


class Plan:
    """The calls that a team's models want, by a seed."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.models = Models()
        self._random = Random(seed)
        self._orders = 0

    def wanted(self, tool: str = "") -> Wanted:
        self._orders += 1
        ticks = self._random.choice([1, 2, 3] if tool else [0, 1, 2, 3])
        tool = tool or self._random.choice(["pay", "pay", "look", "tell"])
        ticks *= 1 if tool == "tell" else 4
        return tool, {"order": f"{tool}{self._orders}", "ticks": ticks}

    def batch(self, *more: Wanted) -> Answer:
        """Calls side by side: one that speaks, one that pays, some others."""
        wanted = [self.wanted("tell"), self.wanted("pay"), *more]
        wanted += [self.wanted() for _ in range(self._random.choice([0, 1, 2]))]
        self._random.shuffle(wanted)
        return calls(*wanted)

    def agent(self, name: str, *answers: Answer, tools: Sequence[Any] = (), **options: Any):
        return self.models.agent(
            name, *answers, tools=[*self.world.tools(), *tools], max_tool_iterations=3, **options
        )

    def worker(self, name: str) -> AssistantAgent:
        return self.agent(name, self.batch(), self.batch(), f"{name} is done")


Build = Callable[[Plan], BaseGroupChat]


def round_robin(plan: Plan) -> BaseGroupChat:
    return RoundRobinGroupChat([plan.worker("one"), plan.worker("two")], max_turns=2)


def swarm(plan: Plan) -> BaseGroupChat:
    desk = plan.agent("desk", plan.batch(("transfer_to_clerk", {})), handoffs=["clerk"])
    clerk = plan.agent("clerk", plan.batch(), "END")
    return Swarm([desk, clerk], termination_condition=TextMentionTermination("END"))


def selector(plan: Plan) -> BaseGroupChat:
    return SelectorGroupChat(
        [plan.worker("ann"), plan.worker("bob")],
        chooser(plan.models, *("ann", "bob") * 9),
        max_turns=2,
    )


def graph(plan: Plan) -> BaseGroupChat:
    """Three nodes side by side; one of them runs code."""
    start = plan.models.agent("start", f"```python\n{CODE} {plan.wanted()[1]['ticks'] + 9}\n```")
    left, right = plan.worker("left"), plan.agent("right", plan.batch(), "x y z")
    coder = CodeExecutorAgent("coder", Executor(plan.world))
    nodes = [left, right, coder]
    builder = DiGraphBuilder().add_node(start)
    for node in nodes:
        builder.add_node(node).add_edge(start, node)
    return GraphFlow([start, *nodes], builder.build())


def magentic_one(plan: Plan) -> BaseGroupChat:
    asking = [ledger(speaker="one"), ledger(speaker="two"), ledger(done=True)]
    model = Orchestrator(*asking)
    return MagenticOneGroupChat([plan.worker("one"), plan.worker("two")], model)


def society(plan: Plan) -> BaseGroupChat:
    inner = RoundRobinGroupChat([plan.worker("one"), plan.worker("two")], max_turns=2)
    voice = Answering(lambda _: "in short")
    return RoundRobinGroupChat([SocietyOfMindAgent("mind", inner, voice)], max_turns=1)


def nested(plan: Plan) -> BaseGroupChat:
    inner = RoundRobinGroupChat([plan.worker("one")], name="inner", max_turns=1)
    narrow = MessageFilterAgent("narrow", plan.worker("narrow"), Filter(per_source=[]))
    return RoundRobinGroupChat([narrow, inner], max_turns=2)


def agent_tool(plan: Plan) -> BaseGroupChat:
    helper = plan.worker("helper")
    batch = plan.batch(("helper", {"task": "go"}))
    return RoundRobinGroupChat(
        [plan.agent("chief", batch, "fine", tools=[AgentTool(helper)])], max_turns=1
    )


def team_tool(plan: Plan) -> BaseGroupChat:
    desk = RoundRobinGroupChat([plan.worker("one"), plan.worker("two")], max_turns=2)
    batch = plan.batch(("desk", {"task": "go"}))
    tool = TeamTool(desk, "desk", "Works.")
    return RoundRobinGroupChat([plan.agent("chief", batch, "fine", tools=[tool])], max_turns=1)


BUILDS: list[Build] = [
    round_robin,
    swarm,
    selector,
    graph,
    magentic_one,
    society,
    nested,
    agent_tool,
    team_tool,
]


async def pass_on(call: ToolCall, proceed: NextCall) -> ToolResult:
    """An interceptor that makes each call another object."""
    return await proceed(replace(call))


class Probe:
    """A run that is killed after some items, and goes on."""

    def __init__(self, build: Build, seed: int) -> None:
        self._build = build
        self._seed = seed
        self._intercept = pass_on if seed % 2 else None
        self.world = World()
        self.items: list[Any] = []
        self.result: TaskResult | None = None
        self.open: set[str] = set()
        """Calls in flight when the run ended that must not begin again."""

    def team(self) -> BaseGroupChat:
        return self._build(Plan(self.world, self._seed))

    async def run(self, team: BaseGroupChat, task: str | None = None) -> None:
        with run_hooks(intercept=self._intercept):
            async for item in team.run_stream(task=task):
                if isinstance(item, TaskResult):
                    self.result = item
                else:
                    self.items.append(item)

    async def killed_after(self, count: int, way: Way) -> None:
        team, parts = self.team(), list[bytes]()
        with run_hooks(intercept=self._intercept):
            stream = team.run_stream(task="go")
            async for item in stream:
                self.items.append(item)
                if way == "deltas":
                    parts.append(await (team.save_delta() if parts else team.save_snapshot()))
                if len(self.items) == count:
                    break
            state = json.dumps(await team.save_state())
            await stream.aclose()
            self.open = self.world.open - self.world.repeatable
        if way != "stay":
            team = self.team()
            await (
                team.load_snapshot(parts) if way == "deltas" else team.load_state(json.loads(state))
            )
        await self.run(team)

    def outcomes(self) -> dict[str, FunctionExecutionResult]:
        """The result of each order, as the models were told."""
        asked: dict[str, list[str]] = {}
        outcomes: dict[str, FunctionExecutionResult] = {}
        for item in self.items:
            match item:
                case ToolCallRequestEvent(content=wanted):
                    orders = [json.loads(call.arguments).get("order", "") for call in wanted]
                    asked[item.source] = orders
                case ToolCallExecutionEvent(content=results):
                    for order, result in zip(asked[item.source], results, strict=True):
                        assert order not in outcomes or not order
                        outcomes[order] = result
                case _:
                    pass
        outcomes.pop("", None)  # hand-offs, agents and teams
        return outcomes

    def check(self) -> None:
        assert self.result is not None
        world, outcomes = self.world, self.outcomes()
        unknown = {order for order, result in outcomes.items() if result.content == UNKNOWN}
        twice = {order for order, times in world.begun.items() if times > 1}
        assert twice <= world.repeatable
        assert world.begun.keys() - {CODE} <= outcomes.keys() <= world.begun.keys() | unknown
        assert all(outcomes[order].is_error == (order in unknown) for order in outcomes)
        assert all(outcomes[order].content == f"did {order}" for order in outcomes.keys() - unknown)
        # A call may also be cut off before it does anything, or between its end and its result.
        assert self.open - {CODE} <= unknown
        # Code is no tool's call: its agent says what became of it.
        assert (CODE in self.open) <= any(UNKNOWN in item.to_text() for item in self.items)


async def probe(build: Build, seed: int, ways: Sequence[Way]) -> None:
    whole = Probe(build, seed)
    await whole.run(whole.team(), "go")
    whole.check()
    in_flight = 0
    for way in ways:
        for count in range(1, len(whole.items) + 1):
            part = Probe(build, seed)
            await part.killed_after(count, way)
            part.check()
            in_flight += bool(part.open)
    assert in_flight


SEEDS = [
    0,
    pytest.param(1, marks=pytest.mark.nightly),
    *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(2, 20)),
]
every_build = pytest.mark.parametrize("build", BUILDS, ids=lambda build: build.__name__)


@every_build
async def test_no_call_begins_twice_unless_it_is_idempotent(build: Build):
    await probe(build, 1, ["deltas"])


@pytest.mark.chaos
@pytest.mark.timeout(120)
@pytest.mark.parametrize("seed", SEEDS)
@every_build
async def test_no_call_begins_twice_unless_it_is_idempotent_by_any_seed(build: Build, seed: int):
    await probe(build, seed, ["state", "deltas", "stay"])


async def cut_off(world: World) -> BaseGroupChat:
    """A loaded team whose payments 1 and 2 were cut off."""

    def team() -> BaseGroupChat:
        wanted = calls(("tell", {"order": "1", "ticks": 1}), ("pay", {"order": "2", "ticks": 99}))
        payer = Models().agent("payer", wanted, tools=world.tools())
        return RoundRobinGroupChat([payer], max_turns=1)

    stream = (left := team()).run_stream(task="go")
    async for item in stream:
        if isinstance(item, TextMessage) and item.source == "teller":
            break
    state = json.dumps(await left.save_state())
    await stream.aclose()
    await (loaded := team()).load_state(json.loads(state))
    return loaded


async def results(team: BaseGroupChat) -> list[str]:
    async for item in team.run_stream():
        if isinstance(item, ToolCallExecutionEvent):
            return [result.content for result in item.content]
    raise AssertionError("no results")


async def test_an_interceptor_knows_a_begun_call_and_may_have_it_made_again():
    met: list[tuple[str, bool]] = []

    async def intercept(call: ToolCall, proceed: NextCall) -> ToolResult:
        met.append((call.name, call.begun))
        return await proceed(replace(call, idempotent=call.name == "pay"))

    team = await cut_off(world := World())
    with run_hooks(intercept=intercept):
        assert await results(team) == [UNKNOWN, "did 2"]
    assert met == [("tell", True), ("pay", True)]
    assert world.begun == {"1": 1, "2": 2}


async def test_an_interceptor_may_know_the_result_of_a_begun_call():
    async def intercept(call: ToolCall, proceed: NextCall) -> ToolResult:
        known = ToolResult(name=call.name, result=[TextResultContent(content="paid")])
        return known if call.begun else await proceed(call)

    team = await cut_off(world := World())
    with run_hooks(intercept=intercept):
        assert await results(team) == ["paid", "paid"]
    assert world.begun == {"1": 1, "2": 1}


def result(call: ToolCall, text: str, *, failed: bool = False) -> ToolResult:
    return ToolResult(name=call.name, result=[TextResultContent(content=text)], is_error=failed)


async def one() -> str:
    """One."""
    return "1"


def two(a: int = 2) -> str:
    """Two."""
    return str(a)


async def test_all_approvals_of_a_batch_are_asked_before_any_call_starts():
    log: list[str] = []
    asked, released = asyncio.Event(), asyncio.Event()

    async def approve(call: ToolCall, proceed: Any) -> ToolResult:
        log.append(f"ask {call.name}")
        if call.name == "last":
            asked.set()
            await released.wait()
            log.append("approve last")
        return await proceed(call)

    def tool(name: str) -> FunctionTool:
        async def run() -> str:
            log.append(f"run {name}")
            return name

        return FunctionTool(run, "", name=name)

    model = ScriptedModel(calls(("first", {}), ("second", {}), ("last", {})))
    agent = AssistantAgent("a", model, tools=[tool(name) for name in ("first", "second", "last")])

    async def release() -> None:
        await asked.wait()
        for _ in range(5):
            await asyncio.sleep(0)
        log.append("released")
        released.set()

    async with asyncio.TaskGroup() as group:
        group.create_task(release())
        with run_hooks(intercept=approve):
            await agent.run(task="hi")
    assert log[:5] == ["ask first", "ask second", "ask last", "released", "approve last"]
    assert sorted(log[5:]) == ["run first", "run last", "run second"]


@pytest.mark.parametrize("other", ["denies", "waits", "answers"])
async def test_a_call_that_is_not_made_does_not_hold_its_siblings(other: str):
    async def intercept(call: ToolCall, proceed: Any) -> ToolResult:
        if call.name == "two":
            await asyncio.sleep(0)
            if other == "waits":
                raise InputRequired("?")
            return result(call, "recorded", failed=other == "denies")
        return await proceed(call)

    model = ScriptedModel(calls(("one", {}), ("two", {})))
    agent = AssistantAgent("a", model, tools=[one, two])
    with run_hooks(intercept=intercept):
        done = await agent.run(task="hi")
    assert bool(done.pending) == (other == "waits")
    if other != "waits":
        assert texts(done)[-1] == "1\nrecorded"
