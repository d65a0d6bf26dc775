"""Chats of groups: whole, cut off, and as participants."""

from __future__ import annotations

import json
from contextlib import aclosing
from typing import Any

import pytest

from teams import RoundRobinGroupChat
from teams.base import run_hooks
from teams.conversable import (
    ConversableAgent,
    ConversableChat,
    GroupChat,
    GroupChatManager,
    IOStream,
)
from teams.core import CancellationToken
from teams.messages import TextMessage, UserInputRequestedEvent
from tests.fakes.openai_script import Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.teams.conversable.cut_chats import World, in_pieces, told, whole, without_ids
from tests.teams.conversable.pairs import Screen, agent, contents, saying


def made(
    *texts: list[Any], manager: dict[str, Any] | None = None, **options: Any
) -> tuple[ConversableAgent, GroupChat, GroupChatManager]:
    """A user and others of a group, with their texts."""
    names = ("user", "ann", "bob")
    agents = [saying(name, *own) for name, own in zip(names, texts, strict=False)]
    given: dict[str, Any] = {"speaker_selection_method": "round_robin", **options}
    group = GroupChat([*agents], **given)
    return agents[0], group, GroupChatManager(group, **(manager or {}))


CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def talk(group: GroupChat) -> list[Any]:
    return [(each["name"], each["content"]) for each in group.messages]


def test_each_message_reaches_all_and_the_rounds_end_the_chat():
    user, group, manager = made(["u1"], ["a1", "a2"], ["b1"], max_round=5)
    screen = Screen()
    with IOStream.set_default(screen):
        result = user.initiate_chat(manager, message="go")
    assert contents(result.chat_history) == ["go", "a1", "b1", "u1", "a2"]
    for each in group.agents:
        assert contents(manager.chat_messages[each]) == ["go", "a1", "b1", "u1", "a2"]
        assert isinstance(each, ConversableAgent)
        assert [message["name"] for message in each.chat_messages[manager]] == [
            *("user", "ann", "bob", "user", "ann")
        ]
    assert talk(group)[-1] == ("ann", "a2")
    assert result.summary == "a2"
    assert manager.last_speaker is group.agents[1]
    assert manager.chat_messages_for_summary(user) is group.messages
    assert "\nNext speaker: ann\n\nann (to chat_manager):\n\na1\n" in screen.text
    assert screen.text.count("a1\n") == 1


def test_a_silent_manager_prints_nothing_of_its_group():
    user, _, manager = made([], ["a1"], ["b1"], max_round=3, manager={"silent": True})
    screen = Screen()
    with IOStream.set_default(screen):
        user.initiate_chat(manager, message="go")
    assert "user (to chat_manager)" in screen.text
    assert "a1" not in screen.text


def test_the_managers_own_test_ends_the_chat():
    stops = {"is_termination_msg": lambda message: "STOP" in message["content"]}
    user, group, manager = made([], ["a1"], ["STOP"], ["u"], manager=stops)
    user.initiate_chat(manager, message="go", silent=True)
    assert talk(group) == [("user", "go"), ("ann", "a1"), ("bob", "STOP")]


def test_a_speaker_without_a_reply_ends_the_chat():
    user, group, manager = made([], ["a1"], [])
    user.initiate_chat(manager, message="go", silent=True)
    assert talk(group) == [("user", "go"), ("ann", "a1")]


def test_another_chat_begins_anew_unless_it_keeps_the_history():
    user, group, manager = made([], ["a1", "a2", "a3"], ["b1", "b2", "b3"], max_round=2)
    user.initiate_chat(manager, message="one", silent=True)
    user.initiate_chat(manager, message="two", clear_history=False, silent=True)
    assert talk(group) == [("user", "one"), ("ann", "a1"), ("user", "two"), ("ann", "a2")]
    user.initiate_chat(manager, message="three", silent=True)
    assert talk(group) == [("user", "three"), ("ann", "a3")]
    bob: Any = group.agents[2]
    assert contents(bob.chat_messages[manager]) == ["three", "a3"]


def test_a_call_keeps_its_empty_text():
    user, group, manager = made([], [{"tool_calls": [CALL]}], ["b1"], func_call_filter=False)
    user.initiate_chat(manager, message="go", silent=True)
    assert talk(group) == [("user", "go"), ("ann", None), ("bob", "b1")]
    assert contents(user.chat_messages[manager])[1] is None


