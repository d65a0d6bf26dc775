"""Helpers of the guide's pages: a run's story, here and elsewhere.

`watch` follows a stream to its end, `said` puts a request to the model into plain lines, and
`goes_on_alike` runs the next task three times: with the runner at hand, with a fresh one that
loaded its saved state, and with one in another process.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol, cast

from teams.base import Response, TaskResult
from teams.messages import BaseChatMessage, HandoffMessage, ModelClientStreamingChunkEvent
from teams.models import ChatCompletionClient, ModelInfo
from teams.models.openai import OpenAIChatCompletionClient
from tests.fakes.openai_script import Answer, Request, content_text
from tests.fakes.openai_server import FakeOpenAI

ROOT = Path(__file__).parents[2]

Trace = list[tuple[str, ...]]


class Runner(Protocol):
    """A team or an agent."""

    def run_stream(self, *, task: Any = None) -> AsyncGenerator[Any, None]: ...

    async def save_state(self) -> Mapping[str, Any]: ...

    async def load_state(self, state: Mapping[str, Any]) -> None: ...


Build = Callable[[ChatCompletionClient], Any]


@dataclass(frozen=True, slots=True)
class Watched:
    """A run that was followed to its end."""

    items: list[Any]
    """The items of the stream before its result."""

    result: Any
    """The TaskResult (or, of `on_messages_stream`, the Response) at the end."""

    @property
    def trace(self) -> Trace:
        """Type and source of each item, and of a hand-off its target."""
        return [_entry(item) for item in self.items]

    @property
    def texts(self) -> list[str]:
        """Each item as text, without streamed chunks."""
        return [item.to_text() for item in self.items if not _is_chunk(item)]

    @property
    def stop_reason(self) -> str | None:
        return self.result.stop_reason

    @property
    def answer(self) -> str:
        """The text of the last message."""
        return self.result.messages[-1].to_text()


def _entry(item: Any) -> tuple[str, ...]:
    if isinstance(item, HandoffMessage):
        return (item.type, item.source, item.target)
    return (item.type, item.source)


def _is_chunk(item: Any) -> bool:
    return isinstance(item, ModelClientStreamingChunkEvent)


def calls_tools(source: str, then: str = "ToolCallSummaryMessage") -> Trace:
    """The trace of an agent that calls tools, then says this."""
    return [("ToolCallRequestEvent", source), ("ToolCallExecutionEvent", source), (then, source)]


def hands_off(source: str, target: str) -> Trace:
    """The trace of an agent that hands off to another one."""
    return [
        ("ToolCallRequestEvent", source),
        ("ToolCallExecutionEvent", source),
        ("HandoffMessage", source, target),
    ]


async def watch(stream: AsyncGenerator[Any, None]) -> Watched:
    """Follow a stream to its end.

    The result comes last, and has every item but the chunks.
    """
    items = [item async for item in stream]
    result = items.pop()
    match result:
        case TaskResult():
            kept = [item for item in items if not _is_chunk(item)]
            assert [item.id for item in result.messages] == [item.id for item in kept]
        case Response():
            kept = [item.id for item in items if not _is_chunk(item)]
            assert [item.id for item in result.inner_messages or ()] == kept
        case _:
            raise AssertionError(f"The stream ended with {result!r}.")
    return Watched(items, result)


# Requests


def said(request: Request) -> list[str]:
    """The messages of a request, a line each.

    Lines read `user[critic]: ...`, `assistant calls add({...})`.
    """
    return [line for message in request.messages for line in _lines(message)]


def _lines(message: Mapping[str, Any]) -> list[str]:
    name = f"[{message['name']}]" if "name" in message else ""
    lines: list[str] = []
    if message["content"] is not None:
        images = " +image" * sum(
            part["type"] == "image_url" for part in message["content"] if isinstance(part, dict)
        )
        lines.append(f"{message['role']}{name}: {content_text(message)}{images}")
    for call in message.get("tool_calls", ()):
        function = call["function"]
        lines.append(f"{message['role']} calls {function['name']}({function['arguments']})")
    return lines


def conversations(server: FakeOpenAI) -> list[list[str]]:
    """All requests so far, as `said`; none was refused."""
    assert [request.refused for request in server.requests if request.refused] == []
    return [said(request) for request in server.requests]


# The same elsewhere


@asynccontextmanager
async def connected(
    url: str, model: str = "gpt-4o", **options: Any
) -> AsyncGenerator[OpenAIChatCompletionClient]:
    """A client of the scripted server at `url`."""
    client = OpenAIChatCompletionClient(model=model, api_key="sk-guide", base_url=url, **options)
    try:
        yield client
    finally:
        await client.close()


def some_model(*, family: str = "unknown", **abilities: bool) -> ModelInfo:
    """A model's abilities: everything but vision, unless said otherwise."""
    able: Any = {
        "vision": False,
        "function_calling": True,
        "json_output": True,
        "structured_output": True,
        **abilities,
    }
    return cast("ModelInfo", {"family": family, **able})


