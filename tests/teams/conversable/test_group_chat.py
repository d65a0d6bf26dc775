"""Groups: members, introductions, transitions, the next one in order."""

from __future__ import annotations

from typing import Any

import pytest

from teams.conversable import (
    AgentNameConflict,
    GroupChat,
    GroupChatManager,
    NoEligibleSpeakerError,
    UndefinedNextAgent,
)
from tests.teams.conversable.pairs import agent, saying

USER, ANN, BOB = agent("user"), agent("ann", description="Ann."), agent("bob")


def group(**options: Any) -> GroupChat:
    return GroupChat(agents=[USER, ANN, BOB], **options)


def transitions(chat: GroupChat) -> dict[str, list[str]]:
    allowed = chat.allowed_speaker_transitions_dict
    return {one.name: [each.name for each in others] for one, others in allowed.items()}


def test_members_are_found_by_name_and_order():
    chat = group()
    assert chat.agent_names == ["user", "ann", "bob"]
    assert chat.agent_by_name("ann") is ANN
    assert chat.agent_by_name("zed") is None
    assert [chat.next_agent(each).name for each in chat.agents] == ["ann", "bob", "user"]
    assert chat.next_agent(BOB, [USER, ANN]) is USER
    assert chat.next_agent(agent("zed")) is USER
    with pytest.raises(UndefinedNextAgent, match="does not overlap"):
        chat.next_agent(USER, [])


def test_members_of_inner_groups_are_found_too():
    inner = GroupChatManager(GroupChat([agent("cid"), agent("ann")]), name="inner")
    chat = GroupChat([USER, ANN, inner])
    assert [each.name for each in chat.nested_agents()] == ["user", "ann", "inner", "cid", "ann"]
    assert chat.agent_by_name("cid") is None
    assert chat.agent_by_name("cid", recursive=True) is not None
    with pytest.raises(AgentNameConflict, match="same name"):
        chat.agent_by_name("ann", recursive=True, raise_on_name_conflict=True)


def test_texts_name_the_members_with_their_descriptions():
    chat = group()
    assert chat.introductions_msg([ANN]).endswith("In attendance are:\n\nann: Ann.")
    assert "from ['ann', 'bob'] to play" in chat.select_speaker_msg([ANN, BOB])
    assert "from ['ann'] to play" in str(chat.select_speaker_prompt([ANN]))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"user": ["ann", "bob", "user"], "ann": ["user", "bob", "ann"]}),
        ({"allow_repeat_speaker": False}, {"user": ["ann", "bob"], "ann": ["user", "bob"]}),
        ({"allow_repeat_speaker": [ANN]}, {"user": ["ann", "bob"], "ann": ["user", "bob", "ann"]}),
        (
            {
                "allowed_or_disallowed_speaker_transitions": {USER: [ANN]},
                "speaker_transitions_type": "allowed",
            },
            {"user": ["ann"]},
        ),
        (
            {
                "allowed_or_disallowed_speaker_transitions": {USER: [ANN]},
                "speaker_transitions_type": "disallowed",
            },
            {"user": ["user", "bob"], "ann": ["user", "ann", "bob"]},
        ),
    ],
)
def test_who_may_be_next_follows_repeats_or_transitions(options: Any, expected: Any):
    found = transitions(group(**options))
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"allowed_or_disallowed_speaker_transitions": {}}, "speaker_transitions_type is None"),
        (
            {
                "allowed_or_disallowed_speaker_transitions": {USER: [ANN]},
                "speaker_transitions_type": "allowed",
                "allow_repeat_speaker": True,
            },
            "not both",
        ),
        (
            {
                "allowed_or_disallowed_speaker_transitions": {USER: "ann"},
                "speaker_transitions_type": "allowed",
            },
            "lists as values",
        ),
        ({"allow_repeat_speaker": 3}, "a bool or a list"),
        ({"max_retries_for_selecting_speaker": -1}, "greater than or equal"),
        ({"role_for_select_speaker_messages": ""}, "cannot be empty"),
        ({"select_speaker_auto_none_template": None}, "cannot be empty"),
        ({"select_speaker_auto_verbose": None}, "non-bool"),
        ({"select_speaker_transform_messages": 3}, "None or a function"),
    ],
)
def test_settings_that_do_not_fit_are_refused(options: Any, problem: str):
    with pytest.raises(ValueError, match=problem):
        group(**options)


def test_messages_get_their_speaker_and_are_forgotten():
    chat = group()
    chat.append({"content": "x"}, ANN)
    chat.append({"content": "f", "role": "function", "name": "f"}, ANN)
    assert chat.messages == [
        {"content": "x", "role": "user", "name": "ann"},
        {"content": "f", "role": "function", "name": "f"},
    ]
    chat.reset()
    assert chat.messages == []


def test_an_empty_list_of_transitions_means_everybody_as_in_the_original():
    chat = group(
        allowed_or_disallowed_speaker_transitions={USER: [], ANN: [USER]},
        speaker_transitions_type="allowed",
        speaker_selection_method="round_robin",
    )
    assert chat.select_speaker(USER, GroupChatManager(chat)) is ANN


def test_a_speaker_without_transitions_is_an_error_of_the_selection():
    chat = group(
        allowed_or_disallowed_speaker_transitions={USER: [ANN]}, speaker_transitions_type="allowed"
    )
    with pytest.raises(NoEligibleSpeakerError, match="bob is not in"):
        chat.select_speaker(BOB, GroupChatManager(chat))
    assert chat.select_speaker(USER, GroupChatManager(chat)) is ANN


def test_a_call_goes_to_who_can_execute_it():
    user, ann, cid = saying("user"), saying("ann"), saying("cid")
    cid.register_function({"f": lambda: "F"})
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    chat = GroupChat([user, ann, cid], speaker_selection_method="round_robin")
    chat.append({"content": None, "tool_calls": [call]}, user)
    assert chat.select_speaker(user, GroupChatManager(chat)) is cid
    chat.agents.remove(cid)
    with pytest.raises(ValueError, match="No agent can execute the function f"):
        chat.select_speaker(user, GroupChatManager(chat))


def test_a_group_has_two_members_at_least():
    chat = GroupChat([ANN], speaker_selection_method="random")
    with pytest.raises(ValueError, match="underpopulated with 1 agents"):
        chat.select_speaker(ANN, GroupChatManager(chat))
