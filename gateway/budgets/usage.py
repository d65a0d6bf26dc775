"""Answer to `/usage`: the sums it needs, and its text."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.base.calendar import CalendarWindow, Scope, window_end, window_start
from gateway.budgets.allowance import budgets_of, scope_names
from gateway.budgets.budget_notices import budget_lines, plain_amount
from gateway.config.budgets import Budget
from gateway.conversation import Author
from gateway.events import READERS, ContextFill
from gateway.render.sanitize import label
from gateway.store.decisions import UsageQuery
from gateway.store.records import Thread, UsageTotals
from gateway.store.rulebook import UsageFound
from gateway.values import value

LONGEST_NAME = 80
"""Characters of an agent's name."""

_WINDOWS: tuple[tuple[CalendarWindow, str], ...] = (("day", "today"), ("month", "this month"))


@value
class UsageRules:
    """Budgets that hold at a moment, for one asker.

    `operator`: they are told what everybody has used, and have no budget as a person. Times are
    told in the `zone`.
    """

    budgets: tuple[Budget, ...] = ()
    zone: str = ""
    asker: Author
    operator: bool
    now: float

    def queries(self, thread: Thread | None) -> tuple[UsageQuery, ...]:
        """The sums that the answer needs, asked in this thread."""
        said = (query for _, query in (*self._mine(thread), *self._everybody()))
        return (*said, *(self._query(budget, name) for budget, name in self._held(thread)))

    def text(self, found: UsageFound) -> str:
        """Text about the use of thread and asker, contexts, and budgets."""
        thread, used = found.thread, found.used
        lines = [f"{said}: {_used(used[query])}." for said, query in self._mine(thread)]
        lines += map(_filled, found.fill)
        for budget, name in self._held(thread):
            ends = window_end(_window(budget), self.now)
            lines += budget_lines(budget, used[self._query(budget, name)], ends, self.zone)
        lines += [f"{said}: {_used(used[query])}." for said, query in self._everybody()]
        return "\n".join(lines)

    def _mine(self, thread: Thread | None) -> Iterator[tuple[str, UsageQuery]]:
        if thread:
            yield "This thread", UsageQuery(scope="thread", name=thread.id, since=0.0)
        yield from self._by_window("You", "person", self.asker.id)

    def _everybody(self) -> Iterator[tuple[str, UsageQuery]]:
        if self.operator:
            yield from self._by_window("Everybody", None, "")

    def _by_window(
        self, who: str, scope: Scope | None, name: str
    ) -> Iterator[tuple[str, UsageQuery]]:
        for window, said in _WINDOWS:
            since = window_start(window, self.now)
            yield f"{who}, {said}", UsageQuery(scope=scope, name=name, since=since)

    def _held(self, thread: Thread | None) -> list[tuple[Budget, str]]:
        """Budgets over time of the asker in the thread, named."""
        if thread is None:
            return []
        names = scope_names(thread, self.asker)
        held = budgets_of(self.budgets, names, exempt=self.operator)
        return [(budget, name) for budget, name in held if budget.window != "turn"]

    def _query(self, budget: Budget, name: str) -> UsageQuery:
        since = window_start(_window(budget), self.now)
        return UsageQuery(scope=budget.per, name=name, since=since)


def _window(budget: Budget) -> CalendarWindow:
    assert budget.window != "turn"  # what one turn uses is no sum over time
    return budget.window


def _filled(fill: ContextFill) -> str:
    return (
        f"Context of {label(READERS.get(fill.agent, fill.agent), LONGEST_NAME)}:"
        f" {fill.used:,} of {fill.window:,} tokens ({fill.percent})."
    )


def _used(used: UsageTotals) -> str:
    read, written = f"{used.prompt_tokens:,} read", f"{used.completion_tokens:,} written"
    cost = f", a cost of {plain_amount('cost', used.cost)}" if used.cost else ""
    turns = f"{used.turns:,} turn{'' if used.turns == 1 else 's'}"
    estimated = f", {used.estimated:,} of them estimated" if used.estimated else ""
    return f"{used.tokens:,} tokens ({read}, {written}{estimated}) in {turns}{cost}"