async def goes_on_alike(
    runner: Runner,
    build: Build,
    server: FakeOpenAI,
    *answers: Answer,
    task: str | BaseChatMessage | Sequence[BaseChatMessage] | None = None,
    side_by_side: bool = False,
) -> Watched:
    """Run the next task, and assert that restored runners do alike.

    The runners are fresh, with the same state, and one of them is in another process.

    `build(model)` makes a fresh one; to be found there it stands at the top of its module.
    `answers` are the model's in this task. Alike are the items, the result, and every request to
    the model; where agents speak `side_by_side`, in whatever order.
    """
    state = json.dumps(await runner.save_state())
    begin = len(server.requests)

    def asked() -> Any:
        nonlocal begin
        bodies = [request.body for request in server.requests[begin:]]
        begin = len(server.requests)
        return in_any_order(bodies) if side_by_side else bodies

    def story_of(told: dict[str, Any]) -> Any:
        return in_any_order(told) if side_by_side else told

    server.script(*answers)
    watched = await watch(runner.run_stream(task=task))
    requests, story = asked(), story_of(tell(watched))

    async with connected(server.url) as model:
        fresh: Runner = build(model)
        await fresh.load_state(json.loads(state))
        server.script(*answers)
        assert story_of(tell(await watch(fresh.run_stream(task=task)))) == story
        assert asked() == requests

    server.script(*answers)
    assert story_of(await other_process().tell(build, server.url, state, task)) == story
    assert asked() == requests
    return watched


def in_any_order(value: Any) -> Any:
    """The value with every list in it sorted."""
    if isinstance(value, dict):
        return {key: in_any_order(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return sorted(map(in_any_order, value), key=lambda entry: json.dumps(entry, sort_keys=True))
    return value


def tell(watched: Watched) -> dict[str, Any]:
    """A run without what differs from run to run: ids and times."""
    return {
        "trace": [list(entry) for entry in watched.trace],
        "texts": watched.texts,
        "stop_reason": watched.stop_reason,
    }


class OtherProcess:
    """A separate Python process that continues saved runs: see `elsewhere`."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.guide.elsewhere"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            text=True,
        )

    async def tell(self, build: Build, url: str, state: str, task: Any) -> dict[str, Any]:
        """Run the next task there, with the runner that `build` makes."""
        messages = [task] if isinstance(task, BaseChatMessage) else task
        order = {
            "build": f"{build.__module__}:{getattr(build, '__qualname__', '')}",
            "url": url,
            "state": state,
            "task": messages
            if isinstance(messages, str | None)
            else [message.dump() for message in messages],
        }
        told = json.loads(await asyncio.to_thread(self._exchange, json.dumps(order)))
        assert "error" not in told, told["error"]
        return told

    def _exchange(self, order: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{order}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()

    def stop(self) -> None:
        """End it."""
        with self._process:
            self._process.kill()


@cache
def other_process() -> OtherProcess:
    """One process for all tests of this run.

    Each test builds a runner of its own in it.
    """
    return OtherProcess()
