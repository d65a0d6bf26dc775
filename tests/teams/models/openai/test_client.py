"""The OpenAI client's requests and answers against a strict server."""

import asyncio
import hashlib
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from teams.core import CancellationToken, ComponentModel, FunctionCall, Image
from teams.models import (
    AssistantMessage,
    ChatCompletionClient,
    CreateResult,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    ModelInfo,
    RequestUsage,
    SystemMessage,
    UserMessage,
)
from teams.models._tokens import text_counter
from teams.models.openai import (
    AZURE_OPENAI_USER_AGENT,
    AzureOpenAIChatCompletionClient,
    OpenAIChatCompletionClient,
)
from teams.tools import FunctionTool, ToolSchema
from tests.fakes.openai_script import Call, CallStyle, Reply
from tests.fakes.openai_server import FakeOpenAI

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
HELLO = [SystemMessage(content="Be kind."), UserMessage(content="Hello", source="user")]
ABLE = ModelInfo(
    vision=True,
    function_calling=True,
    json_output=True,
    family="unknown",
    structured_output=True,
)
UNABLE = ModelInfo(
    vision=False,
    function_calling=False,
    json_output=False,
    family="unknown",
    structured_output=False,
)


class Weather(BaseModel):
    city: str
    degrees: float | None = None


def add(a: int, b: int) -> int:
    return a + b


def client(server: FakeOpenAI, **settings: Any) -> OpenAIChatCompletionClient:
    given: Any = {"model": "gpt-4o", "api_key": "sk-of-a-test", "base_url": server.url, **settings}
    return OpenAIChatCompletionClient(**given)


async def streamed(
    asked: ChatCompletionClient, messages: Sequence[LLMMessage] = HELLO, **arguments: Any
) -> tuple[list[str], CreateResult]:
    *pieces, result = [item async for item in asked.create_stream(messages, **arguments)]
    assert isinstance(result, CreateResult)
    return [str(piece) for piece in pieces], result


async def both_ways(
    server: FakeOpenAI, reply: Reply, messages: Sequence[LLMMessage] = HELLO, **arguments: Any
) -> list[CreateResult]:
    """The result of the same answer, whole and streamed."""
    server.script(reply, reply)
    asked = client(server)
    whole = await asked.create(messages, **arguments)
    _, result = await streamed(asked, messages, **arguments)
    await asked.close()
    return [whole, result]


async def test_a_text_comes_whole_or_in_pieces_with_its_usage(openai_server: FakeOpenAI):
    openai_server.script(Reply(text="Good morning"), Reply(text="Good morning", chunks=4))
    asked = client(openai_server)
    whole = await asked.create(HELLO)
    pieces, result = await streamed(asked)
    await asked.close()

    assert whole.content == "Good morning"
    assert whole.finish_reason == "stop"
    assert whole.usage == RequestUsage(prompt_tokens=10, completion_tokens=5)
    assert not whole.cached
    assert pieces == ["Goo", "d m", "orn", "ing"]
    assert result == whole
    assert asked.actual_usage() == RequestUsage(prompt_tokens=20, completion_tokens=10)
    assert asked.total_usage() == asked.actual_usage()


async def test_the_first_piece_is_out_before_the_second_is_sent(openai_server: FakeOpenAI):
    openai_server.script(Reply(text="one two", chunks=2, gate=openai_server.gate))
    asked = client(openai_server)
    stream = asked.create_stream(HELLO)
    openai_server.gate.open()
    assert await anext(stream) == "one "
    openai_server.gate.open(steps=3)
    assert await anext(stream) == "two"
    await stream.aclose()
    await asked.close()


async def test_a_consumer_that_leaves_lets_go_of_the_connection(openai_server: FakeOpenAI):
    openai_server.script(Reply(text="one two", chunks=2, gate=openai_server.gate))
    asked = client(openai_server)
    openai_server.gate.open()
    stream = asked.create_stream(HELLO)
    await anext(stream)
    await stream.aclose()
    await openai_server.idle()
    await asked.close()


