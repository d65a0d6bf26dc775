"""Tasks as messages, and results of runs."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from teams._contract.team import result_of, task_messages, task_result
from teams.base import TaskResult
from teams.messages import TextMessage

HI = TextMessage(content="hi", source="a")


def test_a_task_is_text_messages_or_nothing():
    [asked] = task_messages("go")
    assert (asked.source, asked.to_text()) == ("user", "go")
    assert task_messages(HI) == [HI]
    assert task_messages((HI, HI)) == [HI, HI]
    assert task_messages(None) == []


@pytest.mark.parametrize(
    ("task", "said"),
    [([], "empty list"), ([HI, "go"], "found str"), (3, "found int")],
    ids=["empty", "text in a list", "number"],
)
def test_anything_else_is_no_task(task: Any, said: str):
    with pytest.raises(ValueError, match=said):
        task_messages(task)


def test_a_result_of_the_engine_is_like_a_validated_one():
    made = task_result([HI], "done")
    assert made == TaskResult(messages=[HI], stop_reason="done")
    assert made.model_dump_json() == TaskResult(messages=[HI], stop_reason="done").model_dump_json()


class Stream:
    """A run's items; it knows if its stream was closed."""

    def __init__(self, *items: Any) -> None:
        self.items = items
        self.closed = False

    async def __call__(self) -> AsyncGenerator[Any, None]:
        try:
            for item in self.items:
                yield item
        finally:
            self.closed = True


async def test_the_result_ends_a_stream_which_is_closed():
    result = TaskResult(messages=[HI])
    stream = Stream(HI, result, HI)
    assert await result_of(stream()) is result
    assert stream.closed


async def test_a_stream_without_a_result_is_an_error():
    with pytest.raises(RuntimeError, match="without a result"):
        await result_of(Stream(HI)())
