"""A gateway under load that kills itself:

`python -m tests.chaos.load FOLDER POINT NTH [blind]`.

Several conversations write to teams with a nested team, parallel speakers and a team as a tool.
Each message arrives twice at the same time, from two sources. At the `NTH` time that `POINT` is
reached ("any" counts all points, "none" is never reached) the process is gone, as by kill -9. It
ends with exit code 0 once all messages are taken and nothing is left to do.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from gateway.access.authority import Access
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.delivery.service import delivering
from gateway.factory.ownership import holdings_of
from gateway.gateway import Gateway
from gateway.registry import BuiltTeam, ModelChoice, TeamInfo, ToolRule
from gateway.store.turn_records import Lease, StoredUpdate, TurnUpdate
from gateway.store.units import counts as count_units
from gateway.store.units import outbox
from gateway.values import NO_ORIGIN
from teams import DiGraphBuilder, GraphFlow, RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import Team, ToolCall
from teams.conditions import TextMessageTermination
from teams.models import CreateResult
from teams.tools import FunctionTool, TeamTool
from tests.chaos.history import HistoryEvent, Record
from tests.chaos.wall import BlindWall, Wall
from tests.fakes.scripted_model import ScriptedModel, calls, says
from tests.fakes.tested_store import ChangedStore

MESSAGES = 4
"""In each conversation."""
CONVERSATIONS = {f"{team}{n}": team for team in ("nested", "graph", "tool") for n in (1, 2)}
ANSWERS = {"nested": "closed {n}", "graph": "joined {n}", "tool": "reported {n}"}
"""Each team's last answer to message n."""

POINTS = [
    "after accept",
    "after a model answer",
    "before a tool",
    "in a tool",
    "after a tool",
    "before commit",
    "after commit",
    "before post",
    "after post",
    "before recording the post",
    "after edit",
]
PERSON = "chat:T:alice"


class Points:
    """Counts reached points, and ends the process at the chosen one."""

    def __init__(self, point: str, nth: int) -> None:
        self._point = point
        self._left = nth

    def reach(self, point: str) -> None:
        """Go on, or not."""
        if self._point in (point, "any"):
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


class Store(ChangedStore):
    """The real store, which dies around its commits."""

    points: Points

    async def around(self, name: str, args: tuple[Any, ...], go: Any) -> Any:
        if name == "put_part" and args[0].status == "delivered":
            self.points.reach("before recording the post")
        done = await go()
        if name == "accept":
            self.points.reach("after accept")
        return done

    async def record(self, lease: Lease, record: TurnUpdate) -> StoredUpdate:
        self.points.reach("before commit")
        recorded = await super().record(lease, record)
        self.points.reach("after commit")
        return recorded


class Model(ScriptedModel):
    """A model whose answers the process may not live to see."""

    def __init__(self, points: Points, agent: str, *answers: str | CreateResult) -> None:
        super().__init__(*answers, speaker=agent)
        self._points = points

    async def create(self, *arguments: Any, **options: Any) -> CreateResult:
        answer = await super().create(*arguments, **options)
        self._points.reach("after a model answer")
        return answer