async def test_messages_reach_the_model_in_their_order_and_roles(openai_server: FakeOpenAI):
    conversation = [
        *HELLO,
        AssistantMessage(
            content=[FunctionCall(id="c1", name="add", arguments='{"a": 1, "b": 2}')],
            thought="Let me add that.",
            source="maths",
        ),
        FunctionExecutionResultMessage(
            content=[FunctionExecutionResult(content="3", name="add", call_id="c1")]
        ),
        AssistantMessage(content="It is 3.", source="maths"),
        UserMessage(content="And now?", source="Ada Lovelace"),
    ]
    await both_ways(openai_server, Reply(text="ok"), conversation)

    for request in openai_server.requests:
        assert request.messages == [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Hello", "name": "user"},
            {
                "role": "assistant",
                "content": "Let me add that.",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'},
                    }
                ],
            },
            {"role": "tool", "content": "3", "tool_call_id": "c1"},
            {"role": "assistant", "content": "It is 3."},
            {"role": "user", "content": "And now?", "name": "Ada_Lovelace"},
        ]


async def test_names_can_be_left_out_or_written_into_the_text(openai_server: FakeOpenAI):
    openai_server.script(Reply(text="ok"))
    asked = client(openai_server, include_name_in_message=False, add_name_prefixes=True)
    picture = UserMessage(content=["Look", Image.from_base64(PIXEL)], source="Ada")
    await asked.create([UserMessage(content="Hi", source="Ada"), picture])
    await asked.close()

    text, parts = openai_server.requests[0].messages
    assert text == {"role": "user", "content": "Ada said:\nHi"}
    assert [part["type"] for part in parts["content"]] == ["text", "text", "image_url"]


@pytest.mark.parametrize("style", ["openai", "whole", "no_index", "no_id", "repeated_id"])
async def test_parallel_calls_are_read_however_a_server_cuts_them(
    openai_server: FakeOpenAI, style: CallStyle
):
    calls = (
        Call(name="add", arguments={"a": 1, "b": 2}),
        Call(name="add", arguments={"a": 3, "b": 4}),
    )
    tool = FunctionTool(add, description="Adds.")
    reply = Reply(calls=calls, call_style=style)
    for result in await both_ways(openai_server, reply, tools=[tool]):
        assert result.finish_reason == "function_calls"
        assert isinstance(result.content, list)
        assert [json.loads(call.arguments) for call in result.content] == [
            {"a": 1, "b": 2},
            {"a": 3, "b": 4},
        ]
        assert [call.name for call in result.content] == ["add", "add"]
        assert len({call.id for call in result.content if call.id}) == 2


async def test_a_call_without_arguments_has_an_empty_object(openai_server: FakeOpenAI):
    tool = {"name": "now", "description": "The time."}
    reply = Reply(calls=[Call(name="now", arguments="")])
    for result in await both_ways(openai_server, reply, tools=[tool]):
        assert isinstance(result.content, list)
        assert result.content[0].arguments == "{}"


async def test_text_said_along_with_calls_is_their_thought(openai_server: FakeOpenAI):
    tool = FunctionTool(add, description="Adds.")
    reply = Reply(text="I will add.", calls=[Call(name="add")])
    for result in await both_ways(openai_server, reply, tools=[tool]):
        assert isinstance(result.content, list)
        assert result.thought == "I will add."


async def test_tools_choice_and_parallel_calls_are_asked_for(openai_server: FakeOpenAI):
    openai_server.script(*[Reply(text="ok")] * 4)
    asked = client(openai_server, parallel_tool_calls=False)
    plain = FunctionTool(add, description="Adds.")
    strict = FunctionTool(add, name="add_strictly", description="Adds.", strict=True)
    await asked.create(HELLO, tools=[plain, strict], tool_choice=plain)
    await asked.create(HELLO, tools=[plain], tool_choice="required")
    await asked.create(HELLO, tools=[plain], tool_choice="none")
    await asked.create(HELLO, tool_choice="auto")
    await asked.close()

    chosen, required, forbidden, without = (request.body for request in openai_server.requests)
    assert chosen["tool_choice"] == {"type": "function", "function": {"name": "add"}}
    assert chosen["parallel_tool_calls"] is False
    assert [tool["function"].get("strict") for tool in chosen["tools"]] == [None, True]
    assert required["tool_choice"] == "required"
    assert forbidden["tool_choice"] == "none"
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & set(without)


