"""Runs in pieces: stopped at an item in every way, and continued.

A scenario builds a team with scripted models whose answers depend on the request alone.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from teams import BaseGroupChat
from teams._run.run import NextCall
from teams.agents import AssistantAgent, UserProxyAgent
from teams.base import InputRequired, TaskResult, ToolCall, run_hooks
from teams.core import CancellationToken
from teams.messages import ModelClientStreamingChunkEvent
from teams.tools import ToolResult
from tests.fakes.scripted_model import Answer, ScriptedModel

Way = Literal["state", "snapshot", "deltas", "stay", "drop"]
Seen = tuple[str, str, Any]
WAYS: list[Way] = ["state", "snapshot", "deltas", "stay", "drop"]


class Models:
    """The scripted models of a team, by agent."""

    def __init__(self) -> None:
        self.of: dict[str, ScriptedModel] = {}

    def agent(self, name: str, *answers: Answer, **options: Any) -> AssistantAgent:
        self.of[name] = model = ScriptedModel(*answers, speaker=name)
        return AssistantAgent(name, model, system_message=f"You are {name}.", **options)

    def requests(self) -> dict[str, list[dict[str, Any]]]:
        return {name: model.requests for name, model in self.of.items()}


Build = Callable[[Models], BaseGroupChat]


def seen(item: Any) -> Seen:
    dumped = item.dump()
    content = dumped["content"] if "content" in dumped else dumped["result"]
    return type(item).__name__, item.source, json.dumps(normal(content), default=str)


UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")


def normal(data: Any) -> Any:
    """The same data with times blanked and ids numbered as they come."""
    names: dict[str, str] = {}
    text = TIME.sub("<time>", json.dumps(data))
    return json.loads(UUID.sub(lambda m: names.setdefault(m[0], f"id{len(names)}"), text))


def settled(items: Sequence[Any]) -> list[Seen]:
    """The messages without chunks, which come again after a repeated request."""
    return [seen(i) for i in items if not isinstance(i, ModelClientStreamingChunkEvent)]


@dataclass
class Run:
    """A run in parts: its items, each model's requests, and its end."""

    items: list[Any]
    requests: dict[str, list[dict[str, Any]]]
    result: TaskResult | None = None
    state: Any = None


class Later:
    """Humans who answer the second time.

    Tools called risky need their approval.
    """

    def __init__(self) -> None:
        self._asked: set[str] = set()

    async def ask(self, prompt: str, cancellation_token: CancellationToken | None) -> str:
        self._wait(UserProxyAgent.InputRequestContext.request_id(), prompt)
        return "answer"

    async def intercept(self, call: ToolCall, proceed: NextCall) -> ToolResult:
        if call.name == "risky":
            self._wait(call.key, "May I?")
        return await proceed(call)

    def _wait(self, request: str, prompt: str) -> None:
        if request not in self._asked:
            self._asked.add(request)
            raise InputRequired(prompt)


async def uninterrupted(build: Build) -> Run:
    models = Models()
    team = build(models)
    run = Run([], models.requests())
    task: str | None = "go"
    later = Later()
    with run_hooks(ask=later.ask, intercept=later.intercept):
        while run.result is None or run.result.pending:
            async for item in team.run_stream(task=task):
                if isinstance(item, TaskResult):
                    run.result = item
                else:
                    run.items.append(item)
            task = None
    run.state = normal(await team.save_state())
    return run


class Interrupted:
    """Takes a run in pieces: some items, a break, then more.

    After the break another team, or the same one, continues.
    """

    def __init__(self, build: Build) -> None:
        self._build = build
        self._models = Models()
        self._team = build(self._models)
        self._task: str | None = "go"
        self._later = Later()
        self.run = Run([], {})

    async def take(self, count: int, way: Way) -> None:
        """Take so many items, then leave."""
        with run_hooks(ask=self._later.ask, intercept=self._later.intercept):
            while count > 0 and self.run.result is None:
                count = await self._take(count, way)

    async def _take(self, count: int, way: Way) -> int:
        """Take one run until it ends, waits, or is left.

        Returns the number of items still to be taken.
        """
        parts: list[bytes] = []
        state = ""
        stream = self._team.run_stream(task=self._task)
        self._task = None
        async for item in stream:
            if isinstance(item, TaskResult):
                if not item.pending:
                    await self._end(item)
                return count
            self.run.items.append(item)
            if way == "deltas":
                save = self._team.save_delta if parts else self._team.save_snapshot
                parts.append(await save())
            count -= 1
            if count == 0:
                state = json.dumps(await self._team.save_state())
                if way == "snapshot":
                    parts.append(await self._team.save_snapshot())
                break
        if way == "drop":
            return 0  # no aclose: as after a plain `break`
        await stream.aclose()
        if way != "stay":
            await self._move(json.loads(state), parts)
        return 0

    async def _move(self, state: Any, parts: list[bytes]) -> None:
        self._collect()
        self._models = Models()
        self._team = self._build(self._models)
        if parts:
            await self._team.load_snapshot(parts)
        else:
            await self._team.load_state(state)
        assert json.loads(json.dumps(await self._team.save_state())) == state

    async def _end(self, result: TaskResult) -> None:
        self._collect()
        self.run.result = result
        self.run.state = normal(await self._team.save_state())

    def _collect(self) -> None:
        """Collect the models' requests.

        A request that was broken off is made again, and counts once.
        """
        for name, sent in self._models.requests().items():
            known = self.run.requests.setdefault(name, [])
            for request in sent:
                if not known or known[-1] != request:
                    known.append(request)


def assert_same(run: Run, whole: Run) -> None:
    assert settled(run.items) == settled(whole.items)
    assert run.result is not None
    assert whole.result is not None
    assert run.result.stop_reason == whole.result.stop_reason
    assert run.requests == whole.requests
    assert run.state == whole.state


async def stop_at_every_item(build: Build, ways: Iterable[Way]) -> None:
    """Stop a run at each item: it goes on as if uninterrupted."""
    whole = await uninterrupted(build)
    for count, way in zip(range(1, len(whole.items) + 1), ways, strict=False):
        part = Interrupted(build)
        await part.take(count, way)
        await part.take(10_000, way)
        assert_same(part.run, whole)


async def build_snapshot(build: Build, parts: list[bytes]) -> bytes:
    """One snapshot in place of a snapshot and its deltas."""
    team = build(Models())
    await team.load_snapshot(parts)
    return await team.save_snapshot()
