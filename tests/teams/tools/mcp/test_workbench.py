"""Tools over the wire, from servers of MCP."""

from __future__ import annotations

from pathlib import Path

import pytest

from teams.agents import AssistantAgent
from teams.messages import ToolCallSummaryMessage
from teams.tools import ToolOverride, Workbench
from teams.tools.mcp import McpWorkbench, StdioServerParams
from tests.fakes.scripted_model import ScriptedModel, calls
from tests.teams.tools.mcp.used_servers import noted, started_with

pytestmark = pytest.mark.timeout(40)  # servers are started


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
