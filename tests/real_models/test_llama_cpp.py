"""Clients and agents against llama.cpp's real server."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI
from pydantic import BaseModel

from gateway.app.check import check_config
from gateway.app.load import load_config
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.agents.openai import OpenAIAgent
from teams.base import TaskResult, TeamError
from teams.core import CancellationToken, FunctionCall, Image
from teams.messages import (
    ContextSummaryEvent,
    ModelClientStreamingChunkEvent,
    MultiModalMessage,
    ToolCallExecutionEvent,
)
from teams.model_context import AutoChatCompletionContext, UnboundedChatCompletionContext
from teams.models import (
    AssistantMessage,
    BadCredentials,
    ChatCompletionClient,
    ContentRefused,
    ContextOverflow,
    CreateResult,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    ModelTimeout,
    ModelUnreachable,
    SystemMessage,
    UserMessage,
    thinking_aloud,
)
from teams.models._edge import incoming
from teams.models.anthropic import AnthropicChatCompletionClient
from teams.models.openai import OpenAIChatCompletionClient
from teams.tools import FunctionTool, ToolSchema
from tests.real_models.llama import ABLE, KEY, SEES, LlamaServer, Make, saying

if not os.environ.get("LLAMA_PYTHON"):
    reason = "llama.cpp has an environment of its own: `make models-real` runs this"
    pytest.skip(reason, allow_module_level=True)

pytestmark = pytest.mark.timeout(120)

SHORT, LONG = {"max_tokens": 8}, {"max_tokens": 150}
CONFIG = """
[store]
folder = "store"
[models.real]
provider = "openai"
model = "smollm2"
base_url = "{url}/v1"
api_key = "sk-real"
options = {{ max_tokens = 8 }}
[teams.one]
type = "round_robin"
max_turns = 1
agents.ann = {{ model = "real" }}
"""
HELLO = [UserMessage(content="Say hello.", source="user")]
ENDLESS = [UserMessage(content="Count from 1 to 2000, with commas.", source="user")]
PIXEL = Image.from_base64(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def weather(city: str) -> str:
    """The weather of a city."""
    return f"Sunny in {city}."


WEATHER = FunctionTool(weather, "The weather of a city.", name="weather")


def named(name: str) -> ToolSchema:
    return FunctionTool(weather, "The weather of a city.", name=name).schema


async def pieces_of(client: ChatCompletionClient, *args: Any, **more: Any) -> list[Any]:
    async with aclosing(client.create_stream(*args, **more)) as stream:
        return [piece async for piece in stream]


async def both(client: ChatCompletionClient, *args: Any, **more: Any) -> list[CreateResult]:
    """The answer at once and streamed, whose pieces are its text."""
    *texts, last = await pieces_of(client, *args, **more)
    if isinstance(last.content, str):
        assert "".join(texts) == last.content
    return [await client.create(*args, **more), last]


def told_of(result: CreateResult) -> list[Any]:
    calls = result.content
    shown = calls if isinstance(calls, str) else [(call.name, call.arguments) for call in calls]
    return [shown, result.finish_reason, result.thought]


# Answers


async def test_a_text_is_the_same_at_once_and_streamed(client: OpenAIChatCompletionClient):
    whole, streamed = await both(client, HELLO)
    assert isinstance(whole.content, str)
    assert whole.content.strip()
    assert told_of(whole) == told_of(streamed)


async def test_usage_is_what_the_server_counts(
    client: OpenAIChatCompletionClient, llama: LlamaServer
):
    whole, streamed = await both(client, HELLO)
    prompt = llama.ask("/apply-template", messages=[{"role": "user", "content": "Say hello."}])
    tokens = llama.ask("/tokenize", content=prompt["prompt"], parse_special=True)["tokens"]
    assert whole.usage.prompt_tokens == streamed.usage.prompt_tokens == len(tokens)
    assert whole.usage.completion_tokens == streamed.usage.completion_tokens > 0
    assert client.actual_usage().prompt_tokens == 2 * len(tokens)


async def test_our_count_of_tokens_is_near_the_servers(client: OpenAIChatCompletionClient):
    text = "The quick brown fox jumps over the lazy dog, and nobody in the town is surprised. " * 8
    asked = [UserMessage(content=text, source="user")]
    real = (await client.create(asked)).usage.prompt_tokens
    assert real * 0.7 < client.count_tokens(asked) < real * 1.4


async def test_an_answer_that_is_cut_says_so(client: OpenAIChatCompletionClient):
    long = [UserMessage(content="Count from 1 to 500.", source="user")]
    for result in await both(client, long, extra_create_args={"max_tokens": 8}):
        assert result.finish_reason == "length"
        assert result.usage.completion_tokens == 8


async def test_stop_words_end_an_answer_and_are_not_in_it(client: OpenAIChatCompletionClient):
    for result in await both(
        client, HELLO, extra_create_args={**saying("one two three"), "stop": [" two"]}
    ):
        assert told_of(result) == ["one", "stop", None]


async def test_logprobs_arrive(client: OpenAIChatCompletionClient):
    extra = {"logprobs": True, "top_logprobs": 2, "max_tokens": 3}
    for result in await both(client, HELLO, extra_create_args=extra):
        assert result.logprobs
        assert all(each.logprob <= 0 for each in result.logprobs)
        assert len(result.logprobs[0].top_logprobs or ()) == 2


@pytest.mark.parametrize(
    ("said", "text", "thought"),
    [
        ("<think>Hm, well.</think>Accra.", "Accra.", "Hm, well."),
        ("<thinking>\nHm.\n</thinking>\n\nAccra.", "Accra.", "Hm."),
        ("[THINK]Hm.[/THINK]Accra.", "Accra.", "Hm."),
        ("◁think▷Hm.◁/think▷Accra.", "Accra.", "Hm."),
        ("The tag <think> opens it.", "The tag <think> opens it.", None),
        ("`<think>` opens, `</think>` closes.", "`<think>` opens, `</think>` closes.", None),
    ],
)
async def test_reasoning_in_real_tokens_is_told_apart(
    client: OpenAIChatCompletionClient, said: str, text: str, thought: str | None
):
    for result in await both(client, HELLO, extra_create_args=saying(said)):
        assert told_of(result) == [text, "stop", thought]


async def test_marks_of_a_setting_are_read(make: Make):
    client = make(reasoning_marks=("", "[done]"))
    for result in await both(client, HELLO, extra_create_args=saying("Hm.[done]Accra.")):
        assert told_of(result) == ["Accra.", "stop", "Hm."]


@pytest.mark.parametrize(
    "text", ["Ünïcödé 🎉 日本語", "a\tb\nc", "```python\nx = 1\n```", "\\n \" '"]
)
async def test_any_text_comes_whole_through_pieces_of_tokens(
    client: OpenAIChatCompletionClient, text: str
):
    for result in await both(client, HELLO, extra_create_args=saying(text)):
        assert result.content == text


# JSON


class City(BaseModel):
    name: str
    people: int


async def test_structured_output_fits_its_model(client: OpenAIChatCompletionClient):
    asked = [UserMessage(content="Accra has two million people. Describe it.", source="user")]
    for result in await both(client, asked, json_output=City, extra_create_args=LONG):
        assert isinstance(result.content, str)
        City.model_validate_json(result.content)


async def test_json_output_is_json(client: OpenAIChatCompletionClient):
    asked: list[LLMMessage] = []
    for text in ('{"a": 1}', '{"b": 2}'):  # so small a model goes on and on without examples
        asked += [
            UserMessage(content=f"Answer {text}", source="user"),
            AssistantMessage(content=text, source="ann"),
        ]
    asked.append(UserMessage(content='Answer {"c": 3}', source="user"))
    result = await client.create(asked, json_output=True, extra_create_args=LONG)
    assert isinstance(json.loads(str(result.content)), dict)


@pytest.mark.parametrize(
    "said", ['```json\n{"name": "Accra", "people": 2}\n```', 'Here: {"name": "Accra", "people": 2}']
)
async def test_json_in_a_fence_is_taken_out(client: OpenAIChatCompletionClient, said: str):
    answer = await client.create(HELLO, extra_create_args=saying(said))
    assert City.model_validate_json(str(incoming(answer, structured=City).content)).people == 2


# Tools


def past(
    call_id: str, name: str = "weather", arguments: str = '{"city": "Lagos"}'
) -> list[LLMMessage]:
    call = FunctionCall(id=call_id, name=name, arguments=arguments)
    result = FunctionExecutionResult(content="Sunny.", name=name, call_id=call_id, is_error=False)
    return [
        UserMessage(content="What is the weather in Lagos?", source="user"),
        AssistantMessage(content=[call], source="ann"),
        FunctionExecutionResultMessage(content=[result]),
        AssistantMessage(content="Sunny in Lagos.", source="ann"),
    ]


ACCRA = UserMessage(content="What is the weather in Accra?", source="user")


@pytest.mark.parametrize("name", ["weather", "dotted.name/odd", "we ird!", "w" * 80, "ümlaut"])
async def test_a_tool_of_any_name_is_called_by_it(client: OpenAIChatCompletionClient, name: str):
    asked = [*past("c1", name), *past("c2", name), ACCRA]
    for result in await both(
        client, asked, tools=[named(name)], tool_choice="required", extra_create_args=LONG
    ):
        assert result.finish_reason == "function_calls"
        assert isinstance(result.content, list)
        for call in result.content:
            assert call.name == name
            assert call.id
            assert set(json.loads(call.arguments)) == {"city"}


@pytest.mark.parametrize(
    "messages",
    [
        past("functions.weather:0"),
        past("i" * 80),
        past("c1", arguments="not json"),
        past("c1", arguments="[1, 2]"),
        past("c1", name="dotted.name/odd"),
        past("c1") + past("c1"),
        past("c1")[:2],
        past("c1")[:1] + past("c1")[2:],
    ],
)
@pytest.mark.parametrize("offered", [True, False])
async def test_past_calls_of_any_form_are_taken(
    client: OpenAIChatCompletionClient, messages: list[LLMMessage], offered: bool
):
    more: Any = {"tools": [WEATHER], "tool_choice": "none"} if offered else {}
    assert (await client.create([*messages, *HELLO], extra_create_args=SHORT, **more)).content


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "array"}}},
        {"type": "object", "properties": {"a": {"prefixItems": [{"type": "string"}]}}},
        {"anyOf": [{"type": "object"}, {"type": "object"}]},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {}}},
        {"type": "object", "properties": {"a": {"enum": [1, "x", None]}}, "required": ["a"]},
        {},
    ],
)
async def test_schemas_of_any_form_are_taken(client: OpenAIChatCompletionClient, schema: Any):
    tool: ToolSchema = {"name": "odd", "description": "", "parameters": schema}
    more: Any = {"tools": [tool], "tool_choice": "required", "extra_create_args": SHORT}
    assert (await client.create(HELLO, **more)).finish_reason in ("function_calls", "length")


# Messages


@pytest.mark.parametrize(
    "messages",
    [
        [SystemMessage(content="Be brief."), *HELLO],
        [SystemMessage(content="Be brief."), SystemMessage(content="Be kind."), *HELLO],
        [*HELLO, *HELLO],
        [*HELLO, AssistantMessage(content="Hello.", source="ann")],
        [*HELLO, *[AssistantMessage(content="Hello.", source=name) for name in ("ann", "bob")]],
        [AssistantMessage(content="Hello.", source="ann"), *HELLO],
        [UserMessage(content="", source="user")],
        [AssistantMessage(content="", source="ann"), *HELLO],
        [UserMessage(content="\ud800 \x00 \x1b[31m", source="user")],
        [SystemMessage(content="Be brief.")],
    ],
)
async def test_messages_in_any_order_are_taken(
    client: OpenAIChatCompletionClient, messages: list[LLMMessage]
):
    for result in await both(client, messages, extra_create_args=SHORT):
        assert isinstance(result.content, str)


# Errors


async def test_a_conversation_that_is_too_long_is_told_as_that(client: OpenAIChatCompletionClient):
    long = [UserMessage(content="word " * 3000, source="user")]
    with pytest.raises(ContextOverflow):
        await client.create(long)
    with pytest.raises(ContextOverflow):
        await pieces_of(client, long)


async def test_an_image_that_the_model_can_not_see_is_refused_content(make: Make):
    client, seen = make(model_info=SEES), [UserMessage(content=["Look!", PIXEL], source="user")]
    with pytest.raises(ContentRefused) as raised:
        await client.create(seen)
    assert raised.value.about_files
    with pytest.raises(ContentRefused):
        await pieces_of(client, seen)


async def test_a_wrong_key_is_told_as_that(make: Make):
    with pytest.raises(BadCredentials):
        await make(api_key="wrong").create(HELLO)


async def test_an_answer_that_takes_too_long_is_given_up(make: Make):
    with pytest.raises((ModelTimeout, ModelUnreachable)):
        await make(timeout=0.001).create(HELLO)


async def until(done: Callable[[], bool]) -> None:
    """Ask the server until that is so; it tells nobody."""
    async with asyncio.timeout(60):
        while not await asyncio.to_thread(done):
            pass


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_cancelled_answer_frees_the_server(
    client: OpenAIChatCompletionClient, llama: LlamaServer, streamed: bool
):
    token = CancellationToken()
    ask = pieces_of if streamed else client.create
    asked: Any = (client, ENDLESS) if streamed else (ENDLESS,)
    more = {"max_tokens": 900, "extra_body": {"ignore_eos": True}}
    async with asyncio.TaskGroup() as group:
        task = group.create_task(ask(*asked, extra_create_args=more, cancellation_token=token))
        await until(lambda: llama.busy > 0)
        token.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    await until(lambda: llama.busy == 0)


async def test_who_leaves_a_stream_frees_the_server(
    client: OpenAIChatCompletionClient, llama: LlamaServer
):
    more = {"max_tokens": 900, "extra_body": {"ignore_eos": True}}
    async with aclosing(client.create_stream(ENDLESS, extra_create_args=more)) as stream:
        assert isinstance(await anext(stream), str)
    await until(lambda: llama.busy == 0)


async def test_answers_side_by_side_are_not_mixed(client: OpenAIChatCompletionClient):
    texts = ["alpha beta", "gamma delta", "epsilon zeta", "eta theta"]
    answers = await asyncio.gather(
        *(client.create(HELLO, extra_create_args=saying(text)) for text in texts)
    )
    assert [answer.content for answer in answers] == texts


# An agent


async def test_an_agent_calls_a_tool_and_answers(client: OpenAIChatCompletionClient):
    agent = AssistantAgent(
        "ann",
        client,
        tools=[WEATHER],
        model_client_stream=True,
        reflect_on_tool_use=True,
        system_message=None,
        model_context=UnboundedChatCompletionContext([*past("c1"), *past("c2")]),
    )
    team = RoundRobinGroupChat([agent], max_turns=1)
    items = [item async for item in team.run_stream(task="What is the weather in Accra?")]
    results = [item for item in items if isinstance(item, ToolCallExecutionEvent)]
    assert [each.content for item in results for each in item.content] == ["Sunny in Accra."]
    chunks = [item.content for item in items if isinstance(item, ModelClientStreamingChunkEvent)]
    assert isinstance(final := items[-1], TaskResult)
    assert "".join(chunks) == final.messages[-1].to_text()


async def test_a_thought_grows_in_an_agents_chunks(make: Make):
    client = make(**saying("<think>One thing is certain.</think>Accra."))
    agent = AssistantAgent("ann", client, model_client_stream=True)
    with thinking_aloud():
        items = [item async for item in agent.run_stream(task="Capital of Ghana?")]
    chunks = [item for item in items if isinstance(item, ModelClientStreamingChunkEvent)]
    assert "".join(chunk.thought for chunk in chunks) == "One thing is certain."
    assert "".join(chunk.content for chunk in chunks) == "Accra."


async def test_an_agents_thread_goes_on_after_a_refused_image(make: Make):
    team = RoundRobinGroupChat([AssistantAgent("ann", make(model_info=SEES))], max_turns=1)
    with pytest.raises(TeamError):
        await team.run(task=MultiModalMessage(content=["Look!", PIXEL], source="user"))
    assert (await team.run()).messages[-1].to_text().strip()


async def test_a_team_runs_again_and_again_without_a_task(client: OpenAIChatCompletionClient):
    team = RoundRobinGroupChat([AssistantAgent("ann", client)], max_turns=1)
    await team.run(task="Say hello.")
    for _ in range(3):
        assert (await team.run()).messages[-1].to_text().strip()


@pytest.mark.parametrize(
    ("settings", "ending"), [({"max_tokens": 4}, "length"), (saying("Hello."), None)]
)
async def test_an_agents_message_says_that_it_was_cut(make: Make, settings: Any, ending: str):
    agent = AssistantAgent("ann", make(**settings))
    message = (await agent.run(task="Count to 100.")).messages[-1]
    assert message.metadata.get("finish_reason") == ending


async def test_a_thread_too_long_for_it_goes_on_with_a_summary(make: Make):
    context = AutoChatCompletionContext(client := make(max_tokens=64))
    agent = AssistantAgent("ann", client, model_context=context, system_message="Be brief.")
    made = list[ContextSummaryEvent]()
    for number in range(12):
        story = f"Story {number}: the quick brown fox jumps over the lazy dog. " * 12
        said = (await agent.run(task=story)).messages
        assert said[-1].to_text().strip()
        made += [each for each in said if isinstance(each, ContextSummaryEvent)]
    assert context.window  # the server told
    assert made
    for each in made:
        assert each.content
        assert not each.left_out
        assert each.models_usage
        assert each.models_usage.completion_tokens > 0


# Other protocols that it speaks


async def test_claudes_client_asks_it_in_anthropics_form(llama: LlamaServer):
    client = AnthropicChatCompletionClient(
        model="smollm2",
        api_key=KEY,
        base_url=llama.url,
        model_info=ABLE,
        max_tokens=24,
        max_retries=0,
        temperature=0,
    )
    whole, streamed = await both(client, [SystemMessage(content="Be brief."), *HELLO])
    assert told_of(whole) == told_of(streamed)
    assert whole.usage == streamed.usage
    assert whole.usage.prompt_tokens > 0
    asked = [*past("c1"), *past("c2"), ACCRA]
    for result in await both(client, asked, tools=[WEATHER], extra_create_args=LONG):
        assert isinstance(result.content, list)
        assert json.loads(result.content[0].arguments) == {"city": "Accra"}
    with pytest.raises(ContextOverflow):
        await client.create([UserMessage(content="word " * 3000, source="user")])
    await client.close()


async def test_a_hosted_agent_asks_it_over_the_responses_api(llama: LlamaServer):
    sdk = AsyncOpenAI(api_key=KEY, base_url=f"{llama.url}/v1", max_retries=0)
    agent = OpenAIAgent(
        "ann", "An agent.", sdk, "smollm2", "Be brief.", store=False, max_output_tokens=24
    )
    result = await agent.run(task="Say hello.")
    assert result.messages[-1].to_text().strip()
    await sdk.close()


async def test_a_config_names_it_and_check_asks_it(llama: LlamaServer, tmp_path: Path):
    path = tmp_path / "config.toml"
    path.write_text(CONFIG.format(url=llama.url))
    findings = await check_config(load_config(path), offline=False)
    (model,) = [each for each in findings if each.kind == "model"]
    assert model.good
