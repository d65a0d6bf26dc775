"""Ollama's client: addresses, options, messages, and models that Ollama tells of."""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from teams.core import FunctionCall, Image
from teams.models import (
    AssistantMessage,
    BadAnswer,
    ChatCompletionClient,
    ContextOverflow,
    CreateResult,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    ModelUnreachable,
    SystemMessage,
    UnknownModel,
    UserMessage,
)
from teams.models.ollama import OllamaChatCompletionClient
from teams.testing import Refuse, SaidCall, Say
from teams.tools import FunctionTool
from tests.fakes.ollama_server import FakeOllama

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
HELLO = [UserMessage(content="Hello", source="user")]
FULL = {
    "capabilities": ["completion", "tools"],
    "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40_000},
}


class Weather(BaseModel):
    city: str


def add(a: int, b: int) -> int:
    return a + b


ADD = FunctionTool(add, description="Adds.")


@pytest.fixture
async def server() -> AsyncGenerator[FakeOllama]:
    async with FakeOllama() as running:
        yield running


def client(server: FakeOllama, **settings: Any) -> OllamaChatCompletionClient:
    given: Any = {"model": "llama3.2", "host": server.url, **settings}
    return OllamaChatCompletionClient(**given)


async def body_of(server: FakeOllama, *messages: Any, settings: Any = None, **asked: Any) -> Any:
    """The body of a request."""
    server.script(Say(text="ok"))
    made = client(server, **(settings or {}))
    await made.create(messages or HELLO, **asked)
    await made.close()
    return server.bodies[-1]


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("", "http://127.0.0.1:11434"),
        ("gpu", "http://gpu:11434"),
        ("gpu:8080", "http://gpu:8080"),
        (":8080", "http://127.0.0.1:8080"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("[::]:8080", "http://[::1]:8080"),
        ("[fd00::1]", "http://[fd00::1]:11434"),
        ("http://gpu", "http://gpu:80"),
        ("https://gpu.example/ollama/", "https://gpu.example:443/ollama"),
        ("HTTP://gpu:8080", "http://gpu:8080"),
        ("https://user:password@gpu.example:8443", "https://gpu.example:8443"),
    ],
)
async def test_the_address_may_have_any_form_of_ollamas_own(
    host: str, address: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OLLAMA_HOST", host)
    made = OllamaChatCompletionClient(model="llama3.2")
    await made.close()
    assert repr(made) == f"OllamaChatCompletionClient(model='llama3.2', endpoint='{address}')"


@pytest.mark.parametrize("host", ["ftp://gpu", "gpu:port", "http://[::1"])
def test_what_is_no_address_is_refused(host: str):
    with pytest.raises(ValueError, match="expected Ollama's address"):
        OllamaChatCompletionClient(model="llama3.2", host=host)


async def test_the_key_of_the_cloud_comes_from_the_environment(
    server: FakeOllama, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OLLAMA_API_KEY", "key-of-the-cloud")
    await body_of(server)
    assert server.seen[0].headers["Authorization"] == "Bearer key-of-the-cloud"
    await body_of(server, settings={"headers": {"authorization": "Bearer own", "X-Team": "a"}})
    assert server.seen[1].headers["Authorization"] == "Bearer own"
    assert server.seen[1].headers["X-Team"] == "a"


async def test_sampling_goes_into_the_options(server: FakeOllama):
    settings = {
        "temperature": 0.5,
        "stop": "END",
        "options": {"min_p": 0.1, "temperature": 0.9},
        "keep_alive": "10m",
        "think": False,
    }
    body = await body_of(
        server, settings=settings, extra_create_args={"seed": 7, "think": "low", "num_predict": 9}
    )
    assert body["options"] == {
        "min_p": 0.1,
        "temperature": 0.5,
        "stop": ["END"],
        "seed": 7,
        "num_predict": 9,
    }
    assert (body["keep_alive"], body["think"]) == ("10m", "low")
    assert "options" not in await body_of(server)


async def test_what_ollama_does_not_know_is_refused(server: FakeOllama):
    with pytest.raises(ValidationError, match="temprature"):
        client(server, temprature=1.0)
    made = client(server)
    with pytest.raises(ValidationError, match="logit_bias"):
        await made.create(HELLO, extra_create_args={"logit_bias": {}})
    await made.close()
    with pytest.raises(ValidationError, match="model"):
        OllamaChatCompletionClient(host=server.url)
    assert not server.bodies


async def test_a_conversation_on_the_wire(server: FakeOllama):
    call = FunctionCall(id="c1", name="add", arguments='{"a": 1, "b": 2}')
    broken = FunctionCall(id="c2", name="add", arguments="{1, 2")
    image = Image.from_base64(PIXEL)
    body = await body_of(
        server,
        SystemMessage(content="Be kind."),
        UserMessage(content=[image, "One", "Two", image, image], source="user"),
        AssistantMessage(content=[call, broken], thought="I add.", source="maths"),
        FunctionExecutionResultMessage(
            content=[
                FunctionExecutionResult(content="3", name="add", call_id="c1"),
                FunctionExecutionResult(content="?", name="add", call_id="c2"),
            ]
        ),
        AssistantMessage(content="It is 3.", thought="So.", source="maths"),
        settings={"model_info": {**ABLE, "vision": True}},
    )
    assert body["messages"] == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "One", "images": [PIXEL]},
        {"role": "user", "content": "Two", "images": [PIXEL, PIXEL]},
        {
            "role": "assistant",
            "content": "",
            "thinking": "I add.",
            "tool_calls": [
                {"function": {"name": "add", "arguments": {"a": 1, "b": 2}}},
                {"function": {"name": "add", "arguments": {"arguments": "{1, 2"}}},
            ],
        },
        {"role": "tool", "content": "3", "tool_name": "add"},
        {"role": "tool", "content": "?", "tool_name": "add"},
        {"role": "assistant", "content": "It is 3."},
    ]


