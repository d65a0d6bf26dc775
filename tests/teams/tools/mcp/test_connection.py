"""The connection to a server of tools."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from teams.core import CancellationToken
from teams.tools import Workbench
from teams.tools.mcp import (
    McpWorkbench,
    StdioServerParams,
    StreamableHttpServerParams,
    create_mcp_server_session,
)
from teams.tools.mcp._connection import name_of, read_timeout
from tests.teams.tools.mcp.used_servers import noted

pytestmark = pytest.mark.timeout(40)  # servers are started


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


@pytest.mark.parametrize(
    ("params", "name", "seconds"),
    [
        (StdioServerParams(command="run", args=["--key", "k"], read_timeout_seconds=3), "'run'", 3),
        (
            StreamableHttpServerParams(url="https://al:pw@here/mcp?key=k", sse_read_timeout=4),
            "'https://here/mcp'",
            4,
        ),
    ],
    ids=["program", "address"],
)
def test_a_server_is_named_without_its_secrets(
    params: StdioServerParams | StreamableHttpServerParams, name: str, seconds: float
) -> None:
    assert (name_of(params), read_timeout(params)) == (name, seconds)
