"""Answers in shapes of some providers, read from their recorded form."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from teams.core import FunctionCall
from teams.models import BadAnswer, ModelUnreachable, RequestUsage
from tests.fakes.drafts import read, result, whole


def chunk(delta: dict[str, Any], finish_reason: str | None = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}], **more}


def test_content_in_parts_is_joined():
    text, answer = read(
        chunk({"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "Hel"}]}),
        chunk({"content": "lo"}, "stop"),
    )
    assert text == result(answer).content == "Hello"


def test_reasoning_goes_by_two_names():
    _, answer = read(
        chunk({"reasoning_content": "Six "}),
        chunk({"reasoning": "times seven", "content": ""}),
        chunk({"content": "42"}, "stop"),
    )
    assert result(answer).thought == "Six times seven"


def test_an_unfinished_thought_stays_one():
    text, answer = read(chunk({"content": "<think>I wonder"}), chunk({}, "length"))
    assert text == ""
    with pytest.raises(BadAnswer, match="token limit"):
        result(answer)


def test_arguments_may_come_as_an_object():
    call = {"function": {"name": "add", "arguments": {"a": 1}}}
    _, answer = read(chunk({"tool_calls": [call]}, "stop"))
    found = result(answer)
    assert isinstance(found.content, list)
    assert found.content[0].arguments == '{"a": 1}'
    assert found.finish_reason == "function_calls"


def test_calls_with_one_index_but_different_ids_are_different():
    calls = [
        {"index": 0, "id": name, "function": {"name": name, "arguments": "{}"}} for name in "ab"
    ]
    _, answer = read(*[chunk({"tool_calls": [call]}) for call in calls], chunk({}, "tool_calls"))
    found = result(answer)
    assert isinstance(found.content, list)
    assert [call.name for call in found.content] == ["a", "b"]


def test_the_last_usage_holds_and_other_choices_are_not_read():
    other = {"index": 1, "delta": {"content": "no"}, "finish_reason": None}
    _, answer = read(
        {"choices": [other], "usage": {"prompt_tokens": 1}},
        {"choices": [], "prompt_filter_results": []},
        chunk({"content": "yes"}, "stop", usage={"prompt_tokens": 3, "completion_tokens": 2}),
    )
    found = result(answer)
    assert found.content == "yes"
    assert found.usage == RequestUsage(prompt_tokens=3, completion_tokens=2)


def test_log_probabilities_are_kept():
    token = {
        "token": "Hi",
        "logprob": -0.5,
        "bytes": [72, 105],
        "top_logprobs": [{"token": "Ho", "logprob": -2.0, "bytes": None}],
    }
    message = {"role": "assistant", "content": "Hi"}
    choice = {"message": message, "finish_reason": "stop", "logprobs": {"content": [token]}}
    found = whole({"choices": [choice]})
    assert found.logprobs is not None
    assert found.logprobs[0].token == "Hi"
    assert found.logprobs[0].top_logprobs is not None
    assert found.logprobs[0].top_logprobs[0].logprob == -2.0


def test_an_answer_without_an_end_is_none():
    _, answer = read(chunk({"content": "Hel"}))
    with pytest.raises(ModelUnreachable, match="before it was complete"):
        result(answer)
    with pytest.raises(BadAnswer, match="not what the API promises"):
        result(read()[1])


@pytest.mark.parametrize("index", [lambda n: n, lambda _: None, lambda n: [n], lambda _: 0])
def test_thousands_of_calls_are_read_in_linear_time(index: Callable[[int], Any]):
    calls = [{"index": index(n), "id": f"c{n}", "function": {"name": "a"}} for n in range(10_000)]
    began = time.process_time()
    _, answer = read(chunk({"tool_calls": calls}), chunk({}, "tool_calls"))
    assert time.process_time() - began < 1.5  # 10 s where each call looks through all before it
    found = result(answer)
    assert [call.id for call in found.content[:2] if isinstance(call, FunctionCall)] == [
        "c0",
        "c1",
    ]


def test_pieces_of_calls_that_take_turns_are_told_apart():
    def piece(index: int | None, arguments: str, **more: str) -> dict[str, Any]:
        call = {"index": index, "function": {"arguments": arguments, "name": more.get("id", "")}}
        return chunk({"tool_calls": [call | more]})

    _, answer = read(
        piece(0, "[", id="a"),
        piece(1, "{", id="b"),
        piece(0, "1"),
        piece(None, "}"),
        piece(0, "]"),
        chunk({}, "tool_calls"),
    )
    found = result(answer)
    assert isinstance(found.content, list)
    assert [call.arguments for call in found.content] == ["[1]", "{}"]
