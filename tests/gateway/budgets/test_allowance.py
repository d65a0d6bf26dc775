"""Budgets that count a turn, and sums of use."""

from __future__ import annotations

import pytest

from gateway.base.calendar import Scope
from gateway.budgets.allowance import Allowance, UsageSum, amounts, budgets_of, scope_names
from gateway.config.budgets import Budget
from gateway.conversation import LOCAL_OPERATOR
from gateway.demo.model import DemoChatCompletionClient
from gateway.store.records import UsageTotals
from gateway.store.shares import Amounts
from teams.base import ModelRequest

NAMES: dict[Scope, str] = {
    "thread": "t",
    "person": "slack:T:U",
    "team": "a",
    "workspace": "slack:T",
}
HOUR = 3600.0


def request() -> ModelRequest:
    return ModelRequest(client=DemoChatCompletionClient(), messages=[])


def allowance(used: UsageSum, **limits: float) -> Allowance:
    budget = Budget.model_validate({"per": "team", **limits})
    return Allowance(budget=budget, name="a", sum=used, zone="")


def test_without_a_thread_a_person_is_counted_alone() -> None:
    names = scope_names(None, LOCAL_OPERATOR)
    assert names == {"thread": "", "person": LOCAL_OPERATOR.id, "team": "", "workspace": ""}


@pytest.mark.parametrize(
    ("budget", "exempt", "name"),
    [
        ({"per": "team"}, False, "a"),
        ({"per": "person", "only": "U"}, False, "slack:T:U"),
        ({"per": "person", "only": "slack:T:U"}, False, "slack:T:U"),
        ({"per": "person", "only": "V"}, False, None),
        ({"per": "person"}, True, None),
        ({"per": "workspace"}, True, "slack:T"),
    ],
)
def test_a_budget_holds_for_its_names(
    budget: dict[str, str], exempt: bool, name: str | None
) -> None:
    made = Budget.model_validate({**budget, "tokens": 1})
    found = budgets_of([made], NAMES, exempt=exempt)
    assert [*found] == ([] if name is None else [(made, name)])


def test_each_limit_that_is_set_is_told() -> None:
    budget = Budget.model_validate({"per": "team", "tokens": 10, "turns": 3})
    assert [*amounts(budget, 4, 0.5, 1)] == [("tokens", 4, 10), ("turns", 1, 3)]


async def test_a_request_is_expected_until_it_is_settled() -> None:
    used, asked = UsageSum(0, HOUR, left=Amounts(tokens=10)), request()
    settled = used.settled
    used.expect(asked, 4, 0.5)
    assert used.held == Amounts(tokens=4, cost=0.5)
    assert (used.left.tokens, used.was_used) == (6, True)
    used.settle(asked)
    assert (used.held, used.left.tokens) == (Amounts(), 10)
    assert settled.is_set()
    used.settle(asked)
    assert used.left.tokens == 10


def test_use_is_counted_and_corrected_by_the_store() -> None:
    used = UsageSum(0, HOUR)
    used.add(Amounts(tokens=5, cost=1.0, turns=1))
    assert used.counted == used.unrecorded == Amounts(tokens=5, cost=1.0, turns=1)
    stored = UsageTotals(prompt_tokens=3, completion_tokens=4, cost=2.0, turns=2)
    used.correct(used.counted, Amounts(tokens=1), stored)
    assert used.counted == Amounts(tokens=8, cost=2.0, turns=2)


def test_a_window_that_is_over_begins_with_nothing() -> None:
    used = UsageSum(0, HOUR, tokens=5)
    used.roll("hour", HOUR - 1)
    assert used.tokens == 5
    used.roll("hour", HOUR + 1)
    assert (used.start, used.end, used.tokens) == (HOUR, 2 * HOUR, 0)


def test_an_allowance_is_of_its_budgets_window() -> None:
    used = UsageSum(0, HOUR, tokens=5, turns=1)
    found = allowance(used, tokens=10)
    assert [*found.parts()] == [("tokens", 5, 10)]
    assert found.ends == HOUR
    found.roll(2 * 24 * HOUR)
    assert (found.ends, used.tokens) == (3 * 24 * HOUR, 0)


def test_an_allowance_ends_where_open_requests_may_use_it_up() -> None:
    used = UsageSum(0, HOUR, tokens=5)
    found = allowance(used, tokens=10)
    assert found.has_left(4, 0)
    assert not found.has_left(5, 0)
    assert not found.may_be_used_up()
    used.expect(request(), 5, 0)
    assert found.may_be_used_up()
