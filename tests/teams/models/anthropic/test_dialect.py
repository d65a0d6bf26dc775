"""Answers of Claude, whole and streamed, as results."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from teams.models import (
    BadAnswer,
    CreateResult,
    ModelError,
    ModelRefused,
    RequestUsage,
    UserMessage,
)
from teams.models.anthropic import AnthropicChatCompletionClient
from tests.fakes.anthropic_server import Fail, FakeAnthropic, Message, signed
from tests.teams.models.anthropic.conftest import Make

HELLO = [UserMessage(content="Hello", source="user")]
TEXT = {"type": "text", "text": "Well."}


class Yes(BaseModel):
    yes: bool


async def ask(
    client: AnthropicChatCompletionClient, *, streamed: bool, **more: Any
) -> CreateResult:
    if not streamed:
        return await client.create(HELLO, **more)
    items = [item async for item in client.create_stream(HELLO, **more)]
    assert isinstance(items[-1], CreateResult)
    return items[-1]


both = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
    "something_new": "unknown",
}


@both
async def test_each_end_of_an_answer_has_its_reason(
    server: FakeAnthropic, make: Make, streamed: bool
):
    client = make()
    found: dict[str, str] = {}
    for reason in REASONS:
        server.script(Message(content=[TEXT], stop_reason=reason))
        result = await ask(client, streamed=streamed)
        assert result.content == "Well."
        found[reason] = result.finish_reason
    assert found == REASONS


@both
async def test_tokens_of_the_cache_count_as_tokens_of_the_request(
    server: FakeAnthropic, make: Make, streamed: bool
):
    usage = {
        "input_tokens": 3,
        "cache_creation_input_tokens": 200,
        "cache_read_input_tokens": 1000,
        "output_tokens": 9,
    }
    server.script(Message(content=[TEXT], usage=usage))
    client = make()
    result = await ask(client, streamed=streamed)
    assert result.usage == RequestUsage(prompt_tokens=1203, completion_tokens=9)
    assert client.actual_usage() == client.total_usage() == result.usage


@both
@pytest.mark.parametrize(
    ("message", "settings", "kind", "says"),
    [
        (Message(content=[], stop_reason="refusal"), {}, ModelRefused, "gave no reason"),
        (
            Message(
                content=[TEXT],
                stop_reason="refusal",
                stop_details={"type": "refusal", "category": "bio", "explanation": "Too risky."},
            ),
            {"json_output": Yes},
            ModelRefused,
            "Too risky",
        ),
        (
            Message(content=[signed("Hm")], stop_reason="max_tokens"),
            {},
            BadAnswer,
            "cut at the token limit",
        ),
    ],
    ids=["refused", "refused with a text", "cut while thinking"],
)
async def test_an_answer_that_is_none_is_an_error(
    server: FakeAnthropic,
    make: Make,
    message: Message,
    settings: Any,
    kind: type[ModelError],
    says: str,
    streamed: bool,
):
    server.script(message)
    with pytest.raises(kind, match=says) as caught:
        await ask(make(), streamed=streamed, **settings)
    assert caught.value.endpoint == server.url


@both
async def test_blocks_of_other_kinds_are_passed_over(
    server: FakeAnthropic, make: Make, streamed: bool
):
    search = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}
    server.script(Message(content=[TEXT, search, TEXT]))
    assert (await ask(make(), streamed=streamed)).content == "Well.Well."


@pytest.mark.parametrize("body", ["[]", "{}", '{"type": "message"}', "[" * 100_000], ids=len)
async def test_what_is_no_message_is_a_bad_answer(server: FakeAnthropic, make: Make, body: str):
    server.script(Fail(status=200, body=body))
    with pytest.raises(ModelError) as caught:
        await make().create(HELLO)
    assert caught.value.transient


@both
async def test_a_text_may_hold_what_httpx_takes_for_ends_of_lines(
    server: FakeAnthropic, make: Make, streamed: bool
):
    text = "one\u2028two\x85three\r\nfour"
    server.script(Message(content=[{"type": "text", "text": text}]))
    assert (await ask(make(), streamed=streamed)).content == text
