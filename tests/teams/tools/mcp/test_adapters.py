"""The tools of a server, one by one."""

from __future__ import annotations

import json

import pytest

from teams.core import CancellationToken
from teams.tools import ToolResult
from teams.tools.mcp import StdioMcpToolAdapter, StdioServerParams, mcp_server_tools

pytestmark = pytest.mark.timeout(40)  # servers are started


async def test_each_tool_of_a_server_is_one_of_its_own(params: StdioServerParams) -> None:
    add, *others = await mcp_server_tools(params)
    assert [tool.name for tool in others] == ["fail", "wait", "end"]
    result = await add.run_json({"a": 2, "b": 3}, CancellationToken())
    assert add.return_value_as_string(result) == "5"


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