async def test_structured_output_asks_for_a_strict_schema(openai_server: FakeOpenAI):
    reply = Reply(text='{"city": "Paris", "degrees": 21.5}')
    for result in await both_ways(openai_server, reply, json_output=Weather):
        assert Weather.model_validate_json(str(result.content)) == Weather(
            city="Paris", degrees=21.5
        )
    for request in openai_server.requests:
        wanted = request.body["response_format"]["json_schema"]
        assert wanted["name"] == "Weather"
        assert wanted["strict"] is True
        assert wanted["schema"]["required"] == ["city", "degrees"]


async def test_json_output_asks_for_any_json(openai_server: FakeOpenAI):
    question = [UserMessage(content="Answer in JSON.", source="user")]
    await both_ways(openai_server, Reply(text="{}"), question, json_output=True)
    formats = [request.body["response_format"] for request in openai_server.requests]
    assert formats == [{"type": "json_object"}] * 2


async def test_reasoning_is_the_thought_and_not_part_of_the_stream(openai_server: FakeOpenAI):
    openai_server.script(*[Reply(text="42", reasoning="Six times seven.")] * 2)
    asked = client(openai_server)
    whole = await asked.create(HELLO)
    pieces, result = await streamed(asked)
    await asked.close()
    assert whole.thought == result.thought == "Six times seven."
    assert "".join(pieces) == whole.content == result.content == "42"


@pytest.mark.parametrize("chunks", [1, 2, 7, 40])
async def test_a_text_that_begins_with_a_thought_is_split(openai_server: FakeOpenAI, chunks: int):
    text = "<think>Six < seven, so ...</think>\n\n**42**"
    openai_server.script(*[Reply(text=text, chunks=chunks)] * 2)
    asked = client(openai_server)
    whole = await asked.create(HELLO)
    pieces, result = await streamed(asked)
    await asked.close()
    assert whole.thought == result.thought == "Six < seven, so ..."
    assert "".join(pieces) == whole.content == result.content == "**42**"


@pytest.mark.parametrize("text", ["<thin", "<b>bold</b>", "  indented", "a <think> later", "<"])
async def test_a_text_that_only_looks_like_a_thought_is_kept(openai_server: FakeOpenAI, text: str):
    openai_server.script(Reply(text=text, chunks=5))
    asked = client(openai_server)
    pieces, result = await streamed(asked)
    await asked.close()
    assert "".join(pieces) == result.content == text
    assert result.thought is None


async def test_separators_of_lines_in_a_text_are_text(openai_server: FakeOpenAI):
    text = "a\u2028b\u2029c\x85d\x0be\r\nf"
    openai_server.script(Reply(text=text, chunks=5))
    asked = client(openai_server)
    pieces, result = await streamed(asked)
    await asked.close()
    assert "".join(pieces) == result.content == text


async def test_finish_reasons_are_told_apart(openai_server: FakeOpenAI):
    for given, expected in [("length", "length"), ("eos", "unknown"), ("stop", "stop")]:
        reply = Reply(text="Well", finish_reason=given)
        for result in await both_ways(openai_server, reply):
            assert result.finish_reason == expected
            assert result.content == "Well"


async def test_usage_that_is_not_told_counts_as_nothing(openai_server: FakeOpenAI):
    for result in await both_ways(openai_server, Reply(text="ok", usage=None)):
        assert result.usage == RequestUsage(prompt_tokens=0, completion_tokens=0)


async def test_a_stream_asks_for_its_usage_unless_told_not_to(openai_server: FakeOpenAI):
    openai_server.script(*[Reply(text="ok")] * 3)
    asked = client(openai_server)
    await streamed(asked)
    await streamed(asked, include_usage=False)
    await asked.close()
    silent = client(openai_server, stream_options={"include_usage": False})
    await streamed(silent)
    await silent.close()
    options = [request.body.get("stream_options") for request in openai_server.requests]
    assert options == [{"include_usage": True}, None, None]


@pytest.mark.parametrize("asked_for", [True, False])
async def test_options_of_a_stream_that_contradict_each_other_are_refused(
    openai_server: FakeOpenAI, asked_for: bool
):
    options = {"include_usage": not asked_for}
    asked = client(openai_server, stream_options=options)
    with pytest.raises(ValueError, match="include_usage"):
        await anext(asked.create_stream(HELLO, include_usage=asked_for))
    await asked.close()
    asked = client(openai_server)
    with pytest.raises(ValueError, match="include_usage"):
        await anext(
            asked.create_stream(
                HELLO, include_usage=asked_for, extra_create_args={"stream_options": options}
            )
        )
    await asked.close()


