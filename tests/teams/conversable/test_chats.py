"""Sending, receiving, and chats of two."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest

from teams.conversable import ChatResult, ConversableAgent, IOStream
from tests.teams.conversable.pairs import Screen, agent, contents, reply, saying

Start = Callable[..., ChatResult]


@pytest.fixture(params=["sync", "async"])
def start(request: pytest.FixtureRequest) -> Start:
    """`initiate_chat` or its async form, as a function of the starter."""

    def begin(starter: ConversableAgent, *args: Any, **kwargs: Any) -> ChatResult:
        kwargs = {"silent": True, **kwargs}
        if request.param == "sync":
            return starter.initiate_chat(*args, **kwargs)
        return asyncio.run(starter.a_initiate_chat(*args, **kwargs))

    return begin


def test_nine_messages_at_a_limit_of_four(start: Start):
    al = agent("al", max_consecutive_auto_reply=4)
    bo = agent("bo", max_consecutive_auto_reply=4)
    result = start(al, bo, message="hi")
    assert len(result.chat_history or []) == 9
    al.send("more", bo)
    assert len(al.chat_messages[bo]) == 11, "bo's counter ended at 0, al's at 4"


def test_each_turn_counts_for_both_sides(start: Start):
    al, bo = agent("al", max_consecutive_auto_reply=1), agent("bo")
    assert len(start(al, bo, message="hi", max_turns=50).chat_history or []) == 4
    assert len(start(bo, al, message="hi", max_turns=50).chat_history or []) == 3


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_turns_are_round_trips(start: Start, turns: int):
    al, bo = agent("al"), agent("bo")
    result = start(al, bo, message="hi", max_turns=turns)
    assert contents(result.chat_history) == ["hi", *["I am bo", "I am al"] * turns][: 2 * turns]


def test_a_chat_of_turns_leaves_no_replies_behind_and_another_does(start: Start):
    al, bo = saying("al"), agent("bo")
    start(al, bo, message="hi", max_turns=1)
    al.send("again", bo)
    assert contents(al.chat_messages[bo])[-1] == "again"
    cy = saying("cy", "1", "2")
    start(al, cy, message="hi")
    al.send("again", cy)
    assert contents(al.chat_messages[cy])[-2:] == ["again", "2"]


def test_a_thousand_replies_do_not_meet_the_recursion_limit(start: Start):
    replies = sys.getrecursionlimit() + 100
    al = agent("al", max_consecutive_auto_reply=replies)
    bo = agent("bo", max_consecutive_auto_reply=replies)
    assert len(start(al, bo, message="hi").chat_history or []) == 1 + 2 * replies


def test_a_plain_send_goes_on_as_long_as_a_chat():
    replies = sys.getrecursionlimit()
    al = agent("al", max_consecutive_auto_reply=replies)
    bo = agent("bo", max_consecutive_auto_reply=replies)
    start = [al.initiate_chat(bo, message="hi", max_turns=1, silent=True)]
    for one, other in ((al, bo), (bo, al)):
        one.reply_at_receive[other] = True
        one.reset_consecutive_auto_reply_counter()
    al.send("go on", bo, silent=True)
    assert len(start[0].chat_history or []) > 2 * replies


def test_the_result_has_the_starter_s_history_live():
    al, bo = saying("al"), saying("bo", "yes")
    result = al.initiate_chat(bo, message="hi", silent=True)
    assert result.chat_history is al.chat_messages[bo]
    assert (result.summary, result.human_input) == ("yes", [])
    assert result.cost == {
        "usage_including_cached_inference": {"total_cost": 0},
        "usage_excluding_cached_inference": {"total_cost": 0},
    }
    assert [field.name for field in fields(ChatResult)] == [
        "chat_id",
        "chat_history",
        "summary",
        "cost",
        "human_input",
    ]
    assert ChatResult() == ChatResult(None, None, None, None, None)


def test_history_of_both_is_cleared_unless_kept(start: Start):
    al, bo = agent("al"), saying("bo", "1", None, "2", None, "3")
    start(al, bo, message="a")
    start(al, bo, message="b")
    assert contents(bo.chat_messages[al]) == contents(al.chat_messages[bo])
    assert contents(al.chat_messages[bo])[0] == "b"
    start(al, bo, message="c", clear_history=False)
    assert contents(al.chat_messages[bo])[0] == "b"
    assert "c" in contents(bo.chat_messages[al])


@pytest.mark.parametrize("request_reply", [True, False, None])
def test_a_reply_is_made_if_asked_for_or_expected(request_reply: bool | None):
    al, bo = agent("al"), saying("bo", "1")
    al.send("hi", bo, request_reply=request_reply)
    assert len(al.chat_messages[bo]) == (2 if request_reply else 1)
    bo.reply_at_receive[al] = True
    al.send("hi", bo, request_reply=request_reply)
    assert contents(bo.chat_messages[al])[0] == "hi"


def test_false_is_stronger_than_what_a_chat_has_set():
    al, bo = agent("al"), agent("bo")
    bo.reply_at_receive[al] = True
    al.send("hi", bo, request_reply=False)
    assert contents(al.chat_messages[bo]) == ["hi"]


async def test_both_forms_send_and_receive():
    al, bo = agent("al"), saying("bo", "1", "2")
    await al.a_send("hi", bo, request_reply=True, silent=True)
    await bo.a_receive("ho", al, request_reply=True, silent=True)
    assert contents(bo.chat_messages[al]) == ["hi", "1", "ho", "2"]


class Parrot:
    """A partner that is no ConversableAgent."""

    name = "parrot"
    description = "repeats"
    silent = None

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def receive(
        self, message: Any, sender: Any, request_reply: Any = None, silent: Any = False
    ) -> None:
        self.heard.append(message)
        if len(self.heard) < 3:
            sender.receive(f"{message}!", self, request_reply, silent)

    async def a_receive(
        self, message: Any, sender: Any, request_reply: Any = None, silent: Any = False
    ) -> None:
        self.heard.append(message)
        if len(self.heard) < 3:
            await sender.a_receive(f"{message}!", self, request_reply, silent)


def test_the_recipient_may_be_any_agent(start: Start):
    al, parrot = agent("al"), Parrot()
    result = start(al, parrot, message="hi", summary_method=None)
    assert parrot.heard == ["hi", "I am al", "I am al"]
    assert contents(result.chat_history) == ["hi", "hi!", "I am al", "I am al!", "I am al"]


def test_without_a_last_message_the_summary_is_empty_and_warns(start: Start):
    with pytest.warns(UserWarning, match="last_msg"):
        assert start(agent("al"), Parrot(), message="hi").summary == ""


@pytest.mark.parametrize("method", ["first_msg", 1, ["last_msg"]])
def test_a_summary_method_that_there_is_not_is_refused(start: Start, method: Any):
    with pytest.raises(AssertionError) as refused:
        start(agent("al"), agent("bo"), message="hi", summary_method=method)
    assert str(refused.value) == (
        "summary_method must be a string chosen from 'reflection_with_llm' or 'last_msg' or a "
        "callable, or None."
    )


def test_a_reflection_needs_a_model(start: Start):
    with pytest.raises(AssertionError) as refused:
        start(agent("al"), agent("bo"), message="hi", summary_method="reflection_with_llm")
    assert str(refused.value) == (
        "llm client must be set in either the recipient or sender when summary_method is "
        "reflection_with_llm."
    )


def test_a_recipient_is_needed(start: Start):
    with pytest.raises(AssertionError, match="recipient"):
        start(agent("al"), None, message="hi")


def test_the_first_message_is_asked_for_if_there_is_none(start: Start):
    screen = Screen("from me")
    with IOStream.set_default(screen):
        result = start(agent("al"), saying("bo", "yes"), carryover="news")
    assert screen.prompts == [">"]
    assert contents(result.chat_history)[0] == "from me\nContext: \nnews"
    assert result.human_input == ["from me"]


def test_a_function_makes_the_first_message_from_what_else_was_given(start: Start):
    seen: list[Any] = []

    def first(sender: Any, recipient: Any, whatever: dict[str, Any]) -> str:
        seen.extend([sender, recipient, whatever])
        return "made"

    al, bo = saying("al"), saying("bo", "yes")
    result = start(al, bo, message=first, carryover="news", work_dir="here")
    assert seen == [al, bo, {"carryover": "news", "work_dir": "here"}]
    assert contents(result.chat_history) == ["made", "yes"]


async def test_a_coroutine_function_may_make_the_first_message():
    async def first(*given: Any) -> dict[str, Any]:
        assert len(given) == 3
        return {"content": "made"}

    result = await saying("al").a_initiate_chat(saying("bo", "yes"), message=first, silent=True)
    assert contents(result.chat_history) == ["made", "yes"]


def test_hooks_change_a_message_before_it_is_sent(start: Start):
    al, bo = agent("al"), saying("bo", "yes")
    seen: list[Any] = []

    def louder(sender: Any, message: Any, recipient: Any, silent: Any) -> Any:
        seen.append((sender, recipient, silent))
        return f"{message}!"

    al.register_hook("process_message_before_send", louder)
    al.register_hook(
        "process_message_before_send", lambda sender, message, recipient, silent: f"<{message}>"
    )
    start(al, bo, message="hi", silent=True)
    assert seen[0] == (al, bo, True)
    assert contents(bo.chat_messages[al])[0] == contents(al.chat_messages[bo])[0] == "<hi!>"


def test_a_coroutine_reply_function_is_not_left_out_silently():
    async def f(*_: Any, **__: Any) -> tuple[bool, str]:
        return True, "async"

    async def g(*_: Any, **__: Any) -> tuple[bool, str]:
        return True, "async"

    al, bo = agent("al"), agent("bo")
    al.register_reply([ConversableAgent], f)
    bo.register_reply([ConversableAgent], g)
    with pytest.raises(RuntimeError) as refused:
        al.initiate_chat(bo, message="hi")
    assert str(refused.value) == (
        "Async reply functions can only be used with ConversableAgent.a_initiate_chat(). "
        "The following async reply functions are found: f, g"
    )


def test_a_coroutine_reply_function_may_be_left_out_where_it_says_so():
    async def f(*_: Any, **__: Any) -> tuple[bool, str]:
        return True, "async"

    al, bo = agent("al"), agent("bo")
    bo.register_reply([ConversableAgent], f, ignore_async_in_sync_chat=True)
    result = al.initiate_chat(bo, message="hi", max_turns=1, silent=True)
    assert contents(result.chat_history) == ["hi", "I am bo"]
    result = asyncio.run(al.a_initiate_chat(bo, message="hi", max_turns=1, silent=True))
    assert contents(result.chat_history) == ["hi", "async"]


class Overriding(ConversableAgent):
    """An agent that notes which of its members are called."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.called: list[str] = []

    def send(self, *args: Any, **kwargs: Any) -> None:
        self.called.append("send")
        super().send(*args, **kwargs)

    async def a_send(self, *args: Any, **kwargs: Any) -> None:
        self.called.append("send")
        await super().a_send(*args, **kwargs)

    def receive(self, *args: Any, **kwargs: Any) -> None:
        self.called.append("receive")
        super().receive(*args, **kwargs)

    async def a_receive(self, *args: Any, **kwargs: Any) -> None:
        self.called.append("receive")
        await super().a_receive(*args, **kwargs)

    def generate_reply(self, *args: Any, **kwargs: Any) -> Any:
        self.called.append("reply")
        return super().generate_reply(*args, **kwargs)

    async def a_generate_reply(self, *args: Any, **kwargs: Any) -> Any:
        self.called.append("reply")
        return await super().a_generate_reply(*args, **kwargs)