def test_introductions_come_first_and_are_none_of_the_groups_messages():
    user, group, manager = made([], ["a1"], ["b1"], max_round=2, send_introductions=True)
    user.initiate_chat(manager, message="go", silent=True)
    bob: Any = group.agents[2]
    first, *others = contents(bob.chat_messages[manager])
    assert first == group.introductions_msg()
    assert others == ["go", "a1"]
    assert talk(group) == [("user", "go"), ("ann", "a1")]


def test_ctrl_c_lets_the_admin_speak():
    admin, ann = saying("Admin", "wait"), agent("ann")

    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    ann.register_reply(lambda _: True, interrupted)
    group = GroupChat([admin, ann], max_round=2, speaker_selection_method="round_robin")
    admin.initiate_chat(GroupChatManager(group), message="go", silent=True)
    assert talk(group) == [("Admin", "go"), ("Admin", "wait")]


@pytest.mark.parametrize(
    ("text", "left", "of_ann", "of_group"),
    [
        ("CLEAR HISTORY", "", 1, 1),
        ("please clear history, go on", "please go on", 1, 1),
        ("CLEAR HISTORY ann", "", 1, 4),
        ("CLEAR HISTORY ann 1", "", 2, 4),
        ("CLEAR HISTORY 2", "", 3, 3),
        ("CLEAR HISTORY 4", "", 4, 4),
        ("CLEAR HISTORY 5", "", 4, 4),
        ("CLEAR HISTORY 999999999", "", 4, 4),
        ("CLEAR HISTORY zed", "zed", 1, 1),
    ],
)
def test_a_reply_can_let_members_forget(text: str, left: str, of_ann: int, of_group: int):
    user, group, manager = made(
        [{"content": text}], ["a1"], ["b1"], max_round=4, enable_clear_history=True
    )
    user.initiate_chat(manager, message="go", silent=True)
    ann: Any = group.agents[1]
    assert talk(group)[-1] == ("user", left)
    assert (len(ann.chat_messages[manager]), len(group.messages)) == (of_ann, of_group)


@pytest.mark.parametrize(
    "reply",
    [
        {"content": "CLEAR HISTORY", "role": "tool", "tool_responses": []},
        {"content": "CLEAR HISTORY", "role": "function", "name": "f"},
        {"content": "CLEAR HISTORY", "role": "assistant"},
        {"content": "CLEAR HISTORY", "tool_calls": [CALL]},
        {"content": "CLEAR HISTORY", "role": "assistant", "function_call": CALL["function"]},
        "CLEAR HISTORY",
    ],
)
def test_tools_and_models_let_nobody_forget(reply: Any):
    user, group, manager = made(
        [reply],
        ["a1"],
        ["b1"],
        max_round=4,
        enable_clear_history=True,
        func_call_filter=False,
    )
    user.initiate_chat(manager, message="go", silent=True)
    assert [content for _, content in talk(group)[:3]] == ["go", "a1", "b1"]
    assert len(group.messages) == 4


def test_an_inner_group_speaks_as_one_member():
    user, ann, bob = saying("user"), saying("ann", "a1"), saying("bob", "b1")
    inside = GroupChat([ann, bob], max_round=2, speaker_selection_method="round_robin")
    inner = GroupChatManager(inside, name="inner")
    group = GroupChat([user, inner], speaker_selection_method="round_robin")
    user.initiate_chat(GroupChatManager(group), message="go", silent=True)
    assert talk(inside) == [("chat_manager", "go"), ("ann", "a1")]
    assert talk(group) == [("user", "go")]


@pytest.mark.parametrize("as_text", [False, True])
def test_a_group_goes_on_with_what_was_said(as_text: bool):
    user, group, manager = made(["u1"], ["a1"], ["b1"], max_round=3)
    said = [
        {"content": "go", "name": "user", "role": "user"},
        {"content": "a0 STOP", "name": "ann", "role": "user"},
    ]
    given: Any = manager.messages_to_string(said) if as_text else said
    speaker, last = manager.resume(given, remove_termination_string=" STOP", silent=True)
    assert (speaker.name, last["content"]) == ("ann", "a0")
    assert talk(group) == [("user", "go")]
    assert contents(user.chat_messages[manager]) == ["go"]
    assert isinstance(speaker, ConversableAgent)
    speaker.initiate_chat(manager, message=last, clear_history=False, silent=True)
    assert talk(group) == [("user", "go"), ("ann", "a0"), ("bob", "b1"), ("user", "u1")]


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ([], "no messages were provided"),
        ("[]", "no messages were provided"),
        ("x", "not a valid JSON string"),
        ("{}", "not of type str or List"),
        (3, "not of type str or List"),
        ([{"content": "go", "name": "zed"}], "doesn't exist as agent in group chat: zed"),
    ],
)
def test_what_can_not_be_resumed_is_refused(messages: Any, problem: str):
    _, _, manager = made([], [], [])
    with pytest.raises(ValueError, match=problem):
        manager.resume(messages)


