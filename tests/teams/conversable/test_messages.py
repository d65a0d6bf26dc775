"""Messages as both agents store them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.teams.conversable.pairs import agent

CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def stored(message: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    al, bo = agent("al"), agent("bo")
    al.send(message, bo)
    return al.chat_messages[bo][-1], bo.chat_messages[al][-1]


def test_text_is_the_speaker_s_in_both_lists():
    assert stored("hi") == (
        {"content": "hi", "role": "assistant", "name": "al"},
        {"content": "hi", "role": "user", "name": "al"},
    )


def test_known_keys_with_a_value_are_kept():
    sent, received = stored({"content": "", "name": "x", "colour": "red", "tool_call_id": None})
    assert sent == {"content": "", "name": "x", "role": "assistant"}
    assert received == {"content": "", "name": "x", "role": "user"}


@pytest.mark.parametrize("message", [{"message": "x"}, {"content": None}, {}])
def test_a_message_that_says_nothing_is_refused_and_not_stored(message: dict[str, Any]):
    al, bo = agent("al"), agent("bo")
    with pytest.raises(ValueError, match="Message can't be converted"):
        al.send(message, bo)
    with pytest.raises(ValueError, match="Message can't be converted"):
        bo.receive(message, al)
    assert (al.chat_messages[bo], bo.chat_messages[al]) == ([], [])


@pytest.mark.parametrize(
    "calls", [{"tool_calls": [CALL]}, {"function_call": {"name": "f", "arguments": "{}"}}]
)
def test_calls_need_no_content_and_are_the_assistant_s_in_both_lists(calls: dict[str, Any]):
    expected = {**calls, "content": None, "role": "assistant"}
    assert stored({**calls, "role": "user"}) == (expected, expected)


@pytest.mark.parametrize("role", ["user", "system", "assistant"])
def test_the_side_decides_the_role(role: str):
    sent, received = stored({"content": "hi", "role": role})
    assert (sent["role"], received["role"]) == ("assistant", "user")


def test_a_role_may_be_overridden_on_both_sides():
    sent, received = stored({"content": "hi", "override_role": "system", "role": "user"})
    assert (sent["role"], received["role"]) == ("system", "system")


def test_results_keep_their_role_and_are_text():
    result = {"role": "tool", "tool_call_id": "1", "content": 5}
    given = {"role": "tool", "content": "5", "tool_responses": [result]}
    for message in stored(given):
        assert message["role"] == "tool"
        assert message["tool_responses"] == [{**result, "content": "5"}]
    assert result["content"] == 5, "the caller's message is not touched"
    sent, received = stored({"role": "function", "name": "f", "content": "5"})
    assert sent == received == {"role": "function", "name": "f", "content": "5"}


def test_a_person_s_interruption_keeps_its_results_beside_the_text():
    result = {"role": "tool", "tool_call_id": "1", "content": "USER INTERRUPTED"}
    sent, received = stored({"role": "user", "content": "stop", "tool_responses": [result]})
    assert (sent["role"], received["role"]) == ("assistant", "user")
    assert sent["tool_responses"] == received["tool_responses"] == [result]


def test_the_context_stays_with_the_message():
    context = {"topic": "tea"}
    sent, received = stored({"content": "{topic}", "context": context})
    assert sent["context"] == received["context"] == context
    assert sent["content"] == received["content"] == "{topic}"


def test_a_result_names_its_call_and_its_speaker():
    sent, received = stored({"role": "tool", "tool_call_id": "1", "content": "5"})
    assert sent == received == {"role": "tool", "tool_call_id": "1", "content": "5", "name": "al"}