async def test_options_of_a_stream_may_be_given_for_a_call(openai_server: FakeOpenAI):
    openai_server.script(*[Reply(text="ok")] * 2)
    asked = client(openai_server)
    await streamed(asked, extra_create_args={"stream_options": {"include_usage": False}})
    await streamed(asked, include_usage=True, extra_create_args={"stream_options": {}})
    await asked.close()
    options = [request.body.get("stream_options") for request in openai_server.requests]
    assert options == [None, {"include_usage": True}]


async def test_the_letters_of_a_mark_stay_in_a_thought(openai_server: FakeOpenAI):
    info = {**ABLE, "family": "r1"}
    tool = ToolSchema(name="now", description="The time.")
    thought = "think of the kin. I think"
    reply = Reply(reasoning=thought, calls=[Call(name="now")], chunks=7)
    openai_server.script(reply, reply)
    asked = client(openai_server, model_info=info)
    whole = await asked.create(HELLO, tools=[tool])
    pieces, result = await streamed(asked, tools=[tool])
    await asked.close()
    assert whole.thought == result.thought == thought
    assert pieces == []


async def test_an_empty_answer_is_an_empty_text(openai_server: FakeOpenAI):
    for result in await both_ways(openai_server, Reply(text="")):
        assert result.content == ""


async def test_arguments_of_the_constructor_and_the_call_are_sent(openai_server: FakeOpenAI):
    openai_server.script(Reply(text="ok"))
    asked = client(openai_server, temperature=0.5, seed=7, default_headers={"X-Team": "demo"})
    await asked.create(HELLO, extra_create_args={"seed": 8, "extra_body": {"top_k": 3}})
    await asked.close()
    request = openai_server.requests[0]
    assert request.body["temperature"] == 0.5
    assert request.body["seed"] == 8
    assert request.body["top_k"] == 3
    assert request.headers["X-Team"] == "demo"


@pytest.mark.parametrize("unknown", ["bogus", "top_k", "messages", "api_key"])
async def test_an_unknown_argument_of_a_call_is_refused(openai_server: FakeOpenAI, unknown: str):
    asked = client(openai_server)
    extra = {"seed": 8, unknown: 1}
    with pytest.raises(ValueError, match=f"^Extra create args are invalid: {unknown}. "):
        await asked.create(HELLO, extra_create_args=extra)
    with pytest.raises(ValueError, match="Extra create args are invalid"):
        async for _ in asked.create_stream(HELLO, extra_create_args=extra):
            pass
    assert openai_server.requests == []
    await asked.close()


async def test_tools_that_are_no_functions_are_an_argument_of_a_call(openai_server: FakeOpenAI):
    custom = [{"type": "custom", "custom": {"name": "grep"}}]
    openai_server.script(Reply(text="ok"))
    asked = client(openai_server)
    await asked.create(HELLO, extra_create_args={"tools": custom})
    await asked.close()
    assert openai_server.requests[0].body["tools"] == custom


async def test_several_system_messages_become_one_where_a_model_needs_it(
    openai_server: FakeOpenAI,
):
    openai_server.script(Reply(text="ok"))
    asked = client(openai_server, model_info={**ABLE, "multiple_system_messages": False})
    await asked.create([SystemMessage(content="Be brief."), *HELLO])
    assert openai_server.requests[0].messages[0]["content"] == "Be brief.\nBe kind."
    with pytest.raises(ValueError, match="one system message"):
        await asked.create([*HELLO, SystemMessage(content="Be brief.")])
    await asked.close()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"tools": [FunctionTool(add, description="")]}, "function calling"),
        ({"json_output": True}, "JSON output"),
        ({"json_output": Weather}, "structured output"),
        (
            {"messages": [UserMessage(content=[Image.from_base64(PIXEL)], source="user")]},
            "vision",
        ),
    ],
    ids=["tools", "json", "structure", "images"],
)
async def test_what_a_model_cannot_do_is_said_before_it_is_asked(
    openai_server: FakeOpenAI, arguments: dict[str, Any], complaint: str
):
    asked = client(openai_server, model_info=UNABLE)
    options = {name: value for name, value in arguments.items() if name != "messages"}
    with pytest.raises(ValueError, match=complaint):
        await asked.create(arguments.get("messages", HELLO), **options)
    await asked.close()
    assert not openai_server.requests


