"""Summaries of chats."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from teams.conversable import ConversableAgent
from tests.fakes.openai_in_thread import openai_in_thread
from tests.fakes.openai_script import Fail, Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.teams.conversable.pairs import saying


def summary(last: Any, **options: Any) -> Any:
    return (
        saying("al").initiate_chat(saying("bo", last), message="hi", silent=True, **options).summary
    )


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ("done", "done"),
        ("done. TERMINATE", "done. "),
        ("", ""),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "a\nb"),
        ({"content": "x", "colour": 1}, "x"),
    ],
)
def test_the_last_message_without_the_word_terminate(last: Any, expected: str):
    assert summary(last) == expected
    assert summary(last, summary_method="last_msg") == expected


def test_no_method_makes_no_summary():
    assert summary("done", summary_method=None) == ""


def test_a_function_is_called_by_position_whatever_its_parameters_are_called():
    seen: list[Any] = []

    def method(one: Any, two: Any, three: Any) -> str:
        seen.extend([one.name, two.name, three])
        return "mine"

    assert summary("done", summary_method=method, summary_args={"a": 1}) == "mine"
    assert seen == ["al", "bo", {"a": 1}]


async def test_an_async_chat_awaits_a_coroutine_function():
    async def method(sender: Any, recipient: Any, arguments: Any) -> str:
        return "mine"

    result = await saying("al").a_initiate_chat(
        saying("bo", "done"), message="hi", summary_method=method, silent=True
    )
    assert result.summary == "mine"


# --- with a model ---


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with openai_in_thread() as server:
        yield server


def config(server: FakeOpenAI) -> dict[str, Any]:
    return {"model": "gpt-4o", "api_key": "sk-of-a-test", "base_url": server.url, "price": [1, 1]}


def reflect(
    al: ConversableAgent, bo: ConversableAgent, is_async: bool = False, **arguments: Any
) -> Any:
    options: dict[str, Any] = {
        "message": "hi",
        "max_turns": 1,
        "summary_method": "reflection_with_llm",
        "summary_args": arguments,
        "silent": True,
    }
    if is_async:
        return asyncio.run(al.a_initiate_chat(bo, **options))
    return al.initiate_chat(bo, **options)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("side", ["recipient", "sender"])
def test_a_model_of_either_side_reflects(server: FakeOpenAI, side: str, is_async: bool):
    server.script(Reply(text="They greeted."))
    model = {"llm_config": config(server), "system_message": "Not for the summary."}
    al = saying("al", **(model if side == "sender" else {}))
    bo = saying("bo", "hello", **(model if side == "recipient" else {}))
    result = reflect(al, bo, is_async)
    assert result.summary == "They greeted."
    assert server.requests[0].messages == [
        {"role": "user", "name": "al", "content": "hi"},
        {"role": "assistant", "name": "bo", "content": "hello"},
        {"role": "system", "content": ConversableAgent.DEFAULT_SUMMARY_PROMPT},
    ]
    assert result.cost["usage_excluding_cached_inference"]["gpt-4o"]["total_tokens"] == 15


def test_prompt_and_role_may_be_given(server: FakeOpenAI):
    server.script(Reply(text="x"))
    bo = saying("bo", "hello", llm_config=config(server))
    reflect(saying("al"), bo, summary_prompt="In a word?", summary_role="user")
    assert server.requests[0].last == {"role": "user", "content": "In a word?"}


@pytest.mark.parametrize("arguments", [{"summary_prompt": 1}, {"summary_role": 1}])
def test_prompt_and_role_are_texts(server: FakeOpenAI, arguments: dict[str, Any]):
    with pytest.raises(ValueError, match="must be a string"):
        reflect(saying("al"), saying("bo", "hello", llm_config=config(server)), **arguments)


def test_a_request_that_is_refused_makes_no_summary(server: FakeOpenAI):
    server.script(Fail(status=400, message="No."))
    bo = saying("bo", "hello", llm_config=config(server))
    with pytest.warns(UserWarning, match="reflection_with_llm"):
        assert reflect(saying("al"), bo).summary == ""


def test_another_failure_leaves_the_chat(server: FakeOpenAI):
    server.script(Fail(status=401, message="No."))
    bo = saying("bo", "hello", llm_config=config(server))
    al = saying("al")
    with pytest.raises(RuntimeError):
        reflect(al, bo)
    assert [message["content"] for message in al.chat_messages[bo]] == ["hi", "hello"]


def test_the_recipient_s_model_is_asked_first(server: FakeOpenAI):
    server.models |= {"o3"}
    server.script(Reply(text="x"))
    al = saying("al", llm_config=config(server))
    reflect(al, saying("bo", "hello", llm_config={**config(server), "model": "o3"}))
    assert [request.body["model"] for request in server.requests] == ["o3"]
