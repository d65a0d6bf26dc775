"""Tools over the wire, from servers of MCP."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from teams.agents import AssistantAgent
from teams.core import CancellationToken
from teams.messages import ToolCallSummaryMessage
from teams.tools import ToolOverride, ToolResult, Workbench
from teams.tools.mcp import (
    McpWorkbench,
    StdioMcpToolAdapter,
    StdioServerParams,
    StreamableHttpServerParams,
    create_mcp_server_session,
    mcp_server_tools,
)
from tests.fakes.scripted_model import ScriptedModel, calls

ROOT = Path(__file__).resolve().parents[4]
pytestmark = pytest.mark.timeout(40)  # servers are started


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "notes"


def noted(notes: Path) -> list[str]:
    return notes.read_text().splitlines() if notes.exists() else []


def started_with(module: str, notes: Path) -> StdioServerParams:
    return StdioServerParams(
        command=sys.executable,
        args=["-m", module],
        cwd=str(ROOT),
        env={"NOTES": str(notes)},
        read_timeout_seconds=20,
    )


@pytest.fixture
def params(notes: Path) -> StdioServerParams:
    return started_with("tests.fakes.quick_mcp_server", notes)


@pytest.fixture
async def workbench(params: StdioServerParams) -> AsyncIterator[McpWorkbench]:
    async with McpWorkbench(params) as started:
        yield started


async def test_a_server_of_the_library_answers_as_the_quick_one(
    workbench: McpWorkbench, notes: Path
) -> None:
    async with McpWorkbench(started_with("tests.fakes.mcp_server", notes)) as library:
        assert await library.list_tools() == await workbench.list_tools()
        for name, arguments in (("add", {"a": 2, "b": 3}), ("fail", {}), ("subtract", {})):
            of_library = await library.call_tool(name, arguments)
            assert of_library == await workbench.call_tool(name, arguments)
        assert (await library.call_tool("add", {"a": "two"})).is_error
    assert noted(notes) == ["add 2 3"] * 2


async def test_a_server_lists_its_tools_with_their_schemas(workbench: McpWorkbench) -> None:
    tools = {tool["name"]: tool for tool in await workbench.list_tools()}
    assert list(tools) == ["add", "fail", "wait", "end"]
    add = tools["add"]
    assert add.get("description") == "Add two numbers."
    parameters = add.get("parameters")
    assert parameters is not None
    assert list(parameters["properties"]) == ["a", "b"]
    assert parameters.get("required") == ["a", "b"]


async def test_a_call_gives_what_the_server_answers(workbench: McpWorkbench, notes: Path) -> None:
    result = await workbench.call_tool("add", {"a": 2, "b": 3})
    assert (result.to_text(), result.is_error) == ("5", False)
    assert noted(notes) == ["add 2 3"]


async def test_what_goes_wrong_is_a_result(workbench: McpWorkbench) -> None:
    failed = await workbench.call_tool("fail", {})
    assert failed.is_error
    assert "it does not work" in failed.to_text()
    invalid = await workbench.call_tool("add", {"a": "two"})
    assert invalid.is_error
    unknown = await workbench.call_tool("subtract", {})
    assert unknown.is_error
    assert "subtract" in unknown.to_text()


async def test_a_cancelled_call_ends_and_the_next_one_is_answered(
    workbench: McpWorkbench, notes: Path
) -> None:
    token = CancellationToken()
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(ended(workbench, token))
        async with asyncio.timeout(20):
            while not noted(notes):  # noqa: ASYNC110 (the server is another process)
                await asyncio.sleep(0.01)
        token.cancel()
    assert waiting.result() == "cancelled"
    async with asyncio.timeout(20):
        while noted(notes) != ["waiting", "cancelled"]:  # noqa: ASYNC110 (another process)
            await asyncio.sleep(0.01)
    assert (await workbench.call_tool("add", {"a": 1, "b": 1})).to_text() == "2"


async def ended(workbench: Workbench, token: CancellationToken) -> str:
    try:
        result = await workbench.call_tool("wait", {}, token)
    except asyncio.CancelledError:
        return "cancelled"
    return result.to_text()


async def test_a_server_that_died_is_an_error_and_is_started_again(
    workbench: McpWorkbench,
) -> None:
    died = await workbench.call_tool("end", {})
    assert died.is_error
    assert (await workbench.call_tool("add", {"a": 1, "b": 2})).to_text() == "3"


async def test_a_server_that_does_not_start_is_said_with_its_own_words(
    params: StdioServerParams,
) -> None:
    workbench = McpWorkbench(params.model_copy(update={"args": [*params.args, "--broken"]}))
    result = await workbench.call_tool("add", {"a": 1, "b": 1})
    assert result.is_error
    assert "this server needs a licence" in result.to_text()
    nowhere = McpWorkbench(StdioServerParams(command="/nowhere/server", args=["--key=secret"]))
    result = await nowhere.call_tool("add", {})
    assert result.is_error
    assert "/nowhere/server" in result.to_text()
    assert "secret" not in result.to_text()


async def test_a_server_that_cannot_be_reached_is_said_without_its_secrets() -> None:
    params = StreamableHttpServerParams(url="http://me:secret@127.0.0.1:9/mcp?key=secret")
    with pytest.raises(RuntimeError, match=r"127\.0\.0\.1:9/mcp") as raised:
        async with create_mcp_server_session(params):
            pass
    assert "secret" not in str(raised.value)


async def test_tools_can_have_other_names(params: StdioServerParams) -> None:
    overrides = {"add": ToolOverride(name="plus", description="Sum.")}
    async with McpWorkbench(params, overrides) as workbench:
        first = (await workbench.list_tools())[0]
        assert (first["name"], first.get("description")) == ("plus", "Sum.")
        assert (await workbench.call_tool("plus", {"a": 4, "b": 4})).to_text() == "8"


async def test_an_agent_uses_the_tools_of_a_server(workbench: McpWorkbench) -> None:
    model = ScriptedModel(calls(("add", {"a": 20, "b": 22})))
    agent = AssistantAgent("adder", model, workbench=workbench)
    result = await agent.run(task="add them")
    assert isinstance(result.messages[-1], ToolCallSummaryMessage)
    assert result.messages[-1].content == "42"


@pytest.mark.chaos
async def test_the_tools_of_a_server_one_by_one(params: StdioServerParams) -> None:
    tools = await mcp_server_tools(params)
    assert [tool.name for tool in tools] == ["add", "fail", "wait", "end"]
    add = await StdioMcpToolAdapter.from_server_params(params, "add")
    result = await add.run_json({"a": 3, "b": 4}, CancellationToken())
    assert isinstance(result, ToolResult)
    assert add.return_value_as_string(result) == "7"
    again = StdioMcpToolAdapter.load_component(json.loads(add.dump_component().model_dump_json()))
    assert again.schema == add.schema
    with pytest.raises(ValueError, match="subtract"):
        await StdioMcpToolAdapter.from_server_params(params, "subtract")


async def test_a_workbench_is_a_component_under_both_its_names(params: StdioServerParams) -> None:
    dumped = McpWorkbench(params).dump_component()
    assert dumped.provider == "teams.tools.mcp.McpWorkbench"
    config = dumped.model_dump()
    config["provider"] = "autogen_ext.tools.mcp.McpWorkbench"
    async with Workbench.load_component(config) as loaded:
        assert (await loaded.call_tool("add", {"a": 1, "b": 1})).to_text() == "2"


async def test_a_workbench_starts_once_and_stops_once(params: StdioServerParams) -> None:
    bench = McpWorkbench(params)
    with pytest.raises(RuntimeError, match="not started"):
        await bench.stop()
    await bench.start()
    with pytest.warns(UserWarning, match="started already"):
        await bench.start()
    await bench.stop()
    with pytest.raises(RuntimeError, match="not started"):
        await bench.stop()
    await bench.close()
    assert (await bench.call_tool("add", {"a": 1, "b": 2})).to_text() == "3"
    await bench.stop()
    assert await bench.save_state() == {"type": "McpWorkBenchState"}
