"""Thinking, JSON and caching of the Claude client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import BaseModel

from teams.core import FunctionCall
from teams.models import (
    AssistantMessage,
    CreateResult,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    RequestUsage,
    SystemMessage,
    UserMessage,
)
from teams.models.anthropic import AnthropicChatCompletionClient, ThinkingConfig
from teams.models.anthropic._signed import SignedAnswers
from teams.testing import SaidCall, Say
from teams.tools import ToolSchema
from tests.fakes.anthropic_server import FakeAnthropic, Message, Wire, signed, tool_use
from tests.teams.models.anthropic.conftest import Make

HELLO: LLMMessage = UserMessage(content="What time is it?", source="user")
CLOCK = ToolSchema(name="clock", description="The time.")
BUDGET = ThinkingConfig(type="enabled", budget_tokens=2048)
MARK = {"type": "ephemeral"}
HIDDEN = {"type": "redacted_thinking", "data": "sealed"}


class Time(BaseModel):
    hour: int


async def ask(
    client: AnthropicChatCompletionClient,
    messages: Sequence[LLMMessage],
    *,
    streamed: bool,
    **arguments: Any,
) -> tuple[list[str], CreateResult]:
    if not streamed:
        return [], await client.create(messages, **arguments)
    *pieces, result = [item async for item in client.create_stream(messages, **arguments)]
    assert isinstance(result, CreateResult)
    return [str(piece) for piece in pieces], result


def answered(result: CreateResult) -> list[LLMMessage]:
    """The messages of a tool loop after an answer with calls."""
    assert not isinstance(result.content, str)
    return [
        HELLO,
        AssistantMessage(content=result.content, thought=result.thought, source="helper"),
        FunctionExecutionResultMessage(
            content=[
                FunctionExecutionResult(content="noon", name=call.name, call_id=call.id)
                for call in result.content
            ]
        ),
    ]


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_thinking_goes_back_signed_and_as_it_came_within_a_tool_loop(
    server: FakeAnthropic, make: Make, streamed: bool
):
    said = [
        signed("Noon?"),
        HIDDEN,
        {"type": "text", "text": "I look."},
        signed("Which clock?"),
        tool_use("clock", {"zone": "CET"}, "toolu_1"),
        tool_use("clock", {}, "toolu_2"),
    ]
    server.script(Message(content=said, stop_reason="tool_use"), Say(text="It is noon."))
    client = make(thinking=BUDGET)
    pieces, result = await ask(client, [HELLO], streamed=streamed, tools=[CLOCK])
    assert pieces == (["I lo", "ok."] if streamed else [])
    assert result.thought == "Noon?Which clock?\n\nI look."
    await ask(client, answered(result), streamed=streamed, tools=[CLOCK])

    body = server.requests[-1].body
    assert body["messages"][1]["content"] == said
    assert body["thinking"] == BUDGET


async def loop_elsewhere(server: FakeAnthropic, make: Make, **settings: Any) -> Wire:
    """The request of a client that continues another's tool loop."""
    said = [signed("Noon?"), tool_use("clock", {})]
    server.script(Message(content=said, stop_reason="tool_use"), Say(text="It is noon."))
    _, result = await ask(make(**settings), [HELLO], streamed=False, tools=[CLOCK])
    await make(**settings).create(answered(result), tools=[CLOCK])
    body = server.requests[-1].body
    kinds = [block["type"] for block in body["messages"][1]["content"]]
    assert kinds == ["text", "tool_use"]
    return dict(body)


async def test_after_a_restart_a_tool_loop_goes_on_without_thinking(
    server: FakeAnthropic, make: Make
):
    body = await loop_elsewhere(server, make, thinking=BUDGET)
    assert body["thinking"] == {"type": "disabled"}


async def test_after_a_restart_adaptive_thinking_stays(server: FakeAnthropic, make: Make):
    adaptive = ThinkingConfig(type="adaptive")
    body = await loop_elsewhere(server, make, model="claude-opus-4-6", thinking=adaptive)
    assert body["thinking"] == adaptive


async def test_the_next_task_thinks_again_after_a_loop_without(server: FakeAnthropic, make: Make):
    call = FunctionCall(id="call_1", name="clock", arguments="{}")
    loop = answered(called(call))
    server.script(Say(text="It is noon."))
    await make(thinking=BUDGET).create(
        [*loop, AssistantMessage(content="Noon.", source="a"), HELLO]
    )
    assert server.requests[-1].body["thinking"] == BUDGET


def called(call: FunctionCall) -> CreateResult:
    usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
    return CreateResult(finish_reason="function_calls", content=[call], usage=usage, cached=False)


