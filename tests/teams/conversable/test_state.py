"""Conversations, context variables and the system message of an agent."""

from __future__ import annotations

import pytest

from tests.teams.conversable.pairs import agent, contents


def test_conversations_are_made_when_looked_at_and_are_live():
    al, bo = agent("al"), agent("bo")
    assert al.chat_messages[bo] == []
    al.chat_messages[bo].append({"role": "user", "content": "before"})
    al.send("now", bo)
    assert contents(al.chat_messages[bo]) == ["before", "now"]


def test_the_description_is_the_system_message_unless_given():
    al = agent(system_message="Be brief.")
    assert al.name == "al"
    assert al.description == "Be brief."
    assert agent(description="A poet.").description == "A poet."
    assert agent().description == "You are a helpful AI Assistant."
    al.update_system_message("Be long.")
    assert (al.system_message, al.description) == ("Be long.", "Be brief.")
    al.description = "Other"
    assert al.description == "Other"


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
