"""The wire client, over every dialect."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from teams.models import CreateResult, ModelError, ModelUnavailable, RequestUsage
from teams.models._wire import WireClient
from tests.fakes.wire import HELLO, WireServer, events, streamed

WHOLE = '{"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}'


async def test_a_whole_answer_to_a_request_for_a_stream_stands():
    shown, result = await streamed(WireServer("openai", WHOLE).client())
    assert shown == result.content == "Hi"
    said = '"content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"'
    shown, result = await streamed(
        WireServer("anthropic", f'{{"type": "message", {said}}}').client()
    )
    assert shown == result.content == "Hi"


@pytest.mark.parametrize(
    "error", ['{"error": {"message": "Out of coal"}}', '{"error": "Out of coal"}']
)
@pytest.mark.parametrize("kind", ["openai", "anthropic", "ollama"])
async def test_an_error_with_status_200_is_told_in_the_provider_s_words(kind: Any, error: str):
    with pytest.raises(ModelUnavailable, match="Out of coal"):
        await WireServer(kind, error).client().create(HELLO)
    with pytest.raises(ModelUnavailable, match="Out of coal"):
        await streamed(WireServer(kind, error).client())


@pytest.mark.parametrize(
    "body", ["", "[]", "3", "{}", "<html>", "data: [DONE]\n\n", events({}), "null"]
)
@pytest.mark.parametrize("kind", ["openai", "anthropic", "ollama"])
async def test_what_is_no_answer_is_told(kind: Any, body: str):
    with pytest.raises(ModelError):
        await WireServer(kind, body).client().create(HELLO)
    with pytest.raises(ModelError):
        await streamed(WireServer(kind, body).client())


def test_a_dialect_s_module_defines_no_class_with_create():
    """`create` and `create_stream` are written once for the wire."""
    found = {
        (path.name, each.name)
        for path in Path("teams/models").rglob("*.py")
        for each in ast.walk(ast.parse(path.read_text()))
        if isinstance(each, ast.AsyncFunctionDef | ast.FunctionDef)
        and each.name in ("create", "create_stream")
    }
    files = {"_client.py", "_wire.py", "cache.py", "fallback.py", "replay.py"}
    assert found == {(file, name) for file in files for name in ("create", "create_stream")}


def paused(text: str, reason: str = "pause_turn", **usage: int) -> str:
    content = [{"type": "text", "text": text}]
    answer = {"type": "message", "content": content, "stop_reason": reason, "usage": usage}
    return json.dumps(answer)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_a_paused_answer_is_continued(stream: bool):
    halves = paused("One,", input_tokens=7, output_tokens=2), paused(" two.", "end_turn")
    server = WireServer("anthropic", *halves)
    shown, result = await asked(server.client(), stream=stream)
    assert shown == result.content == "One, two."
    assert (result.finish_reason, result.usage) == ("stop", RequestUsage(7, 2))
    first, second = (each["messages"] for each in server.requests)
    assert second == [*first, {"role": "assistant", "content": [{"type": "text", "text": "One,"}]}]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_a_paused_answer_is_continued_five_times_at_most(stream: bool):
    server = WireServer("anthropic", *[paused(".", input_tokens=1)] * 9)
    shown, result = await asked(server.client(), stream=stream)
    assert shown == result.content == "." * 6
    assert result.usage == RequestUsage(6, 0)
    assert [len(each["messages"]) for each in server.requests] == [1, 2, 2, 2, 2, 2]


async def asked(client: WireClient, *, stream: bool) -> tuple[str, CreateResult]:
    if stream:
        return await streamed(client)
    result = await client.create(HELLO)
    return str(result.content), result
