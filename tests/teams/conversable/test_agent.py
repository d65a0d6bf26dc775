"""Construction and members of a ConversableAgent."""

from __future__ import annotations

import asyncio

import pytest

from teams.conversable import Agent, ConversableAgent, LLMAgent
from tests.teams.conversable.pairs import agent, contents


def test_an_agent_is_one_by_protocol():
    assert isinstance(agent(), Agent)
    assert isinstance(agent(), LLMAgent)


def test_conversations_given_are_used_as_they_are():
    bo = agent("bo")
    given = {bo: [{"role": "user", "content": "earlier"}]}
    al = agent("al", chat_messages=given)
    assert al.chat_messages is given
    al.send("now", cy := agent("cy"))
    assert contents(given[cy]) == ["now"]


def test_a_system_message_may_be_a_list():
    parts = [{"type": "text", "text": "Be brief."}]
    assert agent(system_message=parts).system_message == parts


@pytest.mark.parametrize(
    ("text", "ends"), [("TERMINATE", True), ("TERMINATE.", False), ("all done TERMINATE", False)]
)
def test_without_a_test_of_its_own_an_agent_ends_at_terminate_alone(text: str, ends: bool):
    al, bo = agent("al"), agent("bo")
    al.send(text, bo, request_reply=True)
    assert (len(al.chat_messages[bo]) == 1) is ends


def test_an_unknown_mode_or_argument_is_refused():
    with pytest.raises(ValueError, match="human_input_mode"):
        ConversableAgent("al", human_input_mode="SOMETIMES")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="colour"):
        ConversableAgent("al", colour="red")  # type: ignore[call-arg]


def test_a_name_may_have_white_space():
    assert agent("al the first").name == "al the first"


def test_reset_forgets_all_but_what_the_agent_is():
    al, bo = agent("al", max_consecutive_auto_reply=3), agent("bo", max_consecutive_auto_reply=2)
    al.initiate_chat(bo, message="hi", silent=True)
    al.reset()
    bo.send("again", al)
    assert contents(al.chat_messages[bo]) == ["again"], "it replies no more until it is asked"


async def test_async_chats_of_many_agents_run_side_by_side():
    async def chat(number: int) -> int:
        al, bo = agent("al", max_consecutive_auto_reply=number), agent("bo")
        result = await al.a_initiate_chat(bo, message="hi", silent=True)
        return len(result.chat_history or [])

    assert await asyncio.gather(*map(chat, range(1, 4))) == [4, 6, 8]
