"""Servers made with the protocol's library, over each of its ways."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import pytest

from teams.base import run_hooks
from teams.core import CancellationToken
from teams.tools.mcp import (
    ChatCompletionClientSampler,
    McpSessionHost,
    McpWorkbench,
    SseServerParams,
    StaticRootsProvider,
    StdioElicitor,
    StreamableHttpServerParams,
)
from tests.fakes.mcp_web import WebServer, served
from tests.fakes.scripted_model import ScriptedModel, says

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(params=["http", pytest.param("sse", marks=pytest.mark.chaos)])
def web(request: pytest.FixtureRequest) -> Iterator[WebServer]:
    transport: Literal["http", "sse"] = request.param
    with served(transport) as server:
        yield server


def params_of(web: WebServer) -> StreamableHttpServerParams | SseServerParams:
    kind = SseServerParams if web.url.endswith("/sse") else StreamableHttpServerParams
    return kind(url=web.url)


async def noted(web: WebServer, line: str) -> None:
    while line not in web.notes:  # noqa: ASYNC110 (the server has a loop of its own)
        await asyncio.sleep(0.01)


async def accept(_: object, params: Mapping[str, Any]) -> Mapping[str, Any]:
    assert params["message"] == "Which shirt?"
    return {"action": "accept", "content": {"size": "M"}}


async def test_a_server_behind_an_address_asks_its_client(web: WebServer, tmp_path: Path) -> None:
    host = McpSessionHost(
        ChatCompletionClientSampler(ScriptedModel(says("a thought"))),
        StaticRootsProvider([tmp_path]),
        StdioElicitor(),
    )
    async with McpWorkbench(params_of(web), host=host) as bench:
        with run_hooks(elicit=accept):
            ordered = await bench.call_tool("order")
        thought = await bench.call_tool("think")
        where = await bench.call_tool("where")
        names = [tool["name"] for tool in await bench.list_tools()]
        initialized = bench.initialize_result
    assert "accept" in ordered.to_text()
    assert "M" in ordered.to_text()
    assert thought.to_text() == "a thought"
    assert where.to_text() == tmp_path.as_uri()
    assert names == ["order", "think", "where", "leave", "wait"]
    assert initialized is not None


async def test_prompts_and_resources_behind_an_address(web: WebServer) -> None:
    async with McpWorkbench(params_of(web), prompts=True, resources=True) as bench:
        note = await bench.call_tool("read_resource", {"uri": "note://1"})
        greeting = await bench.call_tool(
            "get_prompt", {"name": "greet", "arguments": {"name": "A"}}
        )
    assert note.to_text() == "the note"
    assert greeting.to_text() == "user: Greet A."


async def test_a_call_that_is_cancelled_ends_at_the_server(web: WebServer) -> None:
    token = CancellationToken()
    async with McpWorkbench(params_of(web)) as bench:
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(bench.call_tool("wait", {}, token))
            await noted(web, "waiting")
            token.cancel()
        assert waiting.cancelled()
        await noted(web, "cancelled")


async def test_an_answer_whose_stream_broke_is_taken_up_again() -> None:
    with served(old=True) as web:
        async with McpWorkbench(StreamableHttpServerParams(url=web.url)) as bench:
            assert (await bench.call_tool("leave")).to_text() == "back again"
        sessions = {line.partition(" ")[2] for line in web.sessions} - {""}
    assert web.notes == ["leave"]
    assert len(sessions) == 1


@pytest.mark.chaos
@pytest.mark.parametrize("old", [True, False])
async def test_a_server_that_was_restarted_is_asked_again(old: bool) -> None:
    with served(old=old) as web:
        port = int(web.url.split(":")[2].partition("/")[0])
        bench = McpWorkbench(StreamableHttpServerParams(url=web.url), resources=True)
        assert not (await bench.call_tool("read_resource", {"uri": "note://1"})).is_error
    away = await bench.call_tool("read_resource", {"uri": "note://1"})
    assert away.is_error
    with served(port=port, old=old):
        again = await bench.call_tool("read_resource", {"uri": "note://1"})
        await bench.stop()
    assert again.to_text() == "the note"
