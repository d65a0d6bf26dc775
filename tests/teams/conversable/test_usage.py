"""Usage of models, and its prices."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from teams.conversable import IOStream
from teams.conversable._usage import (
    Price,
    add_usage,
    gather_usage_summary,
    listed_price,
    merge_usage,
    parse_price,
    print_usage,
)
from tests.teams.conversable.pairs import Screen


def told(cost: float, prompt: int, completion: int) -> dict[str, Any]:
    return {
        "cost": cost,
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }


ONE = {"total_cost": 0.5, "m": told(0.5, 3, 1)}


def test_an_answer_adds_to_what_was_told():
    assert add_usage(None, {"model": "m", **told(0.5, 3, 1)}) == ONE
    assert add_usage(ONE, {"model": "m", **told(0.25, 1, 1)}) == {
        "total_cost": 0.75,
        "m": told(0.75, 4, 2),
    }


@pytest.mark.parametrize("usage", [None, {}, {"model": "m", "cost": 1}], ids=repr)
def test_usage_that_is_not_told_in_full_does_not_count(usage: Any):
    assert add_usage(ONE, usage) is ONE
    assert add_usage(None, usage) is None


@pytest.mark.parametrize("cost", ["much", True, -1, float("inf"), float("nan")], ids=repr)
def test_a_cost_that_is_none_counts_as_nothing(cost: Any):
    added = add_usage(None, {"model": "m", **told(0, 3, 1), "cost": cost})
    assert added == {"total_cost": 0, "m": told(0, 3, 1)}


def test_summaries_of_several_models_and_agents_are_summed():
    other = {"total_cost": 1.0, "n": told(1.0, 2, 2)}
    both = {"total_cost": 1.5, "m": told(0.5, 3, 1), "n": told(1.0, 2, 2)}
    assert merge_usage(ONE, other) == both
    clients = [
        SimpleNamespace(total_usage_summary=ONE, actual_usage_summary=None),
        SimpleNamespace(total_usage_summary=other, actual_usage_summary=other),
        None,
    ]
    assert gather_usage_summary([SimpleNamespace(client=each) for each in clients]) == {
        "usage_including_cached_inference": both,
        "usage_excluding_cached_inference": other,
    }


@pytest.mark.parametrize(
    ("actual", "total", "mode", "said"),
    [
        (None, None, "total", 'Please call "create" first.'),
        (ONE, ONE, ["actual", "total"], "All completions are non-cached"),
        (None, ONE, "actual", "No actual cost incurred"),
        (ONE, ONE, "total", "Usage summary including cached usage: \nTotal cost: 0.5\n* Model 'm'"),
    ],
)
def test_summaries_are_printed(actual: Any, total: Any, mode: Any, said: str):
    screen = Screen()
    with IOStream.set_default(screen):
        print_usage(actual, total, mode)
    assert said in screen.text


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="Invalid mode: 'all'"):
        print_usage(ONE, ONE, "all")


@pytest.mark.parametrize(
    ("given", "price"), [(2, Price(2, 2)), ([1, 3], Price(1, 3)), ((0.5, 0), Price(0.5, 0))]
)
def test_a_price_is_one_number_or_two(given: Any, price: Price):
    assert parse_price(given) == price
    assert price.cost(1_000, 0) == price.prompt
    assert price.cost(0, 2_000) == 2 * price.completion


@pytest.mark.parametrize("given", ["1", [1], None], ids=repr)
def test_anything_else_is_no_price(given: Any):
    with pytest.raises(ValueError, match="neither a number nor"):
        parse_price(given)


def test_prices_come_from_the_catalog():
    assert listed_price("ollama", "qwen3") == Price(0, 0)
    known = listed_price("openai", "gpt-4o")
    assert 0 < known.prompt < known.completion


def test_a_price_that_nobody_knows_counts_as_nothing(caplog: pytest.LogCaptureFixture):
    assert listed_price("openai", "no-model-of-this-name") == Price(0, 0)
    assert "no-model-of-this-name is not known" in caplog.text