ABLE = {
    "vision": False,
    "function_calling": True,
    "json_output": True,
    "structured_output": True,
    "family": "unknown",
}


async def test_system_messages_become_one_where_the_model_takes_one(server: FakeOllama):
    settings = {"model_info": {**ABLE, "multiple_system_messages": False}}
    about = [SystemMessage(content="Be kind."), SystemMessage(content="Be brief.")]
    body = await body_of(server, *about, *HELLO, settings=settings)
    assert body["messages"][0] == {"role": "system", "content": "Be kind.\nBe brief."}


async def test_of_a_chosen_tool_it_alone_is_offered(server: FakeOllama):
    other = FunctionTool(add, name="other", description="Adds.")
    body = await body_of(server, tools=[other, ADD], tool_choice=ADD)
    assert [tool["function"]["name"] for tool in body["tools"]] == ["add"]
    body = await body_of(server, tools=[other, ADD], tool_choice="required")
    assert len(body["tools"]) == 2
    assert "tools" not in await body_of(server, tools=[ADD], tool_choice="none")
    made = client(server)
    with pytest.raises(ValueError, match="no tools"):
        await made.create(HELLO, tool_choice="required")
    await made.close()


async def test_ids_of_calls_differ_from_turn_to_turn(server: FakeOllama):
    said = Say(calls=[SaidCall(name="add"), SaidCall(name="add")])
    server.script(said, said)
    made = client(server)
    results = [await made.create(HELLO, tools=[ADD]) for _ in range(2)]
    await made.close()
    calls = [call for result in results for call in result.content]
    assert len({call.id for call in calls if isinstance(call, FunctionCall)}) == 4


async def test_marks_of_a_thought_are_read(server: FakeOllama):
    server.script(*[Say(text="<think>Six.</think>\n\n42", pieces=9)] * 2)
    made = client(server, model_info=ABLE)
    *pieces, streamed = [item async for item in made.create_stream(HELLO)]
    whole = await made.create(HELLO)
    await made.close()
    assert isinstance(streamed, CreateResult)
    assert "".join(map(str, pieces)) == whole.content == streamed.content == "42"
    assert whole.thought == streamed.thought == "Six."


async def test_an_answer_cut_before_it_said_anything_is_bad(server: FakeOllama):
    server.script(Say(thought="Well", finish="length"))
    made = client(server)
    with pytest.raises(BadAnswer, match="token limit"):
        await made.create(HELLO)
    await made.close()


async def test_a_form_is_given_once(server: FakeOllama):
    body = await body_of(server, settings={"format": "json"})
    assert body["format"] == "json"
    made = client(server)
    with pytest.raises(ValueError, match="together"):
        await made.create(HELLO, json_output=True, extra_create_args={"format": "json"})
    await made.close()


async def test_response_format_still_works(server: FakeOllama):
    with pytest.warns(DeprecationWarning, match="json_output"):
        body = await body_of(server, settings={"response_format": Weather})
    assert body["format"]["properties"].keys() == {"city"}
    deprecated = pytest.warns(DeprecationWarning, match="json_output")
    with deprecated, pytest.raises(ValueError, match="together"):
        client(server, response_format=Weather, format="json")


# Models


async def test_an_unknown_model_is_asked_about_at_the_first_request():
    async with FakeOllama(Say(text="ok"), Say(text="ok"), models={"house:7b": FULL}) as server:
        made = client(server, model="house:7b")
        assert made.model_info["vision"]
        with pytest.raises(ValueError, match="before the first request"):
            made.remaining_tokens(HELLO)
        assert server.shown == []
        await made.create(HELLO, tools=[ADD])
        _ = [item async for item in made.create_stream(HELLO)]
        assert server.shown == ["house:7b"]
        assert made.model_info["function_calling"]
        assert not made.model_info["vision"]
        assert made.remaining_tokens(HELLO) == 40_000 - made.count_tokens(HELLO)
        await made.close()


async def test_what_ollama_says_a_model_cannot_do_is_refused():
    async with FakeOllama(models={"tiny": {"capabilities": ["completion"]}}) as server:
        made = client(server, model="tiny")
        with pytest.raises(ValueError, match="function calling"):
            await made.create(HELLO, tools=[ADD])
        with pytest.raises(ValueError, match="not known: give num_ctx"):
            made.remaining_tokens(HELLO)
        await made.close()
        assert server.bodies == []


