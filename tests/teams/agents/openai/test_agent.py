"""OpenAIAgent against a server that refuses what OpenAI refuses."""

import asyncio
import json

import pytest
from openai import AsyncOpenAI

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.agents.openai import OpenAIAgent
from teams.base import TaskResult
from teams.core import CancellationToken
from teams.messages import (
    ModelClientStreamingChunkEvent,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
)
from teams.models import BadCredentials
from teams.tools import FunctionTool
from tests.fakes.openai_script import Call, Reply
from tests.teams.agents.openai.hosted_agents import ADDING, add, answer, asking, make

ADD = FunctionTool(add, "Add two numbers.")


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