async def test_changed_calls_are_sent_as_they_are_now(server: FakeAnthropic, make: Make):
    said = [signed("Noon?"), tool_use("clock", {"zone": "CET"})]
    server.script(Message(content=said, stop_reason="tool_use"), Say(text="ok"))
    client = make(thinking=BUDGET)
    await client.create([HELLO], tools=[CLOCK])
    now = FunctionCall(id="toolu_1", name="clock", arguments='{"zone": "UTC"}')
    await client.create(answered(called(now)), tools=[CLOCK])
    (call,) = server.seen[-1].calls
    assert call.arguments == {"zone": "UTC"}


def test_only_the_latest_answers_are_remembered():
    signed_answers = SignedAnswers()
    calls = [[FunctionCall(id=str(each), name="clock", arguments="{}")] for each in range(300)]
    for each in calls:
        signed_answers.keep(each, [signed("Noon?")])
        assert signed_answers.find(calls[0])  # what is used stays
    assert [each[0].id for each in calls if signed_answers.find(each)][:2] == ["0", "45"]
    signed_answers.keep(calls[1], [tool_use("clock", {})])
    assert signed_answers.find(calls[1]) is None


async def test_a_forced_tool_turns_a_budget_for_thinking_off(server: FakeAnthropic, make: Make):
    server.script(Say(calls=[SaidCall(name="clock")]))
    await make(thinking=BUDGET).create([HELLO], tools=[CLOCK], tool_choice="required")
    assert server.requests[-1].body["thinking"] == {"type": "disabled"}


async def test_thinking_leaves_room_for_the_answer(server: FakeAnthropic, make: Make):
    server.script(Say(text="noon"))
    await make(thinking=ThinkingConfig(type="enabled", budget_tokens=9000)).create([HELLO])
    assert server.requests[-1].body["max_tokens"] == 9000 + 4096


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_a_model_without_schemas_answers_with_a_tool(
    server: FakeAnthropic, make: Make, streamed: bool
):
    server.script(Say(text='{"hour": 12}', pieces=2))
    client = make(model="claude-opus-4-1", thinking=BUDGET)
    pieces, result = await ask(client, [HELLO], streamed=streamed, json_output=Time)
    assert Time.model_validate_json(str(result.content)).hour == 12
    assert "".join(pieces) == (result.content if streamed else "")
    assert result.finish_reason == "stop"
    seen = server.seen[-1]
    assert seen.tool_choice == "structured_answer"
    assert seen.tools["structured_answer"]["properties"].keys() == {"hour"}
    assert "output_config" not in server.requests[-1].body


async def test_a_model_without_schemas_may_call_tools_before_it_answers(
    server: FakeAnthropic, make: Make
):
    server.script(Say(calls=[SaidCall(name="clock")]))
    client = make(model="claude-opus-4-1")
    _, result = await ask(client, [HELLO], streamed=False, tools=[CLOCK], json_output=Time)
    assert result.finish_reason == "function_calls"
    assert server.seen[-1].tool_choice == "required"


async def test_a_schema_stands_beside_other_settings_of_the_output(
    server: FakeAnthropic, make: Make
):
    server.script(Say(text='{"hour": 12}'))
    effort = {"output_config": {"effort": "low"}}
    await make().create([HELLO], json_output=Time, extra_create_args=effort)
    config = server.requests[-1].body["output_config"]
    assert config["effort"] == "low"
    assert config["format"]["schema"]["required"] == ["hour"]


async def test_any_json_is_asked_for_after_the_system_text(server: FakeAnthropic, make: Make):
    server.script(Say(text="{}"))
    await make().create([SystemMessage(content="Be brief."), HELLO], json_output=True)
    assert server.seen[-1].system.startswith("Be brief.\n\nAnswer with JSON alone")


async def test_the_provider_may_keep_what_the_next_request_begins_with(
    server: FakeAnthropic, make: Make
):
    server.script(*[Say(text="noon")] * 3)
    await make().create([SystemMessage(content="Be brief."), HELLO], tools=[CLOCK])
    body = server.requests[-1].body
    assert body["system"] == [{"type": "text", "text": "Be brief.", "cache_control": MARK}]
    assert body["messages"][-1]["content"][-1]["cache_control"] == MARK
    assert "cache_control" not in body["tools"][-1]

    await make().create([HELLO], tools=[CLOCK])
    assert server.requests[-1].body["tools"][-1]["cache_control"] == MARK

    await make(prompt_caching=False).create([HELLO], tools=[CLOCK])
    assert "cache_control" not in str(server.requests[-1].body)