async def test_a_chosen_tool_has_to_be_given(openai_server: FakeOpenAI):
    asked = client(openai_server)
    tool = FunctionTool(add, description="Adds.")
    with pytest.raises(ValueError, match="'add'"):
        await asked.create(HELLO, tools=[{"name": "other"}], tool_choice=tool)
    await asked.close()


async def test_a_token_cancelled_beforehand_asks_nothing(openai_server: FakeOpenAI):
    asked = client(openai_server)
    token = CancellationToken()
    token.cancel()
    stream = asked.create_stream(HELLO, cancellation_token=token)
    with pytest.raises(asyncio.CancelledError):
        await anext(stream)
    await asked.close()
    assert not openai_server.requests


async def test_azure_is_asked_by_deployment_and_version(openai_server: FakeOpenAI):
    openai_server.script(Reply(text="ok"))
    asked = AzureOpenAIChatCompletionClient(
        model="gpt-4o",
        azure_endpoint=openai_server.url.removesuffix("/v1"),
        azure_deployment="team-gpt",
        api_version="2024-10-21",
        api_key="sk-of-a-test",
    )
    assert (await asked.create(HELLO)).content == "ok"
    await asked.close()
    request = openai_server.requests[0]
    assert request.path == "/openai/deployments/team-gpt/chat/completions"
    assert request.query["api-version"] == "2024-10-21"
    assert request.headers["api-key"] == "sk-of-a-test"


async def test_azure_is_told_who_asks_before_an_own_word(openai_server: FakeOpenAI):
    openai_server.script(Reply(text="ok"), Reply(text="ok"))
    for headers in (None, {"user-agent": "our-bot/2"}):
        asked = AzureOpenAIChatCompletionClient(
            model="gpt-4o",
            azure_endpoint=openai_server.url.removesuffix("/v1"),
            api_version="2024-10-21",
            api_key="sk-of-a-test",
            default_headers=headers,
        )
        await asked.create(HELLO)
        await asked.close()
        assert asked.dump_component().config.get("default_headers") == headers
    told = [request.headers["User-Agent"] for request in openai_server.requests]
    assert told == [AZURE_OPENAI_USER_AGENT, f"{AZURE_OPENAI_USER_AGENT} our-bot/2"]


async def test_azure_takes_a_token_instead_of_a_key(openai_server: FakeOpenAI):
    openai_server.script(Reply(text="ok"))
    asked = AzureOpenAIChatCompletionClient(
        model="gpt-4o",
        azure_endpoint=openai_server.url.removesuffix("/v1"),
        api_version="2024-10-21",
        azure_ad_token_provider=lambda: "token-of-a-test",
    )
    await asked.create(HELLO)
    await asked.close()
    assert openai_server.requests[0].headers["Authorization"] == "Bearer token-of-a-test"
    assert openai_server.requests[0].path == "/openai/deployments/gpt-4o/chat/completions"
    with pytest.raises(NotImplementedError, match="azure_ad_token_provider"):
        asked.dump_component()


# Construction and components


async def test_a_dumped_client_shows_no_key_and_loads_with_the_environments(
    openai_server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
):
    asked = client(openai_server, temperature=0.1, max_tokens=100, model_info=ABLE)
    dumped = asked.dump_component().model_dump_json()
    await asked.close()
    assert "sk-of-a-test" not in dumped + repr(asked)

    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    form: Any = {
        **json.loads(dumped),
        "provider": "autogen_ext.models.openai.OpenAIChatCompletionClient",
    }
    loaded = ChatCompletionClient.load_component(ComponentModel(**form))
    assert loaded.model_info == ABLE
    openai_server.script(Reply(text="ok"))
    await loaded.create(HELLO)
    await loaded.close()
    request = openai_server.requests[0]
    assert request.headers["Authorization"] == "Bearer sk-of-the-environment"
    assert request.body["temperature"] == 0.1
    assert request.body["max_tokens"] == 100


