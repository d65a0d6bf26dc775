"""Queues of chats, one after the other or by what they need."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest

from teams.conversable import (
    ChatResult,
    ConversableAgent,
    IOStream,
    a_initiate_chats,
    initiate_chats,
)
from tests.teams.conversable.pairs import Screen, agent, contents, saying


def item(name: str, **options: Any) -> dict[str, Any]:
    return {"recipient": saying(name, f"{name}'s"), "message": "go", "silent": True, **options}


def first(result: ChatResult) -> str:
    return contents(result.chat_history)[0]


def test_each_chat_gets_the_summaries_of_those_before():
    al = saying("al")
    queue = [item("a"), item("b"), item("c", carryover="own"), item("d", carryover=["x", "y"])]
    before = [dict(each) for each in queue]
    results = al.initiate_chats(queue)
    assert [first(result) for result in results] == [
        "go",
        "go\nContext: \na's",
        "go\nContext: \nown\na's\nb's",
        "go\nContext: \nx\ny\na's\nb's\nc's",
    ]
    assert queue == before, "the caller's items are not touched"
    assert al.get_chat_results() == results
    assert al.get_chat_results(1) is results[1]


def test_chats_may_be_left_out_of_the_carryover():
    excluded = {"finished_chat_indexes_to_exclude_from_carryover": [0]}
    results = saying("al").initiate_chats([item("a"), item("b"), item("c", **excluded)])
    assert first(results[2]) == "go\nContext: \nb's"


def test_before_any_queue_there_are_no_results():
    assert agent().get_chat_results() == []


def test_an_item_s_sender_is_stronger_than_the_agent():
    bo = saying("bo")
    saying("al").initiate_chats([item("a", sender=bo)])
    assert [each.name for each in bo.chat_messages] == ["a"]


def test_without_an_agent_each_item_names_its_sender():
    assert first(initiate_chats([item("a", sender=saying("al"))])[0]) == "go"
    with pytest.raises(AssertionError, match=r"^sender must be provided\.$"):
        initiate_chats([item("a")])
    with pytest.raises(AssertionError, match=r"^recipient must be provided\.$"):
        initiate_chats([{"sender": saying("al"), "message": "go"}])


def test_a_mistake_later_in_a_queue_is_told_before_any_chat():
    bo = saying("bo", "yes")
    with pytest.raises(AssertionError, match="recipient"):
        saying("al").initiate_chats([{"recipient": bo, "message": "go"}, {"message": "go"}])
    assert bo.last_message() is None


def test_repeated_recipients_are_warned_of():
    bo = saying("bo", "1", None, "2")
    twice = {"recipient": bo, "message": "go", "max_turns": 1, "silent": True}
    with pytest.warns(UserWarning, match="[Rr]epe"):
        results = saying("al").initiate_chats([twice, twice])
    assert contents(results[0].chat_history) == ["go", "1"]


def test_the_function_that_makes_a_message_sees_the_carryover():
    def message(sender: Any, recipient: Any, context: dict[str, Any]) -> str:
        return " & ".join(context["carryover"])

    results = saying("al").initiate_chats([item("a"), item("b", message=message)])
    assert first(results[1]) == "a's"


def test_each_chat_is_announced():
    screen = Screen()
    stars = "*" * 80
    with IOStream.set_default(screen):
        saying("al").initiate_chats([item("a", silent=False)])
        assert f"\n{stars}\nStarting a new chat....\n\n{stars}\n" in screen.text
        screen.text = ""
        saying("al").initiate_chats([item("a", silent=False, verbose=True, carryover="own")])
        assert (
            f"{stars}\nStarting a new chat....\n\nMessage:\ngo\n\nCarryover: \nown\n" in screen.text
        )
        screen.text = ""
        saying("al").initiate_chats([item("a", silent=True, verbose=True)])
        assert screen.text == ""
        saying("al", silent=True).initiate_chats([item("a", silent=False)])
        assert "Starting" not in screen.text


# --- async ---


async def test_carryover_comes_from_prerequisites_alone():
    al = saying("al")
    queue = [
        item("c", chat_id=3, prerequisites=[1], carryover="own"),
        item("a", chat_id=1),
        item("b", chat_id=2),
        item("d", chat_id=4, prerequisites=[2, 1]),
    ]
    before = [dict(each) for each in queue]
    results = await al.a_initiate_chats(queue)
    assert {key: first(result) for key, result in results.items()} == {
        1: "go",
        2: "go",
        3: "go\nContext: \nown\na's",
        4: "go\nContext: \nb's\na's",
    }
    assert {key: result.chat_id for key, result in results.items()} == {n: n for n in results}
    assert queue == before
    assert al.get_chat_results(3) is results[3]
    results = await a_initiate_chats([item("a", sender=al, chat_id="any")])
    assert list(results) == ["any"]


async def test_chats_that_do_not_need_each_other_overlap():
    both = asyncio.Barrier(2)

    async def meet(*_: Any, **__: Any) -> tuple[bool, str]:
        await both.wait()
        return True, "met"

    def waiting(name: str) -> ConversableAgent:
        speaker = agent(name)
        speaker.register_reply(ConversableAgent, meet)
        return speaker

    options = {"message": "go", "max_turns": 1, "silent": True}
    results = await saying("al").a_initiate_chats(
        [
            {"recipient": waiting("a"), "chat_id": 1, **options},
            {"recipient": waiting("b"), "chat_id": 2, **options},
        ]
    )
    assert [result.summary for result in results.values()] == ["met", "met"]


async def test_chats_of_the_same_two_follow_each_other():
    bo = agent("bo")
    options = {"recipient": bo, "message": "go", "max_turns": 2, "silent": True}
    with pytest.warns(UserWarning, match="[Rr]epe"):
        results = await agent("al").a_initiate_chats(
            [{"chat_id": 1, **options}, {"chat_id": 2, **options}]
        )
    assert [len(result.chat_history or []) for result in results.values()] == [4, 4]


@pytest.mark.parametrize(
    "needs", [{1: [2], 2: [1]}, {1: [1], 2: []}, {1: [], 2: [7]}], ids=["two", "itself", "unknown"]
)
async def test_a_queue_that_can_not_end_does_not_begin(needs: dict[int, list[int]]):
    queue = [item("x", chat_id=key, prerequisites=needs[key]) for key in needs]
    assert await saying("al").a_initiate_chats(queue) == {}
    assert all(each["recipient"].last_message() is None for each in queue)


async def test_async_queues_need_ids():
    with pytest.raises(ValueError, match="chat_id"):
        await saying("al").a_initiate_chats([item("a")])
    with pytest.raises(ValueError, match=r"^Prerequisite chat id is not int\.$"):
        await saying("al").a_initiate_chats(
            [item("a", chat_id="one"), item("b", chat_id=2, prerequisites=["one"])]
        )


async def test_an_error_in_one_chat_is_told_as_it_is():
    def fail(*_: Any, **__: Any) -> tuple[bool, str]:
        raise LookupError("no such thing")

    bad = agent("bad")
    bad.register_reply(ConversableAgent, fail)
    with pytest.raises(LookupError, match="no such thing"):
        await saying("al").a_initiate_chats(
            [item("a", chat_id=1), item("b", chat_id=2) | {"recipient": bad}]
        )


async def test_the_same_queue_may_run_twice():
    al = saying("al")
    queue = [item("a", chat_id=1), item("b", chat_id=2, prerequisites=[1])]
    again = copy.copy(queue)
    await al.a_initiate_chats(queue)
    for each, name in zip(queue, "ab", strict=True):
        each["recipient"] = saying(name, f"{name}'s")
    assert first((await al.a_initiate_chats(again))[2]) == "go\nContext: \na's"
