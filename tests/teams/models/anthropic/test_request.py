"""Messages and tools in a request to Claude."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from teams.core import FunctionCall
from teams.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    ModelInfo,
    SystemMessage,
    UserMessage,
)
from teams.testing import Say
from teams.tools import ParametersSchema, ToolSchema
from tests.fakes.anthropic_server import FakeAnthropic
from tests.teams.models.anthropic.conftest import Make

HELLO = UserMessage(content="Hello", source="user")
MANY_SYSTEM_MESSAGES = ModelInfo(
    vision=True,
    function_calling=True,
    json_output=True,
    family="claude-4-haiku",
    structured_output=True,
    multiple_system_messages=True,
)
CLOCK = ToolSchema(name="clock", description="The time.")


def says(text: str) -> AssistantMessage:
    return AssistantMessage(content=text, source="helper")


def calls(*called: FunctionCall, thought: str | None = None) -> AssistantMessage:
    return AssistantMessage(content=list(called), thought=thought, source="helper")


def results(*call_ids: str, content: str = "noon", is_error: bool = False) -> LLMMessage:
    return FunctionExecutionResultMessage(
        content=[
            FunctionExecutionResult(name="clock", content=content, call_id=each, is_error=is_error)
            for each in call_ids
        ]
    )


async def sent(
    server: FakeAnthropic, make: Make, *messages: LLMMessage, **settings: Any
) -> dict[str, Any]:
    """The body of a request, without marks for the cache."""
    server.script(Say(text="ok"))
    tools = settings.pop("tools", ())
    client = make(prompt_caching=False, **settings)
    before = deepcopy(messages)
    await client.create(messages, tools=tools)
    assert messages == before
    return dict(server.requests[-1].body)


def texts(body: dict[str, Any]) -> list[tuple[str, list[str]]]:
    return [
        (turn["role"], [block["text"] for block in turn["content"]]) for turn in body["messages"]
    ]


async def test_system_messages_that_follow_each_other_are_one_text(
    server: FakeAnthropic, make: Make
):
    system = [SystemMessage(content="Be brief."), SystemMessage(content="Be kind.")]
    body = await sent(server, make, *system, HELLO)
    assert body["system"] == "Be brief.\nBe kind."
    assert texts(body) == [("user", ["Hello"])]


async def test_system_messages_apart_are_refused_unless_the_model_may_have_them(
    server: FakeAnthropic, make: Make
):
    apart = [SystemMessage(content="Be brief."), HELLO, SystemMessage(content="Be kind.")]
    with pytest.raises(ValueError, match="multiple_system_messages"):
        await make().create(apart)
    body = await sent(server, make, *apart, model_info=MANY_SYSTEM_MESSAGES)
    assert body["system"] == "Be brief.\nBe kind."


async def test_messages_of_one_side_are_one_turn_and_blank_text_is_left_out(
    server: FakeAnthropic, make: Make
):
    blank = UserMessage(content=[" \n", "Well?"], source="user")
    body = await sent(server, make, HELLO, says(""), blank, says(" "), HELLO)
    assert texts(body) == [("user", ["Hello", "Well?", "Hello"])]
    assert "system" not in body


@pytest.mark.parametrize("messages", [[], [UserMessage(content=" ", source="user")]])
async def test_a_request_without_any_text_is_one_that_the_api_takes(
    server: FakeAnthropic, make: Make, messages: list[LLMMessage]
):
    assert texts(await sent(server, make, *messages)) == [("user", ["(no text)"])]


async def test_the_user_begins_even_where_the_context_was_cut(server: FakeAnthropic, make: Make):
    body = await sent(server, make, says("As I said."), HELLO)
    assert texts(body)[0] == ("user", ["(no text)"])


async def test_a_last_answer_is_continued_by_models_that_do_so(server: FakeAnthropic, make: Make):
    body = await sent(server, make, HELLO, says("Once upon \n"))
    assert texts(body)[-1] == ("assistant", ["Once upon"])


@pytest.mark.parametrize("model", ["claude-sonnet-4-6", "claude-opus-5-5", "claude-new"])
async def test_other_models_are_told_to_go_on(server: FakeAnthropic, make: Make, model: str):
    body = await sent(server, make, HELLO, says("Once upon "), model=model)
    assert texts(body)[-2:] == [("assistant", ["Once upon "]), ("user", ["Continue."])]


@pytest.mark.parametrize(
    ("arguments", "sent_as"),
    [
        ('{"zone": "CET"}', {"zone": "CET"}),
        ("", {}),
        ("[1]", {"arguments": [1]}),
        ('{"zone": "C', {"arguments": '{"zone": "C'}),
    ],
)
async def test_arguments_are_an_object_whatever_the_model_wrote(
    server: FakeAnthropic, make: Make, arguments: str, sent_as: object
):
    called = calls(FunctionCall(id="c1", name="clock", arguments=arguments), thought="I look.")
    body = await sent(server, make, HELLO, called, results("c1"), tools=[CLOCK])
    text, call = body["messages"][1]["content"]
    assert text == {"type": "text", "text": "I look."}
    assert call["input"] == sent_as


async def test_ids_of_another_provider_s_calls_are_put_into_the_api_s_form(
    server: FakeAnthropic, make: Make
):
    called = calls(
        FunctionCall(id="call.1/a", name="clock", arguments="{}"),
        FunctionCall(id="call.2", name="clock", arguments="{}"),
    )
    said = results("call.1/a", "call.2", content=" ", is_error=True)
    body = await sent(server, make, HELLO, called, said, HELLO, tools=[CLOCK])
    one, other = [call["id"] for call in body["messages"][1]["content"]]
    first, second, hello = body["messages"][2]["content"]
    assert first == {"type": "tool_result", "tool_use_id": one, "is_error": True}
    assert second["tool_use_id"] == other != one
    assert hello["text"] == "Hello"


async def test_called_tools_are_defined_even_if_none_is_offered(server: FakeAnthropic, make: Make):
    called = calls(FunctionCall(id="c1", name="clock", arguments="{}"))
    body = await sent(server, make, HELLO, called, results("c1"))
    assert body["tools"] == [{"name": "clock", "input_schema": {"type": "object"}}]
    assert body["tool_choice"] == {"type": "none"}


async def test_tools_of_one_agent_do_not_reach_another(server: FakeAnthropic, make: Make):
    server.script(Say(text="ok"), Say(text="ok"))
    client = make()
    await client.create([HELLO], tools=[CLOCK])
    await client.create([HELLO])
    assert "tools" not in server.requests[-1].body


async def test_a_tool_s_schema_is_sent_whole(server: FakeAnthropic, make: Make):
    parameters = ParametersSchema(type="object", properties={"zone": {"type": "string"}})
    tool = ToolSchema(name="clock", description="The time.", parameters=parameters)
    body = await sent(server, make, HELLO, tools=[tool])
    assert body["tools"] == [
        {"name": "clock", "description": "The time.", "input_schema": parameters}
    ]
    assert body["tool_choice"] == {"type": "auto"}
