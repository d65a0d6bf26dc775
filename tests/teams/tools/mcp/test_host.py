"""Requests of servers, answered by a host of the client."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from teams.base import ToolCall, run_hooks
from teams.models import ModelInfo, RateLimited
from teams.models.replay import ReplayChatCompletionClient
from teams.tools import ToolResult, Workbench
from teams.tools.mcp import (
    ChatCompletionClientSampler,
    Elicitor,
    McpSessionHost,
    McpWorkbench,
    StaticRootsProvider,
    StdioElicitor,
    StdioServerParams,
    StreamElicitor,
    create_mcp_server_session,
)
from teams.tools.mcp._server_requests import MOST_ASKED, TOO_MANY, OpenCall, ServerRequests
from tests.fakes.scripted_model import ScriptedModel, says

pytestmark = pytest.mark.timeout(40)  # servers are started


class LimitedModel(ScriptedModel):
    """Notes the limits that it is asked with."""

    async def create(self, messages: Any, **given: Any) -> Any:
        self.limits = given["extra_create_args"]
        return await super().create(messages, **given)


async def called(bench: McpWorkbench, name: str, **arguments: Any) -> tuple[str, bool]:
    async with bench:
        result = await bench.call_tool(name, arguments)
    return result.to_text(), result.is_error


def typed(*lines: str) -> tuple[StreamElicitor, io.StringIO]:
    shown = io.StringIO()
    return StreamElicitor(io.StringIO("".join(f"{line}\n" for line in lines)), shown), shown


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


async def test_folders_are_named(asking: StdioServerParams, tmp_path: Path) -> None:
    roots = StaticRootsProvider([tmp_path, {"uri": "file:///srv", "name": "srv"}])
    bench = McpWorkbench(asking, host=McpSessionHost(roots=roots))
    assert await called(bench, "where") == (f"{tmp_path.as_uri()}, file:///srv", False)


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


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        (
            ["a", "size M", "[]", '{"size": "M", "number": 2}'],
            {"action": "accept", "content": {"size": "M", "number": 2}},
        ),
        (
            ["a", r'{"size": "M\ud83d", "number": 2}'],
            {"action": "accept", "content": {"size": "M\ufffd", "number": 2}},
        ),
        (["Decline"], {"action": "decline"}),
        (["whatever"], {"action": "cancel"}),
        ([], {"action": "cancel"}),
    ],
)
async def test_somebody_answers_by_lines(
    asking: StdioServerParams, lines: list[str], answer: Mapping[str, Any]
) -> None:
    elicitor, shown = typed(*lines)
    bench = McpWorkbench(asking, host=McpSessionHost(elicitor=elicitor))
    text, _ = await called(bench, "order")
    assert json.loads(text) == answer
    assert "Which shirt?" in shown.getvalue()


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


async def test_a_runs_people_are_asked_instead_of_the_elicitor(asking: StdioServerParams) -> None:
    elicitor, shown = typed("a")
    asked: list[str] = []

    async def elicit(call: ToolCall, params: Mapping[str, Any]) -> Mapping[str, Any]:
        asked.append(f"{call.full_name}: {params['message']}")
        return {"action": "accept", "content": {"size": "S", "number": 1}}

    async with McpWorkbench(asking, host=McpSessionHost(elicitor=elicitor)) as bench:
        with run_hooks(elicit=elicit):
            result = await bench.call_tool("order")
    assert json.loads(result.to_text())["content"] == {"size": "S", "number": 1}
    assert (asked, shown.getvalue()) == (["mcp/elicitation: Which shirt?"], "")


async def test_a_callback_of_the_library_answers_for_a_model(asking: StdioServerParams) -> None:
    model = ScriptedModel(says("a thought"))

    async def sample(context: Any, params: Any) -> Any:
        return await ChatCompletionClientSampler(model).sample(params)

    async with create_mcp_server_session(asking, sample) as session:
        answer: Any = await session.call_tool("think", {"text": "Well?"})
    assert answer.content[0].text == "a thought (endTurn)"


def test_hosts_are_components(asking: StdioServerParams) -> None:
    info = ModelInfo(
        vision=False,
        function_calling=False,
        json_output=False,
        family="unknown",
        structured_output=False,
    )
    model = ReplayChatCompletionClient(["a thought"], model_info=info)
    host = McpSessionHost(
        ChatCompletionClientSampler(model), StaticRootsProvider(["/srv"]), StdioElicitor(5)
    )
    dumped = McpWorkbench(asking, host=host).dump_component().model_dump()
    parts = dumped["config"]["host"]["config"]
    assert parts["roots"]["config"] == {"roots": [{"uri": "file:///srv", "name": "srv"}]}
    assert parts["elicitor"]["config"] == {"timeout": 5}
    assert "client_config" in parts["sampler"]["config"]
    again = Workbench.load_component(dumped)
    assert again.dump_component().model_dump() == dumped
    with_model = McpWorkbench(asking, model_client=model).dump_component().model_dump()
    assert Workbench.load_component(with_model).dump_component().model_dump() == with_model


def test_a_host_beside_a_model_is_refused(asking: StdioServerParams) -> None:
    with pytest.raises(ValueError, match="model_client or a host"):
        McpWorkbench(asking, model_client=ScriptedModel(), host=McpSessionHost())
