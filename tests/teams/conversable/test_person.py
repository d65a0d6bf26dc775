"""An agent's limits on automatic replies, and the person it asks."""

from __future__ import annotations

import asyncio
import threading

from teams.conversable import ConversableAgent, IOStream
from tests.teams.conversable.pairs import Screen, agent, contents, saying


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


ALWAYS = (
    "Replying as al. Provide feedback to bo. Press enter to skip and use auto-reply, or type "
    "'exit' to end the conversation: "
)


def test_what_people_write_is_kept_for_the_result_of_the_chat():
    al = agent("al", human_input_mode="ALWAYS", default_auto_reply="auto")
    with IOStream.set_default(Screen("one", "", "exit")):
        result = al.initiate_chat(saying("bo", "1", "2", "3"), message="hi", silent=True)
    assert result.human_input == ["one", "", "exit"]
    assert contents(result.chat_history) == ["hi", "1", "one", "2", "auto", "3"]


def test_input_replaced_on_an_instance_is_asked_and_not_kept():
    al = agent("al", human_input_mode="ALWAYS")
    al.get_human_input = lambda prompt: "exit"  # type: ignore[method-assign]
    result = al.initiate_chat(saying("bo", "1"), message="hi", silent=True)
    assert (contents(result.chat_history), result.human_input) == (["hi", "1"], [])


def test_sync_input_is_asked_in_the_caller_s_thread():
    seen: list[threading.Thread] = []

    class Asked(ConversableAgent):
        def get_human_input(self, prompt: str) -> str:
            seen.append(threading.current_thread())
            return "exit"

    Asked("al", human_input_mode="ALWAYS").initiate_chat(saying("bo", "1"), message="hi")
    assert seen == [threading.current_thread()]


async def test_async_chats_ask_off_the_loop_and_ask_once():
    seen: list[threading.Thread] = []

    class Asked(ConversableAgent):
        def get_human_input(self, prompt: str) -> str:
            seen.append(threading.current_thread())
            return ""

    al = Asked("al", human_input_mode="ALWAYS", max_consecutive_auto_reply=3)
    await al.a_initiate_chat(saying("bo", "1", "TERMINATE"), message="hi", silent=True)
    assert len(seen) == 2
    assert threading.current_thread() not in seen


async def test_async_input_may_be_a_coroutine_function_of_the_instance():
    al = agent("al", human_input_mode="ALWAYS")

    async def asked(prompt: str) -> str:
        return "exit"

    al.a_get_human_input = asked  # type: ignore[method-assign]
    result = await al.a_initiate_chat(saying("bo", "1"), message="hi", silent=True)
    assert contents(result.chat_history) == ["hi", "1"]


async def test_a_question_does_not_hold_a_cancelled_chat():
    asked, release = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    class Slow(ConversableAgent):
        def get_human_input(self, prompt: str) -> str:
            loop.call_soon_threadsafe(asked.set)
            release.wait()
            return ""

    al = Slow("al", human_input_mode="ALWAYS")
    async with asyncio.TaskGroup() as group:
        chat = group.create_task(al.a_initiate_chat(saying("bo", "1"), message="hi", silent=True))
        await asked.wait()
        chat.cancel()
    assert chat.cancelled()
    release.set()
