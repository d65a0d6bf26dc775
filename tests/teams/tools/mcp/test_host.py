"""Requests of servers, answered by a host of the client."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from teams.base import ToolCall, run_hooks
from teams.models import ModelInfo
from teams.models.replay import ReplayChatCompletionClient
from teams.tools import Workbench
from teams.tools.mcp import (
    ChatCompletionClientSampler,
    McpSessionHost,
    McpWorkbench,
    StaticRootsProvider,
    StdioElicitor,
    StdioServerParams,
    create_mcp_server_session,
)
from tests.fakes.scripted_model import ScriptedModel, says
from tests.teams.tools.mcp.asked_hosts import called, typed

pytestmark = pytest.mark.timeout(40)  # servers are started


async def test_folders_are_named(asking: StdioServerParams, tmp_path: Path) -> None:
    roots = StaticRootsProvider([tmp_path, {"uri": "file:///srv", "name": "srv"}])
    bench = McpWorkbench(asking, host=McpSessionHost(roots=roots))
    assert await called(bench, "where") == (f"{tmp_path.as_uri()}, file:///srv", False)


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
