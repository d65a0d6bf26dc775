"""Replies made of nested chats."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from teams.conversable import ChatResult, ConversableAgent
from tests.teams.conversable.pairs import agent, contents, saying


def item(name: str, *texts: str, **options: Any) -> dict[str, Any]:
    return {"recipient": saying(name, *(texts or [f"{name}'s"])), "silent": True, **options}


def ask(
    queue: list[dict[str, Any]], *, is_async: bool = False, host: Any = None, **options: Any
) -> ChatResult:
    """A chat with an agent that answers with the queue's result."""
    host = host or agent("host", default_auto_reply=None)
    al = saying("al")
    host.register_nested_chats(queue, trigger=al, **options)
    arguments: dict[str, Any] = {"message": "question", "max_turns": 1, "silent": True}
    if is_async:
        return asyncio.run(al.a_initiate_chat(host, **arguments))
    return al.initiate_chat(host, **arguments)


def heard(queue: list[dict[str, Any]], index: int) -> str:
    recipient = queue[index]["recipient"]
    return contents(next(iter(recipient.chat_messages.values())))[0]


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_the_reply_is_the_last_summary(is_async: bool):
    queue = [item("a", max_turns=1), item("b", message="check", max_turns=1)]
    before = [dict(each) for each in queue]
    result = ask(queue, is_async=is_async)
    assert contents(result.chat_history) == ["question", "b's"]
    assert heard(queue, 0) == "question"
    assert heard(queue, 1) == "check\nContext: \na's"
    assert queue == before


def test_only_the_first_chat_may_have_no_message():
    queue = [item("a", max_turns=1), item("b", max_turns=1)]
    assert contents(ask(queue).chat_history) == ["question", "a's"]
    assert queue[1]["recipient"].last_message() is None


def test_a_function_makes_the_message():
    host = agent("host", default_auto_reply=None)
    seen: list[Any] = []

    def message(recipient: Any, messages: Any, sender: Any, config: Any) -> str:
        seen.extend([recipient, messages[-1]["content"], sender.name, config])
        return "made"

    queue = [item("a", message=message, max_turns=1)]
    ask(queue, host=host, config=3)
    assert seen == [host, "question", "al", 3]
    assert heard(queue, 0) == "made"


def test_an_item_may_have_a_sender_of_its_own():
    other = saying("other")
    ask([item("a", sender=other, max_turns=1)])
    assert [each.name for each in other.chat_messages] == ["a"]


@pytest.mark.parametrize("queue", [[], [item("a", message=lambda *_: "")]])
def test_with_nothing_to_run_there_is_no_reply(queue: list[dict[str, Any]]):
    assert contents(ask(queue).chat_history) == ["question"]


def test_nested_chats_come_after_the_human_check():
    host = agent("host", max_consecutive_auto_reply=0)
    assert contents(ask([item("a")], host=host).chat_history) == ["question"]


def test_a_function_of_one_s_own_replies():
    seen: list[Any] = []

    def own(
        chat_queue: Any, recipient: Any, messages: Any, sender: Any, config: Any
    ) -> tuple[bool, str]:
        seen.extend([chat_queue, recipient.name, messages[-1]["content"], sender.name, config])
        return True, "mine"

    queue = [item("a")]
    result = ask(queue, reply_func_from_nested_chats=own, config=3)
    assert contents(result.chat_history) == ["question", "mine"]
    assert seen == [queue, "host", "question", "al", 3]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            {"reply_func_from_nested_chats": "mine"},
            "reply_func_from_nested_chats must be a callable",
        ),
        (
            {"reply_func_from_nested_chats": print, "use_async": True},
            "reply_func_from_nested_chats must be a callable and a coroutine",
        ),
    ],
)
def test_another_reply_function_is_refused(options: dict[str, Any], problem: str):
    with pytest.raises(ValueError, match=f"^{problem}$"):
        agent().register_nested_chats([item("a", chat_id=1)], trigger="al", **options)


def test_async_nested_chats_need_ids():
    with pytest.raises(ValueError, match=r"^chat_id is required for async nested chats$"):
        agent().register_nested_chats([item("a")], trigger="al", use_async=True)


def test_async_nested_chats_run_by_prerequisites():
    queue = [
        item("a", chat_id=1, max_turns=1),
        item("b", chat_id=2, message="check", max_turns=1),
        item("c", chat_id=3, prerequisites=[2], message="end", max_turns=1),
    ]
    result = ask(queue, is_async=True, use_async=True)
    assert contents(result.chat_history) == ["question", "c's"]
    assert heard(queue, 2) == "end\nContext: \nb's"


def test_async_nested_chats_are_not_for_sync_chats():
    with pytest.raises(RuntimeError, match="Async reply functions can only be used"):
        ask([item("a", chat_id=1)], use_async=True)
    result = ask([item("a", chat_id=1)], use_async=True, ignore_async_in_sync_chat=True)
    assert contents(result.chat_history) == ["question"]


def test_an_async_function_of_one_s_own_replies():
    async def own(*_: Any) -> tuple[bool, str]:
        return True, "mine"

    result = ask(
        [item("a", chat_id=1)], is_async=True, use_async=True, reply_func_from_nested_chats=own
    )
    assert contents(result.chat_history) == ["question", "mine"]


async def test_nested_chats_of_an_async_chat_do_not_hold_the_loop():
    async def later(*_: Any, **__: Any) -> tuple[bool, str]:
        await asyncio.sleep(0)
        return True, "later"

    expert, host, al = agent("expert"), agent("host", default_auto_reply=None), saying("al")
    expert.register_reply(ConversableAgent, later)
    host.register_nested_chats([{"recipient": expert, "max_turns": 1, "silent": True}], trigger=al)
    result = await al.a_initiate_chat(host, message="question", max_turns=1, silent=True)
    assert result.summary == "later"


def test_the_trigger_chooses_who_gets_nested_chats():
    host = agent("host")
    host.register_nested_chats([item("a", max_turns=1)], trigger="somebody else")
    al = saying("al")
    assert al.initiate_chat(host, message="q", max_turns=1, silent=True).summary == "I am host"
    with pytest.raises(ValueError, match="trigger"):
        host.register_nested_chats([], trigger=1)  # type: ignore[arg-type]


def test_the_config_is_reset_with_the_agent():
    al, host, seen = saying("al"), agent("host", default_auto_reply=None), list[Any]()

    def message(recipient: Any, messages: Any, sender: Any, config: list[int]) -> str:
        seen.append(list(config))
        return ""

    queue = [item("a", message=message)]
    host.register_nested_chats(queue, al, config=[1], reset_config=lambda config: config.clear())
    al.send("?", host, request_reply=True, silent=True)
    host.reset()
    al.send("?", host, request_reply=True, silent=True)
    assert seen == [[1], []]