def test_members_that_a_subclass_overrides_are_called(start: Start):
    al = Overriding("al", human_input_mode="NEVER", default_auto_reply="a")
    bo = saying("bo", "1", "2")
    start(al, bo, message="hi")
    assert al.called == ["send", "receive", "reply", "send", "receive", "reply", "send"]
    al.called.clear()
    start(al, saying("bo", "1", "2"), message="hi", max_turns=2)
    assert al.called == ["send", "receive", "reply", "send", "receive"]


def test_a_send_of_one_s_own_is_one_send():
    al, bo = Overriding("al"), saying("bo", "1")
    al.send("hi", bo, request_reply=True)
    assert al.called == ["send", "receive"]


def test_members_replaced_on_an_instance_are_called(start: Start):
    al, bo = agent("al"), agent("bo")

    async def a_reply(messages: Any = None, sender: Any = None, **_: Any) -> str:
        return "mine"

    bo.generate_reply = lambda messages=None, sender=None, **_: "mine"  # type: ignore[method-assign]
    bo.a_generate_reply = a_reply  # type: ignore[method-assign]
    result = start(al, bo, message="hi", max_turns=1)
    assert contents(result.chat_history) == ["hi", "mine"]


def test_a_chat_within_a_reply_ends_before_the_reply_is_sent(start: Start):
    expert, bo, al = saying("expert", "42"), agent("bo"), agent("al")

    def ask(*_: Any, **__: Any) -> tuple[bool, str]:
        return True, bo.initiate_chat(expert, message="?", max_turns=1, silent=True).summary

    bo.register_reply(al, ask)
    assert contents(start(al, bo, message="hi", max_turns=1).chat_history) == ["hi", "42"]


