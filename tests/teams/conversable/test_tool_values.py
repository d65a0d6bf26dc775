"""Arguments and results of tool calls, between JSON and Python."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import pytest
from pydantic import BaseModel

from teams.conversable._tool_values import as_text, for_execution, read_arguments


class Money(BaseModel):
    """An amount."""

    amount: float


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('{"query": "x=3\nprint(x)"}', {"query": "x=3\nprint(x)"}),
        ('{\n"a":\n1\n}', {"a": 1}),
        ('{"a": "tab\there", "b": "\\n"}', {"a": "tab\there", "b": "\n"}),
        ('{"a": "a \\"quote\\"\n"}', {"a": 'a "quote"\n'}),
        ("", {}),
        ({"a": 1}, {"a": 1}),
    ],
)
def test_arguments_are_read_leniently(text: Any, arguments: dict[str, Any]):
    assert read_arguments(text) == arguments


@pytest.mark.parametrize("text", ["{", "[]", "1", "null", '{"a": ' + "[" * 200 + "]" * 200 + "}"])
def test_what_is_no_object_is_refused(text: str):
    with pytest.raises(ValueError, match=r"."):
        read_arguments(text)


def test_dicts_become_the_annotated_models():
    def total(
        a: Money,
        b: Annotated[Money, "more"],
        c: Money | None = None,
        d: dict[str, Any] | None = None,
    ) -> str:
        return f"{a.amount + b.amount + (c.amount if c else 0)} {d}"

    call = for_execution(total)

    assert call(a={"amount": 1}, b={"amount": 2}, d={"amount": 3}) == "3.0 {'amount': 3}"
    assert call(a=Money(amount=1), b={"amount": 2}, c={"amount": 3}) == "6.0 None"


def test_dicts_that_do_not_fit_raise():
    def total(a: Money) -> float:
        return a.amount

    with pytest.raises(ValueError, match="amount"):
        for_execution(total)(a={})


async def test_a_coroutine_function_stays_one():
    async def total(a: Money) -> Money:
        return a

    call = for_execution(total)

    assert inspect.iscoroutinefunction(call)
    assert await call(a={"amount": 1}) == '{"amount":1.0}'


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("as is", "as is"),
        (3, "3"),
        (None, "null"),
        (["ä", 1], '["ä", 1]'),
        (Money(amount=2), '{"amount":2.0}'),
        ([Money(amount=2)], '[{"amount": 2.0}]'),
    ],
)
def test_results_become_text(result: Any, text: str):
    assert as_text(result) == text


def test_what_has_no_json_raises():
    with pytest.raises(ValueError, match="serialize"):
        as_text(object())
