"""What people are told of budgets: what is limited, how much is left, when it is whole again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.base.calendar import CalendarWindow, local_time, window_end, window_start
from gateway.budgets.allowance import amounts
from gateway.content.untrusted import plain_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from gateway.base.calendar import Scope
    from gateway.budgets.allowance import Held
    from gateway.config.budgets import Budget, Window
    from gateway.conversation import Author
    from gateway.store.decisions import Spent
    from gateway.store.records import Used

KEPT = "What was said is kept: your next message{} goes on from here."

_FOR: dict[Window, str] = {
    "turn": "for one turn",
    "hour": "for this hour",
    "day": "for today",
    "month": "for this month",
}


def used_up(held: Held, what: str, limit: float, asker: Author) -> str:
    """Why a turn ends before its next request to a model."""
    budget = held.budget
    said = f"{_whose(budget, held.name, asker)} {_FOR[budget.window]} is used up"
    goes_on = KEPT.format("" if what == "seconds" else ", or /retry,")
    return (
        f"{said} ({_amount(what, limit)}). {_whole_again(budget, held.ends, held.zone)} {goes_on}"
    )


def nearly_used(held: Held, what: str, used: float, limit: float, asker: Author) -> str:
    """How much of a budget is gone, once most of it is."""
    budget = held.budget
    said = f"{_whose(budget, held.name, asker)} {_FOR[budget.window]} is used to"
    whole_again = _whole_again(budget, held.ends, held.zone)
    return (
        f"{said} {used / limit:.0%}: {_plain(what, used)} of {_amount(what, limit)}. {whole_again}"
    )


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
    return f"It is whole again {day}at {at:%H:%M %Z}; an operator can raise it."


def _amount(what: str, value: float) -> str:
    return f"a cost of {_plain(what, value)}" if what == "cost" else f"{_plain(what, value)} {what}"


def _plain(what: str, value: float) -> str:
    match what:
        case "cost":
            return f"{value:,.2f}"
        case "seconds":
            return f"{value:g}"
        case _:
            return f"{value:,.0f}"


def usage_text(
    spent: Spent,
    names: Mapping[Scope, str],
    budgets: Iterable[tuple[Budget, str]],
    *,
    now: float,
    everybody: bool,
    zone: str,
) -> str:
    """What `/usage` answers: what the thread and the person have used, what is left of their
    `budgets`, each with the name it is counted for, and what `everybody` has used. Times are in the
    `zone`.
    """
    lines: list[str] = []
    if thread := names["thread"]:
        lines.append(f"This thread: {_used(spent('thread', thread, 0.0))}.")
    lines += _by_window("You", spent, "person", names["person"], now)
    for budget, name in budgets:
        if budget.window != "turn":
            used = spent(budget.per, name, window_start(budget.window, now))
            lines += _left(budget, used, window_end(budget.window, now), zone)
    if everybody:
        lines += _by_window("Everybody", spent, None, "", now)
    return "\n".join(lines)


def _by_window(who: str, spent: Spent, scope: Scope | None, name: str, now: float) -> Iterator[str]:
    windows: tuple[tuple[CalendarWindow, str], ...] = (("day", "today"), ("month", "this month"))
    for window, said in windows:
        yield f"{who}, {said}: {_used(spent(scope, name, window_start(window, now)))}."


def _left(budget: Budget, used: Used, ends: float, zone: str) -> Iterator[str]:
    """How much of a budget is used, a line for each of its limits."""
    whose = "Your budget" if budget.per == "person" else f"Budget of this {budget.per}"
    for what, value, limit in amounts(budget, used.tokens, used.cost, used.turns):
        said = f"{_plain(what, value)} of {_amount(what, limit)}"
        yield f"{whose} {_FOR[budget.window]}: {said}. {_whole_again(budget, ends, zone)}"


def _used(used: Used) -> str:
    read, written = f"{used.prompt_tokens:,} read", f"{used.completion_tokens:,} written"
    cost = f", a cost of {_plain('cost', used.cost)}" if used.cost else ""
    turns = f"{used.turns:,} turn{'' if used.turns == 1 else 's'}"
    return f"{used.tokens:,} tokens ({read}, {written}) in {turns}{cost}"