async def test_an_older_ollama_tells_no_abilities():
    async with FakeOllama(Say(text="ok"), models={"house": {"details": {}}}) as server:
        made = client(server, model="house")
        assert (await made.create(HELLO, tools=[ADD])).content == "ok"
        await made.close()


@pytest.mark.parametrize("settings", [{}, {"model_info": ABLE}], ids=["asked about", "asked"])
async def test_a_model_that_was_not_pulled_is_told_with_the_command(settings: Any):
    async with FakeOllama() as server:
        made = client(server, model="house:7b", **settings)
        with pytest.raises(UnknownModel, match="`ollama pull house:7b`"):
            await made.create(HELLO)
        await made.close()


async def test_known_models_are_not_asked_about(server: FakeOllama):
    made = client(server, model="qwen3:8b", num_ctx=5_000)
    assert made.remaining_tokens(HELLO) == 5_000 - made.count_tokens(HELLO)
    assert made.model_info["function_calling"]
    assert made.model == "qwen3:8b"
    await made.close()
    thinker = client(server, model="deepseek-r1:8b")
    assert thinker.model_info["family"] == "r1"
    assert thinker.remaining_tokens(HELLO) > 100_000
    await thinker.close()


async def test_images_are_counted_alike(server: FakeOllama):
    made = client(server, model="llava")
    image = Image.from_base64(PIXEL)
    look = [UserMessage(content=["Look", image], source="user")]
    assert made.count_tokens(look) - made.count_tokens(HELLO) < 1_000
    await made.close()


async def test_the_limit_of_an_answer_is_known(server: FakeOllama):
    limits = []
    for settings in ({"num_predict": 50}, {"options": {"num_predict": -1}}, {}):
        made = client(server, **settings)
        limits.append(made.max_output_tokens)
        await made.close()
    assert limits == [50, None, None]


# Failures


async def test_a_server_that_is_not_there_is_told_with_the_command():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but nobody listens
        made = OllamaChatCompletionClient(
            model="llama3.2", host=f"127.0.0.1:{taken.getsockname()[1]}"
        )
        with pytest.raises(ModelUnreachable, match="`ollama serve`"):
            await made.create(HELLO)
        await made.close()


async def test_a_request_of_a_stream_that_is_too_long_is_told(server: FakeOllama):
    server.script(Refuse(status=400, kind="context"))
    made = client(server)
    with pytest.raises(ContextOverflow, match="input length exceeds"):
        await anext(made.create_stream(HELLO))
    await made.close()


# Components


async def test_a_dump_keeps_options_and_abilities_and_hides_the_key(server: FakeOllama):
    made = client(
        server,
        temperature=0.5,
        options={"min_p": 0.1},
        model_info=ABLE,
        timeout=30,
        headers={"Authorization": "Bearer secret-of-a-test", "X-Team": "a"},
    )
    dumped = made.dump_component()
    await made.close()
    assert dumped.provider == "teams.models.ollama.OllamaChatCompletionClient"
    assert dumped.config["options"] == {"min_p": 0.1, "temperature": 0.5}
    assert dumped.config["model_info"] == ABLE
    assert "secret-of-a-test" not in dumped.model_dump_json() + repr(made)

    form = dumped.model_dump()
    form["provider"] = "autogen_ext.models.ollama.OllamaChatCompletionClient"
    loaded = ChatCompletionClient.load_component(form)
    server.script(Say(text="ok"))
    await loaded.create(HELLO)
    await loaded.close()
    assert server.bodies[0]["options"] == {"min_p": 0.1, "temperature": 0.5}
    assert "Authorization" not in server.seen[0].headers
    assert server.seen[0].headers["X-Team"] == "a"


@pytest.mark.parametrize("host", ["https://user:pass-word@gpu/ollama", "user:pass-word@gpu:80"])
async def test_a_dump_holds_no_password_of_the_address(host: str):
    made = OllamaChatCompletionClient(model="llama3.2", host=host)
    dumped = made.dump_component()
    await made.close()
    assert dumped.config["host"] == host.replace("user:pass-word@", "")
    assert "pass-word" not in repr(made)


async def test_settings_that_autogen_lacks_are_told(server: FakeOllama):
    made = client(server, temperature=0.5)
    form = made.dump_component(provider="autogen")
    await made.close()
    assert form.provider == "autogen_ext.models.ollama.OllamaChatCompletionClient"
    assert form.config["options"] == {"temperature": 0.5}
    thinker = client(server, think=True)
    with pytest.raises(NotImplementedError, match="think"):
        thinker.dump_component(provider="autogen")
    await thinker.close()


@pytest.mark.parametrize("options", ["stop", ["stop"], 5, True])
def test_options_that_are_no_table_are_refused(options: Any):
    with pytest.raises(ValueError, match="options"):
        OllamaChatCompletionClient(model="x", options=options)