def test_a_message_sent_within_a_reply_arrives_before_it():
    al, bo = agent("al"), agent("bo")

    def announce(*_: Any, **__: Any) -> tuple[bool, str]:
        bo.send("wait", al, request_reply=False)
        return True, "done"

    bo.register_reply(al, announce)
    assert contents(al.initiate_chat(bo, message="hi", max_turns=1, silent=True).chat_history) == [
        "hi",
        "wait",
        "done",
    ]


def test_a_history_cleared_within_a_chat_does_not_end_it(start: Start):
    al, bo = agent("al"), agent("bo")

    def forget(*_: Any, **__: Any) -> tuple[bool, str]:
        al.clear_history(bo)
        return True, "forgotten"

    bo.register_reply(al, forget)
    result = start(al, bo, message="hi", max_turns=2)
    assert contents(result.chat_history) == ["forgotten"]
    assert contents(bo.chat_messages[al]) == ["hi", "forgotten", "I am al", "forgotten"]


async def test_a_sync_chat_runs_inside_of_a_running_loop():
    assert saying("al").initiate_chat(saying("bo", "yes"), message="hi").summary == "yes"


async def test_a_cancelled_chat_ends_at_once_with_its_messages():
    al, bo = agent("al"), agent("bo")
    waiting = asyncio.Event()

    async def wait(*_: Any, **__: Any) -> tuple[bool, str]:
        waiting.set()
        await asyncio.Event().wait()
        return True, "never"

    bo.register_reply(al, wait)
    async with asyncio.TaskGroup() as group:
        chat = group.create_task(al.a_initiate_chat(bo, message="hi", silent=True))
        await waiting.wait()
        chat.cancel()
    assert chat.cancelled()
    assert contents(al.chat_messages[bo]) == contents(bo.chat_messages[al]) == ["hi"]


