"""Streams that tell a thought while it grows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from teams.agents import AssistantAgent
from teams.messages import ModelClientStreamingChunkEvent, ThoughtEvent
from teams.models import (
    ChatCompletionClient,
    CreateResult,
    ThoughtPiece,
    UserMessage,
    thinking_aloud,
)
from teams.models._draft import Draft
from teams.models.anthropic import AnthropicChatCompletionClient
from teams.models.cache import ChatCompletionCache
from teams.models.fallback import FallbackChatCompletionClient
from teams.models.ollama import OllamaChatCompletionClient
from teams.models.openai import OpenAIChatCompletionClient
from teams.testing import Say
from tests.fakes.anthropic_server import FakeAnthropic, Message, signed
from tests.fakes.ollama_server import FakeOllama
from tests.fakes.openai_script import Fault, Gate, Reply
from tests.fakes.openai_server import FakeOpenAI

ASKED = [UserMessage(content="Six?", source="user")]


@pytest.fixture
async def client(openai_server: FakeOpenAI) -> AsyncIterator[OpenAIChatCompletionClient]:
    made = OpenAIChatCompletionClient(
        model="gpt-4o", api_key="k", base_url=openai_server.url, max_retries=0
    )
    yield made
    await made.close()


async def heard(
    client: ChatCompletionClient, *, aloud: bool = True
) -> tuple[str, str, CreateResult]:
    """The thought that grew, the text, and the result of a stream."""
    with thinking_aloud(aloud):
        async with aclosing(client.create_stream(ASKED)) as stream:
            *pieces, result = [piece async for piece in stream]
    assert isinstance(result, CreateResult)
    thoughts = [piece.thought for piece in pieces if isinstance(piece, ThoughtPiece)]
    assert not any(piece for piece in pieces if isinstance(piece, ThoughtPiece))
    return "".join(thoughts), "".join(map(str, pieces)), result


@pytest.mark.parametrize(
    ("marks", "said", "thought"),
    [
        (None, Reply(reasoning="Hm, well, yes.", text="Six."), "Hm, well, yes."),
        (None, Reply(text="<think>Hm, well, yes.</think>Six.", chunks=9), "Hm, well, yes."),
        (None, Reply(text="[THINK]Hm, well, yes.[/THINK]Six.", chunks=33), "Hm, well, yes."),
        (("", "</think>"), Reply(text="Hm, well, yes.</think>Six.", chunks=9), "Hm, well, yes."),
        (("<hm>", "</hm>"), Reply(text="So. <hm>Hm, well.</hm>Six.", chunks=9), "Hm, well."),
        (None, Reply(text="Six."), ""),
    ],
)
async def test_a_thought_grows_beside_the_text(
    openai_server: FakeOpenAI, marks: tuple[str, str] | None, said: Reply, thought: str
):
    client = OpenAIChatCompletionClient(
        model="gpt-4o", api_key="k", base_url=openai_server.url, reasoning_marks=marks
    )
    openai_server.script(said, said)
    grown, text, result = await heard(client)
    silent, quiet, same = await heard(client, aloud=False)
    await client.close()
    assert bool(grown) == bool(thought)
    assert (grown, text, result.content) == (thought, quiet, quiet) or thought.startswith(grown)
    assert silent == ""
    assert result == same
    assert (result.thought or "") == thought


async def test_it_grows_before_it_is_complete(
    openai_server: FakeOpenAI, client: OpenAIChatCompletionClient
):
    gate = Gate()
    text = "<think>One thing is certain, another one is not.</think>Six."
    openai_server.script(Reply(text=text, chunks=6, gate=gate))
    with thinking_aloud():
        async with aclosing(client.create_stream(ASKED)) as stream:
            gate.open(4)
            first = await anext(stream)
            assert isinstance(first, ThoughtPiece)
            assert first.thought.startswith("On")
            assert "certain, another one is not" not in first.thought
            gate.open(9)
            assert [piece async for piece in stream]


def test_a_half_character_in_a_thought_is_made_whole():
    draft = Draft(finishes={})
    draft.think("not asked for")
    draft.think_aloud()
    draft.think("a\ud800b")
    assert draft.grown().thought == "a\ufffdb"
    assert draft.grown().thought == ""


async def test_claude_and_ollama_think_aloud():
    said = Say(text="Six.", thought="Hm, well.")
    async with FakeAnthropic() as server:
        server.script(Message(content=[signed("Hm, well."), {"type": "text", "text": "Six."}]))
        claude = AnthropicChatCompletionClient(
            model="claude-haiku-4-5", api_key="k", base_url=server.url
        )
        assert (await heard(claude))[:2] == ("Hm, well.", "Six.")
        await claude.close()
    async with FakeOllama(said) as server:
        ollama = OllamaChatCompletionClient(model="llama3.2", host=server.url)
        assert (await heard(ollama))[:2] == ("Hm, well.", "Six.")
        await ollama.close()


async def test_a_cache_keeps_no_growth(
    openai_server: FakeOpenAI, client: OpenAIChatCompletionClient
):
    cached = ChatCompletionCache(client)
    openai_server.script(Reply(reasoning="Hm.", text="Six."))
    assert (await heard(cached))[:2] == ("Hm.", "Six.")
    thought, text, result = await heard(cached)
    assert (thought, text, result.cached, result.thought) == ("", "Six.", True, "Hm.")


async def test_a_fallback_asks_the_next_model_though_the_first_has_thought(
    openai_server: FakeOpenAI, client: OpenAIChatCompletionClient
):
    both = FallbackChatCompletionClient([client, client], attempts=1)
    fault = Fault(kind="cut", after=5, text="<think> One thing is certain enough")
    openai_server.script(fault, Reply(text="Six."))
    thought, text, _ = await heard(both)
    assert thought.strip()
    assert text == "Six."


async def test_an_agent_tells_it_in_chunks_without_text(
    openai_server: FakeOpenAI, client: OpenAIChatCompletionClient
):
    openai_server.script(Reply(reasoning="Hm.", text="Six."), Reply(reasoning="Hm.", text="Six."))
    agent = AssistantAgent("ann", client, model_client_stream=True)
    with thinking_aloud():
        items = [item async for item in agent.run_stream(task="Six?")]
    chunks = [item for item in items if isinstance(item, ModelClientStreamingChunkEvent)]
    assert "".join(chunk.thought for chunk in chunks) == "Hm."
    assert "".join(chunk.content for chunk in chunks) == "Six."
    assert [item.content for item in items if isinstance(item, ThoughtEvent)] == ["Hm."]
    again = [item async for item in agent.run_stream(task="Six?")]
    assert not any(getattr(item, "thought", "") for item in again)
