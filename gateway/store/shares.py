"""Shares of nodes in budgets that all of them have together."""

from __future__ import annotations

from typing import Self

from gateway.store.decisions import UsageQuery
from gateway.store.records import UsageTotals
from gateway.values import value


@value
class Amounts:
    """Tokens, cost and turns."""

    tokens: int = 0
    cost: float = 0.0
    turns: int = 0

    def plus(self, other: Self) -> Self:
        """Both together."""
        return type(self)(
            tokens=self.tokens + other.tokens,
            cost=self.cost + other.cost,
            turns=self.turns + other.turns,
        )

    def minus(self, other: Self) -> Self:
        """The rest, which may be below nothing."""
        return type(self)(
            tokens=self.tokens - other.tokens,
            cost=self.cost - other.cost,
            turns=self.turns - other.turns,
        )


NOTHING = Amounts()


@value
class ShareQuery:
    """A wish of a node to use a budget.

    `held`: what it has used and is not in the usage rows yet, and what its open requests may use.
    """

    window: str
    usage: UsageQuery
    held: Amounts
    wanted: Amounts
    tokens: int | None
    cost: float | None
    turns: int | None
    """Limits of the budget."""
    reads: bool = True
    """The sum of the usage rows is wanted, too: a month of a workspace may have many."""


@value
class BudgetShare:
    """A node's share in a budget.

    `granted` includes what it holds.
    """

    used: UsageTotals | None
    """Usage of all nodes, as it is recorded, if that was read."""
    granted: Amounts
    is_free: bool
    """The wish can be granted as far as this budget is concerned."""
