"""OpenAIAgent against a server that refuses what OpenAI refuses."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.agents.openai import OpenAIAgent
from teams.base import TaskResult
from teams.core import CancellationToken, Image
from teams.messages import (
    ModelClientStreamingChunkEvent,
    MultiModalMessage,
    TextMessage,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
)
from teams.models import (
    BadAnswer,
    BadCredentials,
    ModelError,
    ModelRefused,
    RateLimited,
    RequestUsage,
)
from teams.tools import FunctionTool
from tests.fakes.openai_script import Call, Fail, Fault, Reply
from tests.fakes.openai_server import FakeOpenAI

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
ADDING = Reply(calls=[Call(name="add", arguments='{"a": 1, "b": 2}')])
CITED = {"type": "url_citation", "url": "https://example.com", "title": "A"}
SEARCHED = {"type": "web_search_call", "id": "ws_1", "status": "completed"}


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


ADD = FunctionTool(add, "Add two numbers.")


@asynccontextmanager
async def asking(server: FakeOpenAI) -> AsyncGenerator[AsyncOpenAI]:
    async with AsyncOpenAI(api_key="sk-of-a-test", base_url=server.url, max_retries=0) as client:
        yield client


def make(client: AsyncOpenAI, *tools: Any, **settings: Any) -> OpenAIAgent:
    return OpenAIAgent("ada", "Answers.", client, "gpt-4o", "Be kind.", tools, **settings)


def answer(result: TaskResult) -> str:
    return result.messages[-1].to_text()


async def test_only_what_is_new_goes_out_with_the_id_of_the_last_answer(openai_server) -> None:
    openai_server.script(Reply(text="Hello."), Reply(text="Fine."))
    async with asking(openai_server) as client:
        agent = make(client)
        result = await agent.run(task="Hi")
        await agent.run(task="How are you?")
    assert isinstance(result.messages[-1], TextMessage)
    assert result.messages[-1].models_usage == RequestUsage(10, 5)
    first, second = (dict(request.body) for request in openai_server.requests)
    assert first == {
        "model": "gpt-4o",
        "store": True,
        "instructions": "Be kind.",
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}],
    }
    assert second["previous_response_id"] == "resp_1"
    said = [{"type": "input_text", "text": "How are you?"}]
    assert second["input"] == [{"role": "user", "content": said}]


async def test_without_a_store_the_whole_conversation_goes_out(openai_server) -> None:
    openai_server.script(ADDING, Reply(text="Three."), Reply(text="Bye."))
    async with asking(openai_server) as client:
        agent = make(client, add, store=False)
        await agent.run(task="1 + 2?")
        await agent.run(task="Thanks")
    last = openai_server.requests[-1].body
    assert "previous_response_id" not in last
    assert [item.get("type") or item["role"] for item in last["input"]] == [
        *("user", "function_call", "function_call_output", "assistant", "user")
    ]


async def test_an_answer_that_openai_has_forgotten_is_told_again(openai_server) -> None:
    openai_server.script(Reply(text="Hello."), Reply(text="Still here."))
    async with asking(openai_server) as client:
        agent = make(client)
        await agent.run(task="Hi")
        openai_server.responses.forget()
        assert answer(await agent.run(task="Are you there?")) == "Still here."
    refused, last = openai_server.requests[1:]
    assert "not found" in refused.refused
    assert [item["role"] for item in last.items] == ["user", "assistant", "user"]


async def test_functions_run_here_and_a_streamed_answer_comes_in_pieces(openai_server) -> None:
    openai_server.script(ADDING, Reply(text="It is three."))
    async with asking(openai_server) as client:
        agent = make(client, ADD, model_client_stream=True)
        items = [item async for item in agent.run_stream(task="1 + 2?")]
    kinds = [type(item) for item in items[1:-2]]
    assert kinds == [
        ToolCallRequestEvent,
        ToolCallExecutionEvent,
        *[ModelClientStreamingChunkEvent] * 3,
    ]
    text = "".join(
        item.content for item in items if isinstance(item, ModelClientStreamingChunkEvent)
    )
    assert text == "It is three."
    assert isinstance(items[-1], TaskResult)
    assert openai_server.requests[1].items == [
        {"type": "function_call_output", "call_id": "call_1_0", "output": "3"}
    ]


async def test_images_go_out_and_come_back(openai_server) -> None:
    drawn = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": PIXEL}
    openai_server.script(Reply(text="Here:", items=[drawn]))
    image = Image.from_base64(PIXEL)
    async with asking(openai_server) as client:
        task = MultiModalMessage(content=["Draw this", image], source="user")
        result = await make(client, "image_generation").run(task=task)
    assert isinstance(result.messages[-1], MultiModalMessage)
    assert result.messages[-1].content == ["Here:", image]
    part = openai_server.requests[0].items[0]["content"][1]
    assert part == {"type": "input_image", "image_url": image.data_uri, "detail": "auto"}


async def test_hosted_tools_are_told_of_and_sources_are_named(openai_server) -> None:
    reached = {
        "type": "mcp_call",
        "id": "m_1",
        "server_label": "wiki",
        "name": "read",
        "error": "x",
    }
    openai_server.script(Reply(text="Rain.", items=[SEARCHED, reached], annotations=[CITED]))
    wiki = {
        "type": "mcp",
        "server_label": "wiki",
        "server_url": "https://wiki.example.com",
        "require_approval": "never",
    }
    async with asking(openai_server) as client:
        result = await make(client, "web_search_preview", wiki).run(task="Weather?")
    _, told, said = result.messages
    assert isinstance(told, ToolCallExecutionEvent)
    assert told.metadata == {"hosted": "provider"}
    assert [(each.name, each.is_error) for each in told.content] == [
        ("web_search", False),
        ("wiki/read", True),
    ]
    assert json.loads(said.metadata["citations"]) == [CITED]
    assert openai_server.requests[0].body["tools"] == [{"type": "web_search_preview"}, wiki]


async def test_json_mode_and_other_settings_on_the_wire(openai_server) -> None:
    openai_server.script(Reply(text="{}"))
    async with asking(openai_server) as client:
        agent = make(
            client, json_mode=True, temperature=0.5, max_output_tokens=50, truncation="auto"
        )
        await agent.run(task="Who are you?")
    body = openai_server.requests[0].body
    assert body["text"] == {"format": {"type": "json_object"}}
    assert (body["temperature"], body["max_output_tokens"], body["truncation"]) == (0.5, 50, "auto")


async def test_a_name_precedes_what_another_agent_has_said(openai_server) -> None:
    openai_server.script(Reply(text="Yes."))
    async with asking(openai_server) as client:
        await make(client).run(task=TextMessage(content="Right?", source="bob"))
    parts = openai_server.requests[0].items[0]["content"]
    assert "".join(part["text"] for part in parts) == "bob said:\nRight?"


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("reply", "error", "text"),
    [
        (Fail(status=429, message="Slow down"), RateLimited, "Slow down"),
        (Fault(kind="reset"), ModelError, "connection"),
        (Reply(finish_reason="content_filter"), ModelRefused, "filter"),
        (Reply(finish_reason="max_output_tokens"), BadAnswer, "token limit"),
        (Reply(items=[{"type": "mcp_approval_request"}]), BadAnswer, "require_approval"),
        (Reply(items=[{"type": "local_shell_call"}]), BadAnswer, "shell"),
    ],
)
async def test_an_error_keeps_its_type_and_cause(
    openai_server, reply, error, text, streamed
) -> None:
    openai_server.script(reply)
    async with asking(openai_server) as client:
        with pytest.raises(error, match=text) as caught:
            await make(client, model_client_stream=streamed).run(task="Hi")
    if isinstance(reply, Fail | Fault):
        assert isinstance(caught.value.__cause__, openai.OpenAIError)


async def test_a_stream_that_breaks_off_is_no_answer(openai_server) -> None:
    openai_server.script(Fault(kind="cut", after=2))
    async with asking(openai_server) as client:
        with pytest.raises(ModelError, match="before it was complete"):
            await make(client, model_client_stream=True).run(task="Hi")


@pytest.mark.parametrize("streamed", [False, True])
async def test_cancelling_closes_the_request_and_the_next_turn_works(
    openai_server, streamed
) -> None:
    openai_server.script(Reply(text="never", gate=openai_server.gate), Reply(text="Hello."))
    async with asking(openai_server) as client:
        agent, token = make(client, model_client_stream=streamed), CancellationToken()
        running = asyncio.ensure_future(agent.run(task="Hi", cancellation_token=token))
        await openai_server.gate.reached()
        token.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await openai_server.idle()
        assert answer(await agent.run(task="Again")) == "Hello."


async def test_a_turn_goes_on_from_any_of_its_items(openai_server) -> None:
    ran: list[int] = []

    def count() -> int:
        """Count."""
        ran.append(1)
        return len(ran)

    openai_server.script(Reply(calls=[Call(name="count")]), Reply(text="One."))
    async with asking(openai_server) as client:
        team = RoundRobinGroupChat([make(client, count)], max_turns=1)
        stream, state = team.run_stream(task="Count"), {}
        async for item in stream:
            if isinstance(item, ToolCallExecutionEvent):
                state = json.loads(json.dumps(await team.save_state()))
                break
        await stream.aclose()
        again = RoundRobinGroupChat([make(client, count)], max_turns=1)
        await again.load_state(state)
        assert answer(await again.run()) == "One."
    assert len(ran) == 1
    assert openai_server.requests[-1].body["previous_response_id"] == "resp_1"


async def test_a_model_that_only_calls_has_to_answer_in_the_end(openai_server) -> None:
    def again(request: Any) -> Reply:
        calling = Reply(calls=[Call(name="add", arguments='{"a": 1, "b": 2}')])
        return calling if request.body.get("tools") else Reply(text="Enough.")

    openai_server.rule(again)
    async with asking(openai_server) as client:
        assert answer(await make(client, add).run(task="Go on")) == "Enough."
    assert len(openai_server.requests) == 21


async def test_calls_of_a_cancelled_turn_have_an_answer(openai_server) -> None:
    begun, token = asyncio.Event(), CancellationToken()

    async def wait() -> str:
        """Wait."""
        begun.set()
        await asyncio.Event().wait()
        return ""

    openai_server.script(Reply(calls=[Call(name="wait")]), Reply(text="As you like."))
    async with asking(openai_server) as client:
        agent = make(client, wait)
        running = asyncio.ensure_future(agent.run(task="Wait", cancellation_token=token))
        await begun.wait()
        token.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert answer(await agent.run(task="Leave it")) == "As you like."
    kinds = [item.get("type") or item["role"] for item in openai_server.requests[-1].items]
    assert kinds == ["function_call_output", "user"]


async def test_a_state_of_autogen_loads(openai_server) -> None:
    history = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]
    state = {"type": "OpenAIAgentState", "response_id": "resp_9", "history": history}
    openai_server.responses.kept["resp_9"] = set()
    openai_server.script(Reply(text="Fine."))
    async with asking(openai_server) as client:
        agent = make(client)
        await agent.load_state(state)
        await agent.run(task="How are you?")
        await agent.on_reset(CancellationToken())
        saved = await agent.save_state()
    body = openai_server.requests[0].body
    assert (body["previous_response_id"], len(body["input"])) == ("resp_9", 1)
    assert (saved["response_id"], saved["history"]) == (None, [])


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("file_search", "needs vector_store_ids"),
        ("code_interpreter", "needs container"),
        ("computer_use_preview", "needs display_width, display_height, environment"),
        ("mcp", "needs server_label, server_url"),
        ({"type": "mcp", "server_label": "a"}, "needs server_url"),
        ("local_shell", "codex-mini-latest"),
        ("teleport", "no tool 'teleport'"),
        ({"kind": "web_search"}, "no tool None"),
        (7, "must be a BaseTool or a function"),
    ],
)
async def test_tools_that_openai_does_not_have_so(tool, text) -> None:
    async with AsyncOpenAI(api_key="sk-of-a-test") as client:
        with pytest.raises(ValueError, match=text):
            make(client, tool)


async def test_a_component_comes_back_with_the_environments_client(
    openai_server, monkeypatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-a-test")
    monkeypatch.setenv("OPENAI_BASE_URL", openai_server.url)
    secret = {"type": "mcp", "server_label": "a", "server_url": "https://a", "authorization": "x1"}
    async with asking(openai_server) as client:
        tools = ({"type": "file_search", "vector_store_ids": ["vs_1"]}, secret)
        form = make(client, *tools, temperature=0.3).dump_component()
    assert form.provider == "teams.agents.openai.OpenAIAgent"
    assert "x1" not in form.model_dump_json()
    loaded = OpenAIAgent.load_component(form)
    assert loaded.dump_component() == form
    await loaded.close()
    theirs = form.model_copy(update={"provider": "autogen_ext.agents.openai.OpenAIAgent"})
    theirs.config["tools"] = ["web_search_preview"]
    theirs = theirs.model_copy(update={"component_version": 1, "version": 1})
    openai_server.script(Reply(text="Hello."))
    agent = AssistantAgent.load_component(theirs, OpenAIAgent)
    assert answer(await agent.run(task="Hi")) == "Hello."
    await agent.close()
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(BadCredentials, match="OPENAI_API_KEY"):
        OpenAIAgent.load_component(form)
