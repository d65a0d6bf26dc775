"""Ways to the next speaker: a model, a person, chance, a function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from teams.conversable import GroupChat, GroupChatManager, IOStream, gather_usage_summary
from teams.conversable._speakers import mentioned
from tests.fakes.openai_in_thread import openai_in_thread
from tests.fakes.openai_script import Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.teams.conversable.pairs import Screen, agent

USER, ANN, BOB = agent("user"), agent("ann"), agent("bob")


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with openai_in_thread() as server:
        yield server


def config(server: FakeOpenAI) -> dict[str, Any]:
    return {"model": "gpt-4o", "api_key": "sk-of-a-test", "base_url": server.url}


def chosen(server: FakeOpenAI | None = None, **options: Any) -> str | None:
    chat = GroupChat(
        [USER, ANN, BOB], [{"content": "go", "role": "user", "name": "user"}], **options
    )
    manager = GroupChatManager(chat, llm_config=config(server) if server else None)
    speaker = chat.select_speaker(USER, manager)
    return None if speaker is None else speaker.name


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a_b", ["a_b"]),
        ("**a b**", ["a_b"]),
        ("a\\_b:", ["a_b"]),
        ("'a_b'", ["a_b"]),
        ("Bob's turn", ["Bob"]),
        ("The next speaker should be Bob.", ["Bob"]),
        ("Bob, Bob", ["Bob"]),
        ("Bob or Bobby", ["Bob", "Bobby"]),
        ("bob", []),
        ("xBob Bob_x a-b", []),
        ("", []),
    ],
)
def test_a_name_is_found_within_a_sentence(text: str, names: list[str]):
    assert mentioned(text, ["a_b", "Bob", "Bobby"]) == names


def test_a_model_is_shown_the_talk_and_asked_for_a_name(server: FakeOpenAI):
    server.script(Reply(text="bob"))
    assert chosen(server) == "bob"
    (request,) = server.requests
    roles, talk, question = request.messages
    assert roles["role"] == question["role"] == "system"
    assert "['user', 'ann', 'bob']" in roles["content"]
    assert talk == {"content": "go", "role": "user", "name": "user"}
    assert question["content"].startswith("Read the above conversation.")


def test_what_the_choice_costs_is_the_managers(server: FakeOpenAI):
    server.script(Reply(text="bob"))
    chat = GroupChat([USER, ANN, BOB], [{"content": "go", "role": "user", "name": "user"}])
    manager = GroupChatManager(chat, llm_config=config(server))
    chat.select_speaker(USER, manager)
    assert manager.get_total_usage()


@pytest.mark.parametrize("has_model", [True, False])
def test_what_a_choosing_model_of_its_own_costs_is_the_managers(
    server: FakeOpenAI, has_model: bool
):
    server.script(Reply(text="ann"), Reply(text="bob"))
    chat = GroupChat(
        [USER, ANN, BOB],
        [{"content": "go", "role": "user", "name": "user"}],
        select_speaker_auto_llm_config=config(server),
    )
    manager = GroupChatManager(chat, llm_config=config(server) if has_model else None)
    used = list[int]()
    for _ in range(2):
        chat.select_speaker(USER, manager)
        [gathered] = [
            counts["total_tokens"]
            for name, counts in (manager.get_total_usage() or {}).items()
            if name != "total_cost"
        ]
        used.append(gathered)
    assert used[1] == 2 * used[0] > 0
    assert gather_usage_summary([manager])["usage_excluding_cached_inference"] == (
        manager.get_actual_usage()
    )


def test_a_model_that_names_nobody_or_several_is_asked_again(server: FakeOpenAI):
    server.script(Reply(text="ann and bob"), Reply(text="nobody"), Reply(text="ann"))
    assert chosen(server) == "ann"
    asked = [request.messages[-1]["content"] for request in server.requests]
    assert "names more than one role" in asked[1]
    assert "names none of the roles" in asked[2]


def test_after_the_retries_the_next_in_order_speaks(server: FakeOpenAI):
    server.script(Reply(text="ann and bob"), Reply(text=""))
    assert chosen(server, max_retries_for_selecting_speaker=1) == "ann"
    assert len(server.requests) == 2


def test_a_model_of_its_own_chooses_and_sees_what_it_is_given(server: FakeOpenAI):
    server.script(Reply(text="ann"))
    options: dict[str, Any] = {
        "select_speaker_auto_llm_config": config(server),
        "select_speaker_transform_messages": lambda messages: [],
        "select_speaker_prompt_template": None,
    }
    assert chosen(**options) == "ann"
    assert [each["role"] for each in server.requests[0].messages] == ["system"]


def test_without_a_model_nobody_can_be_chosen_automatically():
    with pytest.raises(ValueError, match="does not have an LLM configuration"):
        chosen()


def test_its_talk_is_printed_when_asked_for(server: FakeOpenAI):
    server.script(Reply(text="nobody"), Reply(text="ann"))
    screen = Screen()
    with IOStream.set_default(screen):
        assert chosen(server, select_speaker_auto_verbose=True) == "ann"
    assert "checking_agent (to speaker_selection_agent):" in screen.text
    assert "Select speaker attempt #1 failed" in screen.text


@pytest.mark.parametrize(
    ("answers", "name"),
    [
        (["3"], "bob"),
        (["bob"], "bob"),
        (["0", "x", "3"], "bob"),
        (["q"], "ann"),
        ([""], "ann"),
        (["9", "9", "9"], "ann"),
        (["٣"], "bob"),
        (["1" * 5000, "-1", "3.0"], "ann"),
    ],
)
def test_a_person_chooses_by_number(answers: list[str], name: str):
    screen = Screen(*answers)
    with IOStream.set_default(screen):
        assert chosen(speaker_selection_method="manual") == name
    assert "1: user\n2: ann\n3: bob" in screen.text
    assert screen.answers == []


def test_chance_chooses_a_candidate():
    options: dict[str, Any] = {"speaker_selection_method": "Random", "allow_repeat_speaker": False}
    assert {chosen(**options) for _ in range(50)} == {"ann", "bob"}


@pytest.mark.parametrize(
    ("answer", "name"), [(BOB, "bob"), (None, None), ("round_robin", "ann"), ("ROUND_ROBIN", "ann")]
)
def test_a_function_returns_an_agent_a_word_or_nobody(answer: Any, name: str | None):
    seen: list[Any] = []

    def choose(last_speaker: Any, groupchat: GroupChat) -> Any:
        seen.append((last_speaker, groupchat))
        return answer

    chat = GroupChat([USER, ANN, BOB], speaker_selection_method=choose)
    speaker = chat.select_speaker(USER, GroupChatManager(chat))
    assert (speaker and speaker.name) == name
    assert seen == [(USER, chat)]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (3, "instead of Agent or str"),
        (agent("zed"), "an agent zed not in the group chat"),
        ("loudest", "speaker_selection_method is set to 'loudest'"),
    ],
)
def test_another_answer_of_a_function_is_an_error(answer: Any, problem: str):
    with pytest.raises(ValueError, match=problem):
        chosen(speaker_selection_method=lambda *_: answer)


async def test_a_coroutine_function_chooses_in_an_async_chat():
    async def choose(last_speaker: Any, groupchat: GroupChat) -> Any:
        return BOB

    chat = GroupChat([USER, ANN, BOB], speaker_selection_method=choose)
    assert await chat.a_select_speaker(USER, GroupChatManager(chat)) is BOB