def test_a_manager_has_no_tools():
    with pytest.raises(ValueError, match="not allowed to make function/tool calls"):
        GroupChatManager(GroupChat([]), llm_config={"model": "m", "tools": [{}]})


def group_of(world: World) -> ConversableChat:
    """A user, a writer and a critic; chance and a model choose."""
    user = agent("user", human_input_mode="ALWAYS")
    writer = agent("writer", llm_config=world.config())
    critic = agent("critic", llm_config=world.config())

    def choose(last_speaker: Any, group: GroupChat) -> Any:
        world.calls["chosen"] += 1
        return "random" if len(group.messages) == 1 else "auto"

    group = GroupChat(
        [user, writer, critic],
        max_round=5,
        speaker_selection_method=choose,
        allowed_or_disallowed_speaker_transitions={
            user: [writer],
            writer: [critic, user],
            critic: [writer, user],
        },
        speaker_transitions_type="allowed",
    )
    return ConversableChat(user, GroupChatManager(group, llm_config=world.config()))


ANSWERS = [Reply(text=text) for text in ("a text", "critic", "too long", "user", "a shorter text")]


@pytest.mark.parametrize("compact", [False, True])
async def test_a_group_cut_off_at_every_item_does_nothing_twice(compact: bool):
    async with FakeOpenAI(*ANSWERS) as server:
        world = World(server)
        expected, result, state = await whole(group_of, world, "go")
        requests, calls = len(server.requests), world.calls
    assert expected == [
        ("user", "go"),
        ("writer", "a text"),
        ("critic", "too long"),
        ("user", "UserInputRequestedEvent"),
        ("user", "review it"),
        ("writer", "a shorter text"),
    ]
    async with FakeOpenAI(*ANSWERS) as server:
        again = World(server)
        items, last, saved = await in_pieces(group_of, again, "go", compact=compact)
        assert len(server.requests) == requests == 5
    assert items == expected
    assert again.calls == calls
    assert last.chat is not None
    assert result.chat is not None
    assert last.chat.chat_history == result.chat.chat_history
    assert last.chat.cost == result.chat.cost
    assert without_ids(saved) == without_ids(state)
    group = without_ids(saved)["chat_manager"]["group"]
    assert group["last_speaker"] == "writer"
    assert len(group["messages"]) == 5


async def test_a_message_joins_the_talk_and_reaches_all():
    user, group, manager = made([], ["a1", "a2"], ["b1", "b2"], max_round=4)
    team = ConversableChat(user, manager)
    async with aclosing(team.run_stream(task="go")) as stream:
        async for item in stream:
            if isinstance(item, TextMessage) and item.content == "a1":
                team.add_messages([TextMessage(content="be brief", source="kim")])
    assert talk(group) == [("user", "go"), ("ann", "a1"), ("kim", "be brief"), ("bob", "b1")]
    bob: Any = group.agents[2]
    assert contents(bob.chat_messages[manager]) == ["go", "a1", "be brief", "b1"]


async def test_a_person_chooses_through_the_run():
    asked: list[str] = []

    async def ask(prompt: str, token: CancellationToken | None) -> str:
        asked.append(prompt)
        return "3"

    user, group, manager = made([], ["a1"], ["b1"], max_round=2, speaker_selection_method="manual")
    with run_hooks(ask=ask):
        result = await ConversableChat(user, manager).run(task="go")
    assert talk(group)[-1] == ("bob", "b1")
    assert "1: user\n2: ann\n3: bob" in asked[0]
    (event,) = [each for each in result.messages if isinstance(each, UserInputRequestedEvent)]
    assert event.metadata["options"] == "user\nann\nbob"


async def test_a_manager_takes_part_in_a_team_with_its_groups_last_word():
    _, _, manager = made(["u1"], ["a1"], ["b1"], max_round=2)
    team = RoundRobinGroupChat([manager, saying("cid", "c1")], max_turns=2)
    result = await team.run(task="go")
    assert [told(each) for each in result.messages][-2:] == [("chat_manager", "u1"), ("cid", "c1")]


async def test_a_state_holds_the_talk():
    user, group, manager = made(["u1"], ["a1"], ["b1"], max_round=2)
    await user.a_initiate_chat(manager, message="go", silent=True)
    state = json.loads(json.dumps(await manager.save_state()))
    _, other, loaded = made([], [], [])
    await loaded.load_state(state)
    assert other.messages == group.messages
    assert loaded.last_speaker is other.agents[1]