def test_the_cache_of_a_chat_holds_for_both_and_for_this_chat_alone(start: Start):
    al, bo = agent("al"), agent("bo")
    mine: Any = object()
    given: Any = object()
    al.client_cache = mine
    seen: list[Any] = []

    def look(*_: Any, **__: Any) -> tuple[bool, str]:
        seen.extend([al.client_cache, bo.client_cache])
        return True, "x"

    bo.register_reply(al, look)
    start(al, bo, message="hi", max_turns=1, cache=given)
    assert seen == [given, given]
    assert (al.client_cache, bo.client_cache) == (mine, None)


def test_an_agent_s_own_silence_is_stronger_than_the_call_s():
    screen = Screen()
    with IOStream.set_default(screen):
        agent("al", silent=True).send("quiet", agent("bo"), silent=False)
        agent("al", silent=False).send("loud", agent("bo", silent=True), silent=True)
    assert "quiet" not in screen.text
    assert "loud" in screen.text


def test_the_context_of_a_chat_may_name_it(start: Start):
    al, bo = agent("al"), agent("bo")
    bo.register_reply(al, reply(None))
    assert start(al, bo, message="hi", chat_id=7).chat_id == 7


def test_what_people_wrote_in_an_earlier_chat_is_not_of_this_one(start: Start):
    al = agent("al")
    with IOStream.set_default(Screen("one", "two")):
        first = start(al, saying("bo", "1"))
        second = start(al, saying("cy", "1"))
    assert (first.human_input, second.human_input) == (["one"], ["two"])


async def test_plain_reply_functions_of_an_async_chat_run_on_its_loop():
    al, bo = agent("al"), agent("bo")
    loops: list[Any] = []

    def look(*_: Any, **__: Any) -> tuple[bool, str]:
        loops.append(asyncio.get_running_loop())
        return True, "x"

    bo.register_reply(al, look)
    await al.a_initiate_chat(bo, message="hi", max_turns=1, silent=True)
    assert loops == [asyncio.get_running_loop()]