async def test_a_model_with_given_abilities_needs_no_known_name(openai_server: FakeOpenAI):
    openai_server.models.add("qwen-of-this-house")
    openai_server.script(Reply(text="ok"))
    asked = client(openai_server, model="qwen-of-this-house", model_info=ABLE)
    await asked.create(HELLO)
    assert asked.model == "qwen-of-this-house"
    assert asked.model_info == ABLE
    with pytest.raises(ValueError, match="context length"):
        asked.remaining_tokens(HELLO)
    await asked.close()


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"model": "qwen-of-this-house"}, "model_info is required"),
        ({"model": "gpt-4o", "temprature": 1.0}, "temprature"),
        ({"model": "gpt-4o", "model_info": {"vision": True}}, "function_calling"),
        ({}, "model"),
        ({"model": "gpt-4o", "base_url": "http://localhost:abc/v1"}, "port"),
        ({"model": "gpt-4o", "base_url": "http://localhost:99999/v1"}, "port"),
    ],
    ids=[
        *("unknown model", "unknown setting", "incomplete model_info", "no model"),
        *("no port", "no such port"),
    ],
)
def test_bad_settings_are_refused_without_showing_the_key(settings: dict[str, Any], complaint: str):
    with pytest.raises(ValueError, match=complaint) as caught:
        OpenAIChatCompletionClient(api_key="sk-of-a-test", **settings)
    assert "sk-of-a-test" not in str(caught.value)


@pytest.mark.parametrize(
    ("model", "family", "address", "variable"),
    [
        ("gpt-4o-2024-08-06", "gpt-4o", "https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("gpt-4-0613", "gpt-4", "https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("gpt-4.1-nano", "gpt-41", "https://api.openai.com/v1", "OPENAI_API_KEY"),
        (
            "gemini-2.5-flash",
            "gemini-2.5-flash",
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "GEMINI_API_KEY",
        ),
        (
            "claude-3-5-sonnet-20241022",
            "claude-3-5-sonnet",
            "https://api.anthropic.com/v1",
            "ANTHROPIC_API_KEY",
        ),
    ],
)
async def test_known_models_are_asked_where_they_live(
    monkeypatch: pytest.MonkeyPatch, model: str, family: str, address: str, variable: str
):
    monkeypatch.setenv(variable, "sk-of-the-environment")
    asked = OpenAIChatCompletionClient(model=model)
    assert asked.model_info["family"] == family
    assert f"endpoint='{address}'" in repr(asked)
    await asked.close()


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("claude-4-sonnet", "claude-4-sonnet"),
        ("claude-4-opus", "claude-4-opus"),
        ("llama-4-scout", "llama-4-scout"),
        ("llama-4-maverick", "llama-4-maverick"),
    ],
)
async def test_other_names_of_models_are_known(openai_server: FakeOpenAI, model: str, family: str):
    asked = client(openai_server, model=model)
    assert asked.model_info["family"] == family
    assert asked.model_info["vision"]
    await asked.close()


async def test_tokens_are_counted_without_asking_anybody(
    openai_server: FakeOpenAI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    asked = client(openai_server)
    few = asked.count_tokens(HELLO)
    long = [*HELLO, UserMessage(content="word " * 1000, source="user")]
    many = asked.count_tokens(long, tools=[FunctionTool(add, description="Adds.")])
    assert 5 < few < 30
    assert 1000 < many < 2000
    assert asked.remaining_tokens(HELLO) == 128_000 - few
    picture = [UserMessage(content=["Look", Image.from_base64(PIXEL)], source="user")]
    assert asked.count_tokens(picture) < 1000
    await asked.close()


def test_a_damaged_table_of_tokens_is_as_good_as_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    tiktoken_load = pytest.importorskip("tiktoken.load")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    url = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
    table = tmp_path / hashlib.sha1(url.encode()).hexdigest()
    table.write_bytes(b"damaged")
    # The very name under which tiktoken looks for it.
    assert tiktoken_load.read_file_cached(url) == b"damaged"
    text_counter.cache_clear()
    try:
        assert text_counter("o200k_base")("word " * 8) == 10
    finally:
        text_counter.cache_clear()


def test_the_sdk_is_not_imported_before_a_client_is_made():
    check = (
        "import sys, teams, teams.auth.azure, teams.models, teams.models.azure, "
        "teams.models.ollama, teams.models.openai, teams.models.replay; "
        "assert not {'openai', 'httpx', 'azure', 'azure.identity'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", check], check=True, timeout=30)
