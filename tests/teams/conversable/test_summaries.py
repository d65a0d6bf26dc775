"""Summaries that need no model."""

from __future__ import annotations

from typing import Any

import pytest

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
