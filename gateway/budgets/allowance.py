"""The budgets that count a turn, and its share of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gateway.base.calendar import CalendarWindow, Scope, window_end, window_start
from gateway.config.budgets import Budget
from gateway.conversation import Author
from gateway.store.records import Thread, UsageTotals
from gateway.store.shares import NOTHING, Amounts

if TYPE_CHECKING:
    from teams.base import ModelRequest


def scope_names(thread: Thread | None, asker: Author) -> dict[Scope, str]:
    """Names that count a turn: the thread's and the asker's."""
    return {
        "thread": thread.id if thread else "",
        "person": asker.id,
        "team": thread.team if thread else "",
        "workspace": thread.key.place if thread else "",
    }


def budgets_of(
    budgets: Iterable[Budget], names: Mapping[Scope, str], *, exempt: bool
) -> Iterator[tuple[Budget, str]]:
    """Budgets that hold, with their names; `exempt`: without the person's own."""
    for budget in budgets:
        name = names[budget.per]
        if budget.per == "person" and exempt:
            continue
        if not budget.only or not {name, name.rpartition(":")[2]}.isdisjoint(budget.only):
            yield budget, name


def amounts(
    budget: Budget, tokens: int, cost: float, turns: int
) -> Iterator[tuple[str, float, float]]:
    """Each limit of a budget: its name, the use, the limit."""
    for what, value, limit in (
        ("tokens", tokens, budget.tokens),
        ("cost", cost, budget.cost),
        ("turns", turns, budget.turns),
    ):
        if limit is not None:
            yield what, value, limit


@dataclass(slots=True)
class UsageSum:
    """Usage from `start` to `end`, in seconds since the epoch."""

    start: float
    end: float
    tokens: int = 0
    cost: float = 0.0
    turns: int = 0
    expected: dict[ModelRequest, tuple[int, float]] = field(default_factory=dict)
    """Tokens and cost that open requests may use."""
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    """Set, and replaced, when one of them is."""
    unrecorded: Amounts = NOTHING
    """Own use that the store does not have yet."""
    share: Amounts = NOTHING
    """The part that this node holds, as others know it."""
    left: Amounts = NOTHING
    """The rest of it; below nothing where none was drawn."""
    drawing: asyncio.Lock = field(default_factory=asyncio.Lock)
    is_shared: bool = False
    """Others may have used some since it was read."""
    full_until: float = 0.0
    """The monotonic time until which others are known to hold all that is left."""
    was_used: bool = False
    """A request was begun since the share was last looked at."""

    def expect(self, request: ModelRequest, tokens: int, cost: float) -> None:
        """Expect a request to use so much."""
        self.expected[request] = tokens, cost
        self.left = self.left.minus(Amounts(tokens=tokens, cost=cost))
        self.was_used = True

    def settle(self, request: ModelRequest) -> None:
        """Expect nothing of the request any more."""
        if (expected := self.expected.pop(request, None)) is not None:
            self.left = self.left.plus(Amounts(tokens=expected[0], cost=expected[1]))
            self.settled.set()
            self.settled = asyncio.Event()
            self.full_until = 0.0

    def add(self, used: Amounts) -> None:
        """Count what was used here."""
        self.tokens += used.tokens
        self.cost += used.cost
        self.turns += used.turns
        self.unrecorded = self.unrecorded.plus(used)
        self.left = self.left.minus(used)

    @property
    def counted(self) -> Amounts:
        """Usage as far as it is known here."""
        return Amounts(tokens=self.tokens, cost=self.cost, turns=self.turns)

    def correct(self, before: Amounts, own: Amounts, stored: UsageTotals) -> None:
        """Count anew: the store's sum, `own` that it lacked, and use since."""
        self.tokens += stored.tokens + own.tokens - before.tokens
        self.cost += stored.cost + own.cost - before.cost
        self.turns += stored.turns + own.turns - before.turns

    @property
    def held(self) -> Amounts:
        """Use that the store lacks, and that open requests may have."""
        expected = self.expected.values()
        return self.unrecorded.plus(
            Amounts(
                tokens=sum(tokens for tokens, _ in expected),
                cost=sum(cost for _, cost in expected),
            )
        )

    def roll(self, window: CalendarWindow, now: float) -> None:
        """Begin with nothing once the window is over."""
        if now >= self.end:
            self.start, self.end = window_start(window, now), window_end(window, now)
            self.tokens, self.cost, self.turns = 0, 0.0, 0


@dataclass(frozen=True, slots=True)
class Allowance:
    """A budget of a turn, its sum, and people's time zone."""

    budget: Budget
    name: str
    sum: UsageSum
    zone: str

    def roll(self, now: float) -> None:
        """Take the sum into the window of this moment."""
        if self.budget.window != "turn":
            self.sum.roll(self.budget.window, now)

    @property
    def ends(self) -> float:
        """When the budget is whole again; infinity for that of one turn."""
        return self.sum.end

    def parts(self) -> Iterable[tuple[str, float, float]]:
        """Each limit: its name, the use, the limit."""
        used = self.sum
        return amounts(self.budget, used.tokens, used.cost, used.turns)

    def has_left(self, tokens: int, cost: float) -> bool:
        """True if something is left after so much more."""
        limits = amounts(self.budget, self.sum.tokens + tokens, self.sum.cost + cost, 0)
        return all(used < limit for _, used, limit in limits)

    def may_be_used_up(self) -> bool:
        """True if open requests can use up all that is left."""
        used = self.sum
        if not used.expected:
            return False
        tokens = used.tokens + sum(tokens for tokens, _ in used.expected.values())
        cost = used.cost + sum(cost for _, cost in used.expected.values())
        limits = amounts(self.budget, tokens, cost, 0)
        return any(expected >= limit for _, expected, limit in limits)
