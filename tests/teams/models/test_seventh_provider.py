"""A provider costs a dialect, and gets all the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from teams.core import FunctionCall
from teams.models import (
    AssistantMessage,
    BadCredentials,
    ModelDisconnected,
    ModelUnavailable,
    RequestUsage,
)
from teams.tools import ToolSchema
from tests.fakes import seventh_provider
from tests.fakes.drafts import ABLE
from tests.fakes.seventh_provider import CohereDialect, cohere_client
from tests.fakes.wire import HELLO, events, streamed

USAGE = {"tokens": {"input_tokens": 7, "output_tokens": 5}}
TOOLS: Any = [ToolSchema(name="dotted.weather"), ToolSchema(name="clock")]


def delta(kind: str, index: int = 0, **message: Any) -> dict[str, Any]:
    return {"type": kind, "index": index, "delta": {"message": message}}


def called(kind: str, arguments: str, **more: Any) -> dict[str, Any]:
    function = {"arguments": arguments, **({"name": more.pop("name")} if "name" in more else {})}
    return delta(kind, tool_calls={"function": function, **more})


def end(reason: str) -> dict[str, Any]:
    return {"type": "message-end", "delta": {"finish_reason": reason, "usage": USAGE}}


SPOKEN = events(
    {"type": "message-start"},
    delta("content-start", content={"type": "text", "text": ""}),
    delta("content-delta", content={"text": "Hi"}),
    delta("content-delta", content={"text": " you"}),
    delta("content-end"),
    end("COMPLETE"),
    end="",
)
CALLED = events(
    {"type": "message-start"},
    delta("tool-plan-delta", tool_plan="I look."),
    called("tool-call-start", "", id="c1", name="dotted_weather"),
    called("tool-call-delta", '{"city": '),
    called("tool-call-delta", '"Oslo"}'),
    end("TOOL_CALL"),
    end="",
)
WHOLE = json.dumps(
    {
        "finish_reason": "MAX_TOKENS",
        "message": {"content": [{"type": "thinking", "thinking": "Hm."}, {"text": "Hi you"}]},
        "usage": USAGE,
    }
)


class Served:
    """A server of these bodies, and its client."""

    def __init__(self, *bodies: str, status: int = 200) -> None:
        self.bodies, self.status, self.requests = list(bodies), status, list[Any]()
        http = httpx.AsyncClient(
            transport=httpx.MockTransport(self._answer), base_url="https://api.cohere.com"
        )
        self.client = cohere_client(CohereDialect(info=ABLE, model="command-a"), http, "secret-key")

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(json.loads(request.content))
        return httpx.Response(self.status, content=self.bodies.pop(0))


async def test_a_streamed_and_a_whole_answer_are_read():
    shown, result = await streamed(Served(SPOKEN).client)
    assert (shown, result.content, result.finish_reason) == ("Hi you", "Hi you", "stop")
    assert result.usage == RequestUsage(7, 5)
    result = await Served(WHOLE).client.create(HELLO)
    assert (result.content, result.thought, result.finish_reason) == ("Hi you", "Hm.", "length")


async def test_the_edge_and_the_errors_come_with_it():
    served = Served(CALLED, SPOKEN)
    _, result = await streamed(served.client, tools=TOOLS)
    assert result.content == [
        FunctionCall(id="c1", name="dotted.weather", arguments='{"city": "Oslo"}')
    ]
    assert (result.thought, result.finish_reason) == ("I look.", "function_calls")
    said = AssistantMessage(content=result.content, thought=result.thought, source="ann")
    await streamed(served.client, [*HELLO, said], tools=TOOLS, tool_choice="required")
    _, call, answer = served.requests[1]["messages"]
    assert call["tool_calls"][0]["function"]["name"] == "dotted_weather"
    assert answer["tool_call_id"] == "c1"
    assert served.requests[1]["tool_choice"] == "REQUIRED"
    with pytest.raises(BadCredentials, match="CO_API_KEY"):
        await Served('{"message": "no secret-key"}', status=401).client.create(HELLO)
    with pytest.raises(ModelUnavailable, match="Out of coal"):
        await Served('{"error": "Out of coal"}').client.create(HELLO)
    with pytest.raises(ModelDisconnected):
        await streamed(Served(SPOKEN[:200]).client)


def test_it_is_short():
    lines = Path(seventh_provider.__file__).read_text().splitlines()
    assert len(lines) <= 250
