"""Shares of a node in budgets that other nodes use, too.

A request of a node is begun only if the store's rows, what all nodes hold of the budget, and its
limit allow it: so all nodes together exceed a budget by no more than one of them would. Far from
the limit a node is granted more than it asks for, so that it need not ask for each request.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AsyncExitStack, suppress
from time import monotonic
from typing import Any, NamedTuple, TypeAlias

from gateway.base.calendar import CalendarWindow, Scope
from gateway.budgets.allowance import Allowance, UsageSum
from gateway.errors import GatewayError
from gateway.store.decisions import UsageQuery
from gateway.store.shares import NOTHING, Amounts, BudgetShare, ShareQuery

LOG = logging.getLogger("gateway")

AGAIN = 0.5
"""Seconds after which somebody who waits for other nodes asks again, about."""
UNKNOWN = Amounts(tokens=-1)
"""No share: nobody knows what became of a question."""
AT_ONCE = 50
"""Budgets that other nodes are told of in one transaction."""

Draw: TypeAlias = Callable[[Sequence[ShareQuery]], Awaitable[Sequence[BudgetShare]]]


class SharedSum(NamedTuple):
    """A sum with its scope, name and window, and its limits."""

    scope: Scope
    name: str
    window: CalendarWindow
    sum: UsageSum
    tokens: int | None = None
    cost: float | None = None
    turns: int | None = None

    def query(self, wanted: Amounts, *, reads: bool) -> ShareQuery:
        """The question to the store."""
        return ShareQuery(
            window=self.window,
            usage=UsageQuery(scope=self.scope, name=self.name, since=self.sum.start),
            held=self.sum.held,
            wanted=wanted,
            tokens=self.tokens,
            cost=self.cost,
            turns=self.turns,
            reads=reads,
        )

    def has_left(self, wanted: Amounts) -> bool:
        """True if what was granted is enough."""
        left = self.sum.left
        return self.sum.is_shared and all(
            limit is None or need <= rest
            for limit, need, rest in (
                (self.tokens, wanted.tokens, left.tokens),
                (self.cost, wanted.cost, left.cost),
                (self.turns, wanted.turns, left.turns),
            )
        )


class BudgetShares:
    """The shares of one node, drawn from the store.

    `several` says whether there are other nodes.
    """

    def __init__(self, draw: Draw, several: Callable[[], bool]) -> None:
        self._draw = draw
        self.several = several

    async def take(self, held: Collection[Allowance], wanted: Amounts) -> bool:
        """Use all of these budgets; False if others hold too much.

        The sums are those of all nodes afterwards.
        """
        sums = _strictest(held)
        if all(each.has_left(wanted) for each in sums):
            return True
        if any(monotonic() < each.sum.full_until for each in sums):
            return False  # another request has asked just now
        try:
            return await self._ask(sums, wanted)
        except GatewayError as error:
            LOG.warning("a budget that nodes share could not be asked: %s", error)
            return False

    async def _ask(self, sums: Sequence[SharedSum], wanted: Amounts, *, reads: bool = True) -> bool:
        async with AsyncExitStack() as stack:
            for each in sums:  # in one order everywhere
                await stack.enter_async_context(each.sum.drawing)
            queries = [each.query(wanted, reads=reads) for each in sums]
            known = [each.sum.counted for each in sums]
            unrecorded = [each.sum.unrecorded for each in sums]
            for each in sums:
                each.sum.left = NOTHING  # nobody uses it meanwhile
                each.sum.share = UNKNOWN  # until it is answered
            found = await self._draw(queries)
            for each, query, share, own, before in zip(
                sums, queries, found, unrecorded, known, strict=True
            ):
                total = each.sum
                total.share, total.is_shared = share.granted, True
                total.left = total.left.plus(share.granted.minus(query.held))
                if share.used and total.start == query.usage.since:  # else a new window has begun
                    total.correct(before, own, share.used)
                if not share.is_free:
                    total.full_until = monotonic() + AGAIN / 2
        return all(share.is_free for share in found)

    async def wait(self, held: Collection[Allowance]) -> None:
        """Wait until it makes sense to ask again."""
        settled = next(iter(held)).sum.settled
        with suppress(TimeoutError):
            async with asyncio.timeout(AGAIN * random.uniform(0.5, 1.5)):
                await settled.wait()

    async def tell(self, sums: Sequence[SharedSum]) -> None:
        """Tell other nodes what this one holds, where that has changed.

        Raises GatewayError. To be called each second.
        """
        several = self.several()
        changed = [each for each in sums if _has_changed(each.sum, several=several)]
        for start in range(0, len(changed), AT_ONCE):
            some = sorted(changed[start : start + AT_ONCE], key=lambda each: each[:3])
            # Who is alone again wants to know what the others have used.
            await self._ask(some, NOTHING, reads=not several)
            for each in some:
                each.sum.is_shared = several


def _has_changed(total: UsageSum, *, several: bool) -> bool:
    """True if others count more, or less, than this node holds."""
    if not several:
        return total.is_shared  # they may have used some before they left
    was_used, total.was_used = total.was_used, False
    held = total.held
    if was_used and total.is_shared:
        return False  # it goes on to use its share
    return total.share != held


def _strictest(held: Collection[Allowance]) -> list[SharedSum]:
    """Each sum once, with the lowest of its limits."""
    found: dict[tuple[str, str, str], SharedSum] = {}
    for each in held:
        budget = each.budget
        assert budget.window != "turn"
        new = SharedSum(
            *(budget.per, each.name, budget.window, each.sum),
            *(budget.tokens, budget.cost, budget.turns),
        )
        if (known := found.get(new[:3])) is not None:
            new = new._replace(
                tokens=_lower(new.tokens, known.tokens),
                cost=_lower(new.cost, known.cost),
                turns=_lower(new.turns, known.turns),
            )
        found[new[:3]] = new
    return [found[key] for key in sorted(found)]


def _lower(one: Any, other: Any) -> Any:
    """The lower of two limits, either of which there may not be."""
    return min((each for each in (one, other) if each is not None), default=None)
