"""The scripted server: its refusals, and its life as a process."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.fakes.openai_script import Call, Reply, after_tool, when
from tests.fakes.openai_server import FakeOpenAI

ROOT = Path(__file__).parents[1]
USER: dict[str, Any] = {"role": "user", "content": "Hello"}
CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
CALLING: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT: dict[str, Any] = {"role": "tool", "tool_call_id": "c1", "content": "3"}


def tool(name: str = "add", **function: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, **function}}


async def ask(url: str, messages: list[dict[str, Any]], **body: Any) -> tuple[int, dict[str, Any]]:
    request = {"model": "gpt-4o", "messages": messages, **body}
    headers = {"Authorization": "Bearer sk-of-a-test"}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{url}/chat/completions", json=request, headers=headers) as response,
    ):
        return response.status, await response.json()


@pytest.mark.parametrize(
    ("messages", "body", "complaint"),
    [
        ([], {}, "empty array"),
        ([{"role": "boss", "content": "Go"}], {}, "'boss'"),
        ([{"role": "user", "content": None}], {}, "got null"),
        ([{**USER, "name": "Ada Lovelace"}], {}, "name"),
        ([USER, CALLING], {}, "c1"),
        ([USER, CALLING, USER, RESULT], {}, "c1"),
        ([USER, RESULT], {}, "preceding message"),
        ([USER, {**CALLING, "tool_calls": []}], {}, "empty array"),
        ([USER], {"tools": []}, "empty array"),
        ([USER], {"tools": [tool("no spaces")]}, "no spaces"),
        ([USER], {"tools": [tool(), tool()]}, "unique"),
        ([USER], {"tools": [tool(parameters={"type": "string"})]}, "object"),
        (
            [USER],
            {"tools": [tool(strict=True, parameters={"type": "object", "properties": {}})]},
            "additionalProperties",
        ),
        ([USER], {"tool_choice": "auto"}, "only allowed"),
        ([USER], {"tools": [tool()], "tool_choice": tool("other")}, "'other' not found"),
        ([USER], {"parallel_tool_calls": False}, "only allowed"),
        ([USER], {"response_format": {"type": "json_object"}}, "'json'"),
    ],
)
async def test_it_refuses_what_openai_refuses(
    openai_server: FakeOpenAI,
    messages: list[dict[str, Any]],
    body: dict[str, Any],
    complaint: str,
):
    openai_server.script(Reply(text="never"))
    status, answer = await ask(openai_server.url, messages, **body)
    assert status == 400
    assert complaint in answer["error"]["message"]
    assert openai_server.requests[0].refused == answer["error"]["message"]


async def test_rules_answer_by_what_was_said_or_called(openai_server: FakeOpenAI):
    openai_server.rule(
        when("sum", Reply(calls=[Call(name="add", id="c1")])), after_tool("add", Reply(text="3"))
    )
    openai_server.script(Reply(text="Hello"))
    _, asked = await ask(openai_server.url, [{"role": "user", "content": "The SUM please"}])
    assert asked["choices"][0]["message"]["tool_calls"][0]["id"] == "c1"
    _, told = await ask(openai_server.url, [USER, CALLING, RESULT])
    assert told["choices"][0]["message"]["content"] == "3"
    _, greeted = await ask(openai_server.url, [USER])
    assert greeted["choices"][0]["message"]["content"] == "Hello"
    status, _ = await ask(openai_server.url, [USER])
    assert status == 500


async def test_it_runs_as_a_process_whose_gate_opens_over_http(tmp_path: Path):
    script = tmp_path / "answers.json"
    script.write_text(json.dumps([{"text": "held back", "gate": True}]))
    async with running(script) as url, aiohttp.ClientSession() as session:
        async with asyncio.TaskGroup() as group:
            asked = group.create_task(ask(f"{url}/v1", [USER]))
            async with session.post(f"{url}/control/open"):
                pass
        status, answer = asked.result()
        assert (status, answer["choices"][0]["message"]["content"]) == (200, "held back")
        async with session.post(f"{url}/control/answers", json=[{"status": 429}]):
            pass
        assert (await ask(f"{url}/v1", [USER]))[0] == 429
        async with session.get(f"{url}/control/requests") as response:
            requests = (await response.json())["requests"]
        assert [request["body"]["messages"] for request in requests] == [[USER], [USER]]


@asynccontextmanager
async def running(script: Path) -> AsyncGenerator[str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.fakes.openai_server", "--script", str(script)),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout
    try:
        yield f"http://127.0.0.1:{int(await process.stdout.readline())}"
    finally:
        process.terminate()
        await process.wait()
