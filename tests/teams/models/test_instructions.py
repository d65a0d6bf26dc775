"""Instructions of a run: before each request, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import Instructions, run_hooks, run_in_path
from teams.conditions import MaxMessageTermination
from teams.core import InMemoryStore
from teams.model_context import AutoChatCompletionContext, TokenLimitedChatCompletionContext
from teams.models import SystemMessage, UserMessage
from teams.models.cache import ChatCompletionCache
from teams.models.fallback import FallbackChatCompletionClient
from teams.models.replay import ReplayChatCompletionClient
from teams.tools.mcp import ChatCompletionClientSampler
from teams.tools.mcp._sdk import message

RULES = SystemMessage(content="House rules.")
QUOTE = UserMessage(content="<<<foreign>>>", source="parley")
QUESTION = UserMessage(content="Why?", source="user")
OWN = SystemMessage(content="Be brief.")
TOLD: Instructions = {"": [RULES]}


def model(*answers: str) -> ReplayChatCompletionClient:
    return ReplayChatCompletionClient(list(answers or ("Because.",)))


def sent(client: ReplayChatCompletionClient, at: int = 0) -> list[Any]:
    return [message.content for message in client.create_calls[at]["messages"]]


@pytest.mark.parametrize(
    ("told", "messages", "expected"),
    [
        ({}, [OWN, QUESTION], ["Be brief.", "Why?"]),
        (TOLD, [OWN, QUESTION], ["House rules.\n\nBe brief.", "Why?"]),
        (TOLD, [QUESTION], ["House rules.", "Why?"]),
        (TOLD, [], ["House rules."]),
        (TOLD, [QUESTION, OWN], ["House rules.", "Why?", "Be brief."]),
        ({"": [RULES, RULES]}, [QUESTION], ["House rules.\n\nHouse rules.", "Why?"]),
        ({"": [QUOTE]}, [OWN, QUESTION], ["Be brief.", "<<<foreign>>>", "Why?"]),
        ({"": [QUOTE, RULES]}, [QUESTION], ["House rules.", "<<<foreign>>>", "Why?"]),
        ({"inner": [RULES]}, [QUESTION], ["Why?"]),
    ],
)
async def test_they_stand_before_the_messages_in_one_system_message(
    told: Instructions, messages: list[Any], expected: list[str]
) -> None:
    client, before = model("a", "b"), list(messages)
    with run_hooks(instructions=told):
        await client.create(messages)
        _ = [piece async for piece in client.create_stream(messages=messages)]
    assert sent(client) == sent(client, 1) == expected
    assert messages == before


async def test_those_of_a_team_inside_reach_its_agents_alone() -> None:
    client = model("a", "b")
    with run_hooks(instructions={"inner": [RULES]}):
        await run_in_path("inner", run_in_path("agent", client.create([QUESTION])))
        await run_in_path("outer", client.create([QUESTION]))
    assert [sent(client), sent(client, 1)] == [["House rules.", "Why?"], ["Why?"]]


async def test_a_client_that_asks_through_another_tells_them_once() -> None:
    asked = model()
    client = FallbackChatCompletionClient([ChatCompletionCache(asked, InMemoryStore())])
    with run_hooks(instructions={"": [RULES, QUOTE]}):
        await client.create([OWN, QUESTION])
    assert sent(asked) == ["House rules.\n\nBe brief.", "<<<foreign>>>", "Why?"]


async def test_they_are_in_no_state_and_no_answer_after_the_run() -> None:
    client = model("a", "b")
    agent = AssistantAgent("solo", client, system_message="Be brief.")
    team = RoundRobinGroupChat([agent], termination_condition=MaxMessageTermination(2))
    with run_hooks(instructions={"": [RULES, QUOTE]}):
        await team.run(task="Why?")
        state, saved = await team.save_state(), await team.save_snapshot()
    assert "House rules" not in str(state)
    assert "foreign" not in str(state)
    assert b"House rules" not in saved
    await team.run(task="And?")
    assert sent(client, 1)[0] == "Be brief."


async def test_they_take_their_part_of_the_window() -> None:
    client = model()
    limited = TokenLimitedChatCompletionContext(client, token_limit=30)
    full = AutoChatCompletionContext(client, token_limit=600)
    words = " ".join(["word"] * 8)
    for _ in range(3):
        await limited.add_message(UserMessage(content=words, source="user"))
    for _ in range(34):
        await full.add_message(UserMessage(content=words, source="user"))
    long = SystemMessage(content=" ".join(["rule"] * 100))
    assert (len(await limited.get_messages()), full.is_full([], [])) == (3, False)
    with run_hooks(instructions={"": [long]}):
        assert full.is_full([], [])
        assert len(await limited.get_messages()) == 1


async def test_a_server_that_asks_for_a_model_does_not_read_them() -> None:
    client = model()
    params = {"messages": [{"role": "user", "content": {"type": "text", "text": "Repeat it."}}]}
    asked = message("CreateMessageRequestParams", {**params, "maxTokens": 9})
    with run_hooks(instructions={"": [RULES, QUOTE]}):
        await ChatCompletionClientSampler(client).sample(asked)
    assert sent(client) == ["Repeat it."]