class Teams:
    """The teams of the load; their tool calls are recorded."""

    default = "nested"
    origin = NO_ORIGIN

    def readers(self, team: str, *, model: str = "") -> tuple[str, ...]:
        return ()

    def __init__(self, points: Points, record: Record) -> None:
        self._points = points
        self._record = record

    def names(self) -> list[str]:
        return sorted(ANSWERS)

    def models(self) -> dict[str, str]:
        return {}

    def model_choices(self, team: str) -> tuple[ModelChoice, ...]:
        return ()

    def info(self, name: str, *, model: str = "") -> TeamInfo:
        return TeamInfo(name=name, description="", participants=(), models={}, definition="1")

    def rule(self, team: str, call: ToolCall, asker: Author) -> ToolRule:
        return ToolRule(action="allow", output="trusted")

    async def build(self, name: str, *, workdir: Path, model: str = "") -> BuiltTeam:
        team = self._make(name, workdir)
        return BuiltTeam(team=team, holds=holdings_of(team))

    def _make(self, name: str, workdir: Path) -> Team:
        match name:
            case "nested":
                return self._nested(workdir)
            case "graph":
                return self._graph(workdir)
            case _:
                return self._with_team_tool(workdir)

    def remembers_elsewhere(self) -> bool:
        return False

    async def forget(self, person: str) -> None: ...

    def explain(self, error: BaseException) -> str:
        return str(error)

    async def aclose(self) -> None: ...

    def _agent(self, name: str, *answers: str | CreateResult, tools: Any = ()) -> AssistantAgent:
        model = Model(self._points, name, *answers)
        return AssistantAgent(name, model, description=name, tools=tools, max_tool_iterations=3)

    def _worker(self, workdir: Path) -> AssistantAgent:
        answers: list[str | CreateResult] = []
        for n in range(1, MESSAGES + 1):
            answers += [calls(("mark", {"n": n})), says(f"worked {n}")]
        return self._agent("worker", *answers, tools=[self._mark(workdir)])

    def _mark(self, workdir: Path) -> FunctionTool:
        async def mark(n: int) -> str:
            self._points.reach("before a tool")
            self._record.add(HistoryEvent("begins", workdir.name, n))
            self._points.reach("in a tool")
            await asyncio.sleep(0)
            self._record.add(HistoryEvent("ends", workdir.name, n))
            self._points.reach("after a tool")
            return f"marked {n}"

        return FunctionTool(mark, description="leave a mark")

    def _nested(self, workdir: Path) -> Team:
        inner = RoundRobinGroupChat(
            [self._worker(workdir)],
            termination_condition=TextMessageTermination("worker"),
            name="inner",
        )
        closer = self._agent("closer", *[f"closed {n}" for n in range(1, MESSAGES + 1)])
        return RoundRobinGroupChat(
            [inner, closer], termination_condition=TextMessageTermination("closer")
        )

    def _graph(self, workdir: Path) -> Team:
        begin = self._agent("begin", *[f"begun {n}" for n in range(1, MESSAGES + 1)])
        other = self._agent("other", *[f"thought {n}" for n in range(1, MESSAGES + 1)])
        join = self._agent("join", *[f"joined {n}" for n in range(1, MESSAGES + 1)])
        worker = self._worker(workdir)
        builder = DiGraphBuilder()
        for node in (begin, worker, other, join):
            builder.add_node(node)
        for side in (worker, other):
            builder.add_edge(begin, side).add_edge(side, join)
        return GraphFlow(builder.get_participants(), builder.build())

    def _with_team_tool(self, workdir: Path) -> Team:
        crew = RoundRobinGroupChat(
            [self._worker(workdir)], termination_condition=TextMessageTermination("worker")
        )
        tool = TeamTool(crew, name="crew", description="does it", return_value_as_last_message=True)
        answers: list[str | CreateResult] = []
        for n in range(1, MESSAGES + 1):
            answers += [calls(("crew", {"task": f"task {n}"})), says(f"reported {n}")]
        chief = self._agent("chief", *answers, tools=[tool])
        return RoundRobinGroupChat([chief], termination_condition=TextMessageTermination("chief"))


def message(conversation: str, n: int, source: str) -> InboundMessage:
    """A message as one of the two sources hands it in."""
    key = ConversationKey(platform="chat", workspace="T", channel="C", root=conversation)
    name = f"{conversation}-{n}"
    return InboundMessage(
        key=key,
        author=Author(id=PERSON, name="Alice"),
        text=f"Please do {name}",
        message_id=name,
        order_key=f"{n:04}",
        team=CONVERSATIONS[conversation],
        dedupe=(key.dedupe("create", name), f"{source}/{name}"),
    )


async def converse(gateway: Gateway, record: Record, conversation: str) -> None:
    """Send all messages from both sources; taken ones are sent again."""
    for n in range(1, MESSAGES + 1):
        record.add(HistoryEvent("sent", conversation, n))
        async with asyncio.TaskGroup() as group:
            for source in ("socket", "http"):
                group.create_task(hand_in(gateway, record, message(conversation, n, source), n))


async def hand_in(gateway: Gateway, record: Record, inbound: InboundMessage, n: int) -> None:
    """Hand a message in, and tell that it was acknowledged."""
    await gateway.accept(inbound)
    record.add(HistoryEvent("acknowledged", inbound.key.root, n))


async def settled(gateway: Gateway) -> None:
    """Return once nothing waits, nothing runs, and all is told."""
    async with asyncio.timeout(60):
        while True:
            counts = await gateway.store.run(count_units.counts)
            busy = counts.inbox.get("queued") or set(counts.threads) & {"working", "waiting"}
            if not busy and not await gateway.store.run(outbox.undelivered_threads, "chat"):
                return
            await asyncio.sleep(0.02)


async def main(folder: Path, points: Points, wall: type[BlindWall]) -> None:
    record = Record(folder / "history")
    store = Store.of(folder / "store")
    store.points = points
    gateway = Gateway(store, Teams(points, record), access=Access([PERSON]))
    surface = wall(folder / "wall", points.reach)
    async with gateway, delivering(gateway.delivery, surface):
        async with asyncio.TaskGroup() as group:
            for conversation in CONVERSATIONS:
                group.create_task(converse(gateway, record, conversation))
        await settled(gateway)


if __name__ == "__main__":
    kind = BlindWall if "blind" in sys.argv[4:] else Wall
    asyncio.run(main(Path(sys.argv[1]), Points(sys.argv[2], int(sys.argv[3])), kind))
