"""Entries of a config list for other providers than OpenAI."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import BaseModel

from teams.conversable import ConversableAgent, OpenAIWrapper, register_function
from teams.testing import SaidCall, Say
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.ollama_server import FakeOllama
from tests.teams.conversable.pairs import agent, contents


@pytest.fixture
async def anthropic() -> AsyncIterator[FakeAnthropic]:
    async with FakeAnthropic() as server:
        yield server


def claude(server: FakeAnthropic, **settings: Any) -> dict[str, Any]:
    connection = {"model": "claude-haiku-4-5", "api_key": "key-of-a-test", "base_url": server.url}
    return {"api_type": "anthropic", "price": [1, 1], "max_retries": 0, **connection, **settings}


async def test_a_tool_loop_with_claude(anthropic: FakeAnthropic):
    anthropic.script(
        Say(text="One moment.", calls=(SaidCall(name="add", arguments={"a": 2}, id="c1"),)),
        Say(text="It is 3."),
    )
    clerk = ConversableAgent("clerk", "Add.", llm_config=claude(anthropic, max_tokens=77))
    machine = agent("machine")

    def add(a: int) -> int:
        return a + 1

    register_function(add, caller=clerk, executor=machine, description="Add one.")
    result = await machine.a_initiate_chat(clerk, message="2 and 1?", max_turns=2, silent=True)
    assert contents(result.chat_history) == ["2 and 1?", "One moment.", "3", "It is 3."]
    first, second = (request.body for request in anthropic.requests)
    assert (first["max_tokens"], first["tools"][0]["name"]) == (77, "add")
    assert first["system"][0]["text"] == "Add."
    assert second["messages"][-1]["content"][0]["tool_use_id"] == "c1"
    assert result.cost is not None
    assert result.cost["usage_excluding_cached_inference"]["claude-haiku-4-5"]["cost"] > 0


class Verse(BaseModel):
    line: str

    def format(self) -> str:
        return f"* {self.line}"


async def test_a_class_is_the_form_of_claude_s_answer(anthropic: FakeAnthropic):
    anthropic.script(Say(text='{"line": "tea"}'))
    asked = OpenAIWrapper(config_list=[claude(anthropic, response_format=Verse)])
    response = await asked.a_create(messages=[{"role": "user", "content": "A line."}])
    assert asked.extract_text_or_completion_object(response) == ["* tea"]


async def test_a_schema_is_for_openai_alone(anthropic: FakeAnthropic):
    asked = OpenAIWrapper(config_list=[claude(anthropic, response_format={"type": "object"})])
    with pytest.raises(ValueError, match="A response_format for anthropic is a pydantic class"):
        await asked.a_create(messages=[{"role": "user", "content": "A line."}])


async def test_images_reach_claude_as_data_alone(anthropic: FakeAnthropic):
    anthropic.script(Say(text="A dot."))
    dot = (
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQ"
        "DwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
    )

    def asking(url: str) -> list[dict[str, Any]]:
        parts = [
            {"type": "text", "text": "See:"},
            {"type": "image_url", "image_url": {"url": url}},
        ]
        return [{"role": "user", "content": parts}]

    asked = OpenAIWrapper(config_list=[claude(anthropic)])
    await asked.a_create(messages=asking(dot))
    kinds = [part["type"] for part in anthropic.requests[0].body["messages"][0]["content"]]
    assert kinds == ["text", "image"]
    with pytest.raises(ValueError, match="not by their address"):
        await asked.a_create(messages=asking("https://example.com/dot.png"))


async def test_a_chat_with_ollama():
    async with FakeOllama(Say(text="Tea.")) as server:
        config = {"api_type": "ollama", "model": "llama3.2", "base_url": server.url}
        ben = agent("ben", llm_config={**config, "temperature": 0.5})
        result = await agent("ann").a_initiate_chat(ben, message="?", max_turns=1, silent=True)
        assert result.summary == "Tea."
        assert server.bodies[0]["options"]["temperature"] == 0.5
        assert result.cost is not None
        assert result.cost["usage_excluding_cached_inference"]["total_cost"] == 0


async def test_a_sync_chat_meets_other_providers_too(anthropic: FakeAnthropic):
    anthropic.script(Say(text="Tea."))
    ben, ann = agent("ben", llm_config=claude(anthropic)), agent("ann")
    chat = asyncio.to_thread(ann.initiate_chat, ben, message="?", max_turns=1, silent=True)
    assert (await chat).summary == "Tea."
