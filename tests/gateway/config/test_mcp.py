"""Servers of the Model Context Protocol, as settings."""

from __future__ import annotations

from typing import Any, cast

import pytest
from pydantic import TypeAdapter, ValidationError

from gateway.config.mcp import McpConfig, McpEntry, McpReference, McpServer, server_name
from teams.kinds import Maker
from teams.tools.mcp import (
    McpWorkbench,
    SseServerParams,
    StdioServerParams,
    StreamableHttpServerParams,
)

READ = TypeAdapter[McpReference | McpConfig](McpEntry)


class Echo:
    """A maker that hands back what it is given."""

    async def make(self, table: Any, **more: Any) -> Any:
        return table, more


MAKER = cast("Maker", Echo())


def test_a_program_is_started_with_its_secrets() -> None:
    server = McpServer.model_validate({"command": "npx", "args": ["-y"], "env": {"KEY": "k"}})
    match server.params():
        case StdioServerParams(command="npx", args=["-y"], env={"KEY": "k"}) as params:
            assert params.read_timeout_seconds == 60
        case other:
            pytest.fail(str(other))


@pytest.mark.parametrize(
    ("transport", "kind"), [("http", StreamableHttpServerParams), ("sse", SseServerParams)]
)
def test_an_address_is_reached_by_its_protocol(transport: str, kind: type[Any]) -> None:
    data = {"url": "https://a.example", "transport": transport, "headers": {"Authorization": "b"}}
    params = McpServer.model_validate(data).params()
    assert isinstance(params, kind)
    assert params.model_dump()["headers"] == {"Authorization": "b"}


@pytest.mark.parametrize("data", [{}, {"command": "a", "url": "https://a.example"}])
def test_a_server_is_started_or_reached(data: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="expected one of the two"):
        McpServer.model_validate(data)


def test_a_server_has_a_name_in_the_policy() -> None:
    assert server_name(READ.validate_python("files")) == "files"
    assert server_name(READ.validate_python({"command": "a"})) == "mcp"
    assert server_name(READ.validate_python({"command": "a", "name": "own"})) == "own"


async def test_a_server_is_built_as_a_workbench() -> None:
    server = McpServer.model_validate({"command": "a"})
    assert isinstance(await server.build(MAKER, name="files"), McpWorkbench)


async def test_a_reference_is_built_by_the_maker() -> None:
    reference = McpReference(server="files")
    assert await reference.build(MAKER, model="m") == (reference, {"model": "m"})
