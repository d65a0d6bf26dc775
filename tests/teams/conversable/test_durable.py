"""Chats that are cut off and go on in fresh objects."""

from __future__ import annotations

import json

import pytest

from teams.base import run_hooks
from teams.conversable import ConversableChat
from teams.core import CancellationToken
from teams.messages import UserInputRequestedEvent
from tests.fakes.openai_server import FakeOpenAI
from tests.teams.conversable.cut_chats import ANSWERS, World, chat_of, in_pieces, whole, without_ids
from tests.teams.conversable.pairs import agent, contents, saying


@pytest.mark.parametrize("compact", [False, True])
async def test_a_chat_cut_off_at_every_item_does_nothing_twice(compact: bool):
    async with FakeOpenAI(*ANSWERS) as server:
        world = World(server)
        expected, result, state = await whole(chat_of, world, "go")
        requests, calls = len(server.requests), world.calls
    assert requests == 4
    assert expected == [
        ("user", "go"),
        ("writer", "ToolCallRequestEvent"),
        ("user", "ToolCallExecutionEvent"),
        ("writer", "TERMINATE"),
        ("user", "UserInputRequestedEvent"),
        ("user", "review it"),
        ("writer", "review it"),
        ("critic", "too long"),
        ("writer", "too long"),
        ("user", "I am user"),
        ("writer", "TERMINATE"),
        ("user", "UserInputRequestedEvent"),
    ]
    async with FakeOpenAI(*ANSWERS) as server:
        again = World(server)
        items, last, saved = await in_pieces(chat_of, again, "go", compact=compact)
        assert len(server.requests) == requests
    assert items == expected
    assert again.calls == calls
    assert last.chat is not None
    assert result.chat is not None
    assert last.chat.chat_history == result.chat.chat_history
    assert last.chat.cost == result.chat.cost
    assert without_ids(saved) == without_ids(state)


async def test_a_question_suspends_and_keeps_its_id_until_it_is_answered():
    from teams.base import InputRequired

    answers: list[str] = []

    async def ask(prompt: str, token: CancellationToken | None) -> str:
        if not answers:
            raise InputRequired(prompt)
        return answers.pop()

    al, bo = saying("al"), agent("bo", human_input_mode="ALWAYS")
    team = ConversableChat(al, bo)
    with run_hooks(ask=ask):
        first = await team.run(task="hi")
        second = await team.run()
        assert [each.request_id for each in first.pending] == [
            each.request_id for each in second.pending
        ]
        assert first.pending[0].agent == ("bo",)
        assert first.pending[0].prompt.startswith("Replying as bo.")
        asked = [each for each in first.messages if isinstance(each, UserInputRequestedEvent)]
        assert asked[0].request_id == first.pending[0].request_id
        answers.append("hello")
        result = await team.run()
    assert result.pending == ()
    assert contents(al.chat_messages[bo]) == ["hi", "hello"]


async def test_an_agent_remembers_partners_that_it_meets_later():
    al, bo = saying("al"), saying("bo", "one")
    await al.a_initiate_chat(bo, message="hi")
    state = json.loads(json.dumps(await al.save_state()))
    again, partner = saying("al"), saying("bo", "two")
    await again.load_state(state)
    await again.a_initiate_chat(partner, message="more", clear_history=False)
    assert contents(again.chat_messages[partner]) == ["hi", "one", "more", "two"]
