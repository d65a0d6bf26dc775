"""Notices about budgets: the limit, the rest, the reset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.base.calendar import local_time
from gateway.budgets.allowance import amounts
from gateway.content.task import plain_name
from gateway.errors import kind_of_failure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.budgets.allowance import Allowance
    from gateway.config.budgets import Budget, Window
    from gateway.conversation import Author
    from gateway.store.records import UsageTotals
    from teams.models.fallback import Substitution

KEPT = "The conversation is kept: your next message{} continues from here."

_FOR: dict[Window, str] = {
    "turn": "for one turn",
    "hour": "for this hour",
    "day": "for today",
    "month": "for this month",
}


def used_up_notice(held: Allowance, what: str, limit: float, asker: Author) -> str:
    """Why a turn ends before its next request to a model."""
    budget = held.budget
    said = f"{_whose(budget, held.name, asker)} {_FOR[budget.window]} is used up"
    goes_on = KEPT.format("" if what == "seconds" else ", or /retry,")
    return (
        f"{said} ({_amount(what, limit)}). {_whole_again(budget, held.ends, held.zone)} {goes_on}"
    )


def substitution_notice(substitution: Substitution) -> str:
    """Why another model answers than people may expect."""
    why = kind_of_failure(substitution.because)
    return (
        f"The model {substitution.answered!r} answers for now: {substitution.missed!r} is not "
        f"available ({why})."
    )


def nearly_used_notice(held: Allowance, what: str, used: float, limit: float, asker: Author) -> str:
    """Warning about a budget that is mostly used."""
    budget = held.budget
    whose = f"{_whose(budget, held.name, asker)} {_FOR[budget.window]}"
    amount = f"{plain_amount(what, used)} of {_amount(what, limit)}"
    whole_again = _whole_again(budget, held.ends, held.zone)
    return f"{whose} is {used / limit:.0%} used: {amount}. {whole_again}"


def _whose(budget: Budget, name: str, asker: Author) -> str:
    match budget.per:
        case "thread":
            return "The budget of this thread"
        case "person":
            return f"The budget of {plain_name(asker.name)}"
        case "team":
            return f"The budget of the team {name!r}"
        case "workspace":
            return "The budget of this workspace"


def _whole_again(budget: Budget, ends: float, zone: str) -> str:
    if budget.window == "turn":
        return "An operator can raise it."
    at = local_time(ends, zone)
    day = f"on {at:%Y-%m-%d} " if budget.window == "month" else ""
    return f"It resets {day}at {at:%H:%M %Z}. An operator can raise it."


def _amount(what: str, value: float) -> str:
    return (
        f"a cost of {plain_amount(what, value)}"
        if what == "cost"
        else f"{plain_amount(what, value)} {what}"
    )


def plain_amount(what: str, value: float) -> str:
    """An amount of tokens, cost, turns or seconds, without its unit."""
    match what:
        case "cost":
            return f"{value:,.2f}"
        case "seconds":
            return f"{value:g}"
        case _:
            return f"{value:,.0f}"


def budget_lines(budget: Budget, used: UsageTotals, ends: float, zone: str) -> Iterator[str]:
    """Usage of a budget, one line per limit."""
    whose = "Your budget" if budget.per == "person" else f"Budget of this {budget.per}"
    for what, value, limit in amounts(budget, used.tokens, used.cost, used.turns):
        said = f"{plain_amount(what, value)} of {_amount(what, limit)}"
        yield f"{whose} {_FOR[budget.window]}: {said}. {_whole_again(budget, ends, zone)}"
