"""Construction and members of a ConversableAgent."""

from __future__ import annotations

import asyncio

import pytest

from teams.conversable import Agent, ConversableAgent, LLMAgent
from tests.teams.conversable.pairs import agent, contents, saying


def test_an_agent_is_one_by_protocol():
    assert isinstance(agent(), Agent)
    assert isinstance(agent(), LLMAgent)


def test_conversations_are_made_when_looked_at_and_are_live():
    al, bo = agent("al"), agent("bo")
    assert al.chat_messages[bo] == []
    al.chat_messages[bo].append({"role": "user", "content": "before"})
    al.send("now", bo)
    assert contents(al.chat_messages[bo]) == ["before", "now"]


def test_conversations_given_are_used_as_they_are():
    bo = agent("bo")
    given = {bo: [{"role": "user", "content": "earlier"}]}
    al = agent("al", chat_messages=given)
    assert al.chat_messages is given
    al.send("now", cy := agent("cy"))
    assert contents(given[cy]) == ["now"]


def test_the_description_is_the_system_message_unless_given():
    al = agent(system_message="Be brief.")
    assert al.description == "Be brief."
    assert agent(description="A poet.").description == "A poet."
    assert agent().description == "You are a helpful AI Assistant."
    al.update_system_message("Be long.")
    assert (al.system_message, al.description) == ("Be long.", "Be brief.")
    al.description = "Other"
    assert al.description == "Other"


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


def test_the_limit_of_replies_is_the_class_s_unless_given():
    class Brief(ConversableAgent):
        MAX_CONSECUTIVE_AUTO_REPLY = 3

    assert ConversableAgent.MAX_CONSECUTIVE_AUTO_REPLY == 100
    assert agent().max_consecutive_auto_reply() == 100
    assert Brief("b").max_consecutive_auto_reply() == 3
    assert agent(max_consecutive_auto_reply=0).max_consecutive_auto_reply() == 0


def test_the_limit_of_replies_is_kept_per_sender():
    al, bo, cy = agent("al", max_consecutive_auto_reply=5), agent("bo"), agent("cy")
    al.update_max_consecutive_auto_reply(2, bo)
    assert al.max_consecutive_auto_reply(bo) == 2
    assert al.max_consecutive_auto_reply(cy) == 5
    al.update_max_consecutive_auto_reply(7)
    assert {al.max_consecutive_auto_reply(each) for each in (None, bo, cy)} == {7}


def test_an_unknown_mode_or_argument_is_refused():
    with pytest.raises(ValueError, match="human_input_mode"):
        ConversableAgent("al", human_input_mode="SOMETIMES")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="colour"):
        ConversableAgent("al", colour="red")  # type: ignore[call-arg]


def test_a_name_may_have_white_space():
    assert agent("al the first").name == "al the first"


def test_context_variables_are_shared_with_the_caller():
    shared = {"a": 1}
    al = agent(context_variables=shared)
    al.set_context("b", 2)
    al.update_context({"c": 3})
    assert shared == {"a": 1, "b": 2, "c": 3}
    assert al.context_variables is shared
    assert (al.get_context("a"), al.get_context("z"), al.get_context("z", 9)) == (1, None, 9)
    assert (al.pop_context("b"), al.pop_context("b"), al.pop_context("b", 9)) == (2, None, 9)
    assert shared == {"a": 1, "c": 3}


def test_the_last_message_is_of_the_only_conversation_or_of_the_one_named():
    al, bo, cy = agent("al"), agent("bo"), agent("cy")
    assert al.last_message() is None
    al.send("to bo", bo)
    last = al.last_message()
    assert last is not None
    assert last["content"] == "to bo"
    with pytest.raises(KeyError):
        al.last_message(cy)
    assert al.chat_messages[cy] == []
    assert al.last_message(cy) is None
    with pytest.raises(ValueError, match="More than one conversation"):
        al.last_message()


def test_a_summary_is_made_of_the_live_conversation():
    al, bo = agent("al"), agent("bo")
    assert al.chat_messages_for_summary(bo) is al.chat_messages[bo]


def test_history_is_cleared_for_one_or_for_all():
    al, bo, cy = agent("al"), agent("bo"), agent("cy")
    al.send("1", bo)
    al.send("2", cy)
    al.clear_history(bo)
    assert (al.chat_messages[bo], contents(al.chat_messages[cy])) == ([], ["2"])
    al.clear_history()
    assert al.last_message() is None


def test_the_newest_messages_are_kept_and_short_conversations_whole():
    al, bo, cy = agent("al"), agent("bo"), agent("cy")
    al.chat_messages[bo].extend({"role": "user", "content": text} for text in "abcd")
    al.chat_messages[cy].append({"role": "user", "content": "x"})
    al.clear_history(None, 2)
    assert contents(al.chat_messages[bo]) == ["c", "d"]
    assert contents(al.chat_messages[cy]) == ["x"]


def test_one_message_more_is_kept_where_a_result_would_lose_its_call():
    al, bo = agent("al"), agent("bo")
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}
    result = {"role": "tool", "content": "r", "tool_responses": [{"role": "tool", "content": "r"}]}
    al.chat_messages[bo].extend([{"role": "user", "content": "q"}, call, result])
    al.clear_history(nr_messages_to_preserve=1)
    assert al.chat_messages[bo] == [call, result]


def test_how_many_to_keep_is_for_all_conversations_only():
    al, bo = agent("al"), agent("bo")
    al.send("1", bo)
    with pytest.warns(UserWarning, match="nr_messages_to_preserve"):
        al.clear_history(bo, 1)
    assert al.chat_messages[bo] == []


def test_reset_forgets_all_but_what_the_agent_is():
    al, bo = agent("al", max_consecutive_auto_reply=3), agent("bo", max_consecutive_auto_reply=2)
    al.initiate_chat(bo, message="hi", silent=True)
    al.reset()
    bo.send("again", al)
    assert contents(al.chat_messages[bo]) == ["again"], "it replies no more until it is asked"


def test_replies_stop_for_one_sender_or_for_all():
    al, bo, cy = saying("al", "1", "2"), agent("bo"), agent("cy")
    for sender in (bo, cy):
        al.reply_at_receive[sender] = True
    al.stop_reply_at_receive(bo)
    bo.send("hi", al)
    assert contents(al.chat_messages[bo]) == ["hi"]
    assert al.reply_at_receive[cy] is True
    al.stop_reply_at_receive()
    cy.send("hi", al)
    assert contents(al.chat_messages[cy]) == ["hi"]


def test_counters_are_reset_for_one_sender_or_for_all():
    al, bo, cy = agent("al", max_consecutive_auto_reply=1), agent("bo"), agent("cy")

    def answers(sender: ConversableAgent) -> bool:
        before = len(al.chat_messages[sender])
        sender.send("hi", al, request_reply=True)
        return len(al.chat_messages[sender]) == before + 2

    assert [answers(bo), answers(cy)] == [True, True]
    al.reset_consecutive_auto_reply_counter(bo)
    assert [answers(bo), answers(cy)] == [True, False]
    assert answers(cy), "the end set its counter back"
    al.reset_consecutive_auto_reply_counter()
    assert [answers(bo), answers(cy)] == [True, True]


async def test_async_chats_of_many_agents_run_side_by_side():
    async def chat(number: int) -> int:
        al, bo = agent("al", max_consecutive_auto_reply=number), agent("bo")
        result = await al.a_initiate_chat(bo, message="hi", silent=True)
        return len(result.chat_history or [])

    assert await asyncio.gather(*map(chat, range(1, 4))) == [4, 6, 8]
