"""Requests of servers, in the midst of a call."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from teams.base import ToolCall, run_hooks
from teams.models import RateLimited
from teams.tools import ToolResult
from teams.tools.mcp import (
    ChatCompletionClientSampler,
    Elicitor,
    McpSessionHost,
    McpWorkbench,
    StaticRootsProvider,
    StdioServerParams,
)
from teams.tools.mcp._server_requests import MOST_ASKED, TOO_MANY, OpenCall, ServerRequests
from tests.fakes.scripted_model import ScriptedModel, says
from tests.teams.tools.mcp.asked_hosts import called, typed

pytestmark = pytest.mark.timeout(40)  # servers are started


class LimitedModel(ScriptedModel):
    """Notes the limits that it is asked with."""

    async def create(self, messages: Any, **given: Any) -> Any:
        self.limits = given["extra_create_args"]
        return await super().create(messages, **given)


async def test_a_model_answers_a_server_within_its_limits(asking: StdioServerParams) -> None:
    model = LimitedModel(says("a thought"))
    assert await called(McpWorkbench(asking, model_client=model), "think", text="Well?") == (
        "a thought (endTurn)",
        False,
    )
    sent = model.requests[0]["messages"]
    assert [(each["type"], each["content"]) for each in sent] == [
        ("SystemMessage", "Be brief."),
        ("UserMessage", "Well?"),
    ]
    assert model.limits == {"max_tokens": 50, "temperature": 0.5, "stop": ["END"]}


async def test_a_server_is_told_only_what_the_host_can_do(
    asking: StdioServerParams, tmp_path: Path
) -> None:
    assert await called(McpWorkbench(asking), "abilities") == ("", False)
    host = McpSessionHost(roots=StaticRootsProvider([tmp_path]))
    assert await called(McpWorkbench(asking, host=host), "abilities") == ("roots", False)
    elicitor, _ = typed()
    host = McpSessionHost(ChatCompletionClientSampler(ScriptedModel()), elicitor=elicitor)
    text, _ = await called(McpWorkbench(asking, host=host), "abilities")
    assert text == "elicitation, sampling"


async def test_a_failure_is_told_by_its_kind_alone(asking: StdioServerParams) -> None:
    model = ScriptedModel(RateLimited("key sk-123 has no more"))
    text, failed = await called(McpWorkbench(asking, model_client=model), "think")
    assert failed
    assert "RateLimited" in text
    assert "sk-123" not in text


@pytest.mark.parametrize("tool", ["think", "order", "where"])
async def test_a_call_may_ask_so_often_and_the_next_one_again(
    asking: StdioServerParams, tmp_path: Path, tool: str
) -> None:
    model = ScriptedModel(*(says("a thought") for _ in range(2 * MOST_ASKED)))
    elicitor, _ = typed(*("d" for _ in range(2 * MOST_ASKED)))
    roots = StaticRootsProvider([tmp_path])
    host = McpSessionHost(ChatCompletionClientSampler(model), roots, elicitor)
    async with McpWorkbench(asking, host=host) as bench:
        for _ in range(2):
            result = await bench.call_tool("flood", {"tool": tool})
            assert result.to_text() == f"{MOST_ASKED}: {TOO_MANY}"


async def test_requests_between_calls_are_counted_too(tmp_path: Path) -> None:
    host = McpSessionHost(roots=StaticRootsProvider([tmp_path]))
    requests = ServerRequests("shop", host)
    roots = requests.callbacks().roots
    assert roots is not None
    answers = [await roots(None) for _ in range(MOST_ASKED + 1)]
    assert [hasattr(each, "roots") for each in answers] == [*[True] * MOST_ASKED, False]
    with requests.open(OpenCall(1.0)):
        assert hasattr(await roots(None), "roots")


class SlowElicitor(Elicitor):
    """Takes its time."""

    def __init__(self, asking: asyncio.Event, answer: asyncio.Event) -> None:
        self.asking, self.answer = asking, answer
        self.cancelled = False

    async def elicit(self, params: Any) -> Any:
        self.asking.set()
        try:
            await self.answer.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        elicitor, _ = typed("d")
        return await elicitor.elicit(params)


async def test_the_time_of_people_is_not_the_servers(asking: StdioServerParams) -> None:
    elicitor = SlowElicitor(asyncio.Event(), asyncio.Event())
    quick = asking.model_copy(update={"read_timeout_seconds": 0.5})
    async with McpWorkbench(quick, host=McpSessionHost(elicitor=elicitor)) as bench:
        async with asyncio.TaskGroup() as group:
            ordering = group.create_task(bench.call_tool("order"))
            await elicitor.asking.wait()
            await asyncio.sleep(0.7)  # longer than an answer may take
            elicitor.answer.set()
        assert json.loads(ordering.result().to_text()) == {"action": "decline"}
        late = await bench.call_tool("wait")
    assert late.is_error
    assert "did not answer within 0.5 s" in late.to_text()


async def test_a_question_ends_with_its_call(asking: StdioServerParams) -> None:
    elicitor = SlowElicitor(asyncio.Event(), asyncio.Event())
    async with McpWorkbench(asking, host=McpSessionHost(elicitor=elicitor)) as bench:
        async with asyncio.TaskGroup() as group:
            ordering = group.create_task(bench.call_tool("order"))
            await elicitor.asking.wait()
            ordering.cancel()
        assert elicitor.cancelled


async def test_a_runs_policy_judges_requests_for_a_model(asking: StdioServerParams) -> None:
    model = ScriptedModel(says("a secret thought"))
    seen: list[ToolCall] = []

    async def intercept(call: ToolCall, proceed: Callable[..., Any]) -> ToolResult:
        seen.append(call)
        if len(seen) == 1:
            return ToolResult(name=call.name, result=[], is_error=True)
        result = await proceed(call)
        part = result.result[0].model_copy(update={"content": "a thought"})
        return result.model_copy(update={"result": [part]})

    async with McpWorkbench(asking, model_client=model, name="notes") as bench:
        with run_hooks(intercept=intercept):
            refused = await bench.call_tool("think", {"text": "Well?"})
            allowed = await bench.call_tool("think", {"text": "Well?"})
    assert refused.is_error
    assert allowed.to_text() == "a thought (endTurn)"
    assert [call.full_name for call in seen] == ["notes/sampling"] * 2
    assert json.loads(seen[0].arguments)["systemPrompt"] == "Be brief."
    assert seen[0].within
