"""The protocol's reference server in JavaScript, which asks its client for everything."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.sessions.server_forms import form_of
from teams.base import ToolCall, run_hooks
from teams.tools import ImageResultContent
from teams.tools.mcp import (
    ChatCompletionClientSampler,
    McpServerParams,
    McpSessionHost,
    McpWorkbench,
    RunElicitor,
    StaticRootsProvider,
    StdioServerParams,
    StreamableHttpServerParams,
)
from tests.clients.node_program import HERE, NODE
from tests.fakes.scripted_model import ScriptedModel, says

SERVER = HERE / "node_modules/@modelcontextprotocol/server-everything/dist/index.js"


@asynccontextmanager
async def listening() -> AsyncGenerator[str]:
    """Address of the running server."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    running = await asyncio.create_subprocess_exec(
        *(str(NODE), str(SERVER), "streamableHttp"),
        env={**os.environ, "PORT": str(port)},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert running.stderr is not None
    try:
        async with asyncio.timeout(30):
            while b"listening" not in await running.stderr.readline():
                assert running.returncode is None
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        running.kill()
        await running.wait()


@pytest.fixture(params=["stdio", "http"])
async def server(request: pytest.FixtureRequest) -> AsyncIterator[McpServerParams]:
    if request.param == "stdio":
        yield StdioServerParams(command=str(NODE), args=[str(SERVER)], read_timeout_seconds=30)
    else:
        async with listening() as url:
            yield StreamableHttpServerParams(url=url)


async def test_it_asks_for_a_model_a_person_and_folders(
    server: McpServerParams, tmp_path: Path
) -> None:
    asked: list[Mapping[str, Any]] = []

    async def elicit(call: ToolCall, params: Mapping[str, Any]) -> Mapping[str, Any]:
        asked.append(params)
        return {"action": "accept", "content": {"name": "Ada"}}

    sampler = ChatCompletionClientSampler(ScriptedModel(says("a thought")))
    host = McpSessionHost(sampler, StaticRootsProvider([tmp_path]), RunElicitor())
    async with McpWorkbench(server, host=host) as bench:
        await bench.list_tools()
        prompt = {"prompt": "Well?", "maxTokens": 5}
        sampled = await bench.call_tool("trigger-sampling-request", prompt)
        with run_hooks(elicit=elicit):
            elicited = await bench.call_tool("trigger-elicitation-request")
        folders = await bench.call_tool("get-roots-list")
    assert "a thought" in sampled.to_text()
    assert "Ada" in elicited.to_text()
    assert tmp_path.as_uri() in folders.to_text()
    fields = {field.name: field for field in form_of(asked[0]).fields}
    assert fields["name"].required
    assert fields["titledMultipleSelectEnum"].choices["Tuna"] == "fish-1"
    assert fields["legacyTitledEnum"].choices["Cats"] == "pet-1"


async def test_its_contents_prompts_and_resources_are_read(server: McpServerParams) -> None:
    async with McpWorkbench(server, resources=True, prompts=True) as bench:
        image = await bench.call_tool("get-tiny-image")
        structured = await bench.call_tool("get-structured-content", {"location": "New York"})
        links = await bench.call_tool("get-resource-links", {"count": 1})
        resources = (await bench.list_resources()).resources
        read = await bench.call_tool("read_resource", {"uri": str(resources[0].uri)})
        prompt = await bench.call_tool("get_prompt", {"name": "simple-prompt"})
    assert any(isinstance(part, ImageResultContent) for part in image.result)
    assert "temperature" in json.loads(structured.to_text())
    assert "[link to a resource: " in links.to_text()
    assert not read.is_error
    assert prompt.to_text().startswith("user: ")
