"""Two agents joke, and guess a number."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from teams.conversable import ConversableAgent, IOStream
from tests.fakes.openai_script import Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.teams.conversable.pairs import Screen, contents


def said(server: FakeOpenAI) -> list[list[tuple[str, str, str]]]:
    """Role, name and content of each request's messages."""
    return [
        [(each["role"], each.get("name", ""), each["content"]) for each in request.messages]
        for request in server.requests
    ]


def test_a_pair_jokes_for_two_turns(server: FakeOpenAI, llm_config: dict[str, Any]):
    server.script(Reply(text="Knock."), Reply(text="Who?"), Reply(text="Tea."))
    ann = ConversableAgent(
        "ann", "You open jokes.", llm_config=llm_config, human_input_mode="NEVER"
    )
    ben = ConversableAgent(
        "ben", "You answer jokes.", llm_config=llm_config, human_input_mode="NEVER"
    )
    result = ann.initiate_chat(ben, message="A joke about tea, ben?", max_turns=2, silent=True)
    assert contents(result.chat_history) == ["A joke about tea, ben?", "Knock.", "Who?", "Tea."]
    assert result.summary == "Tea."
    assert said(server) == [
        [("system", "", "You answer jokes."), ("user", "ann", "A joke about tea, ben?")],
        [
            ("system", "", "You open jokes."),
            ("assistant", "ann", "A joke about tea, ben?"),
            ("user", "ben", "Knock."),
        ],
        [
            ("system", "", "You answer jokes."),
            ("user", "ann", "A joke about tea, ben?"),
            ("assistant", "ben", "Knock."),
            ("user", "ann", "Who?"),
        ],
    ]
    assert result.cost is not None
    spent = result.cost["usage_excluding_cached_inference"]
    assert spent["gpt-4o"]["total_tokens"] == 45
    assert spent["total_cost"] == pytest.approx(3 * (10 * 0.5 + 5 * 1) / 1000)


def keeper_and_guesser(llm_config: dict[str, Any]) -> tuple[ConversableAgent, ConversableAgent]:
    keeper = ConversableAgent(
        "keeper",
        "You think of the number 61. Say 'higher' or 'lower' to each guess.",
        llm_config=llm_config,
        is_termination_msg=lambda message: "61" in (message["content"] or ""),
        human_input_mode="NEVER",
    )
    guesser = ConversableAgent(
        "guesser",
        "You guess the keeper's number, from 1 to 100.",
        llm_config=llm_config,
        human_input_mode="NEVER",
    )
    return keeper, guesser


GUESSES = [Reply(text=text) for text in ("50", "higher", "75", "lower", "It is 61!")]


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_the_right_guess_ends_the_game(
    server: FakeOpenAI, llm_config: dict[str, Any], is_async: bool
):
    server.script(*GUESSES)
    keeper, guesser = keeper_and_guesser(llm_config)
    start: dict[str, Any] = {
        "recipient": guesser,
        "message": "I have a number. Guess!",
        "silent": True,
    }
    if is_async:
        result = asyncio.run(keeper.a_initiate_chat(**start))
    else:
        result = keeper.initiate_chat(**start)
    assert contents(result.chat_history)[1:] == [reply.text for reply in GUESSES]


def test_a_limit_of_replies_ends_the_game_early(server: FakeOpenAI, llm_config: dict[str, Any]):
    server.script(*GUESSES)
    keeper, guesser = keeper_and_guesser(llm_config)
    keeper.update_max_consecutive_auto_reply(1)
    result = keeper.initiate_chat(guesser, message="I have a number. Guess!", silent=True)
    assert contents(result.chat_history)[1:] == ["50", "higher", "75"]


def test_a_person_guesses(server: FakeOpenAI, llm_config: dict[str, Any]):
    server.script(Reply(text="higher"), Reply(text="lower"))
    keeper, _ = keeper_and_guesser(llm_config)
    person = ConversableAgent("person", human_input_mode="ALWAYS")
    with IOStream.set_default(Screen("50", "75", "61")):
        result = keeper.initiate_chat(person, message="I have a number. Guess!", silent=True)
    assert result.human_input == []
    assert contents(result.chat_history)[1:] == ["50", "higher", "75", "lower", "61"]
    assert person.chat_messages[keeper][1]["role"] == "assistant"
