"""Nodes together exceed a budget by no more than one would."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.access.authority import Access
from gateway.budgets.allowance import Allowance, UsageSum
from gateway.budgets.shares import BudgetShares, SharedSum
from gateway.config.budgets import Budget
from gateway.errors import StoreUnreachable
from gateway.events import Notice, SessionEvent, TurnFinished
from gateway.gateway import Gateway, Limits
from gateway.store.postgres.database import Database
from gateway.store.postgres.store import PostgresStore
from gateway.store.records import NOTHING_USED, UsageTotals
from gateway.store.shares import NOTHING, Amounts, BudgetShare, ShareQuery
from gateway.store.units import usage as usage_units
from teams.models import CreateResult, RequestUsage
from teams.models.replay import ReplayChatCompletionClient
from tests.gateway.scripted import ScriptedTeams, ends, of, solo, until


class Hundreds(ReplayChatCompletionClient):
    """Answers of a hundred tokens each, once so many were asked for."""

    def __init__(self, together: int = 1) -> None:
        super().__init__([])
        self._missing = together
        self._all = asyncio.Event()

    async def create(self, *args: Any, **kwargs: Any) -> CreateResult:
        self._missing -= 1
        if not self._missing:
            self._all.set()
        await self._all.wait()
        for _ in range(300):
            await asyncio.sleep(0)
        usage = RequestUsage(prompt_tokens=60, completion_tokens=40)
        return CreateResult(finish_reason="stop", content="fine", usage=usage, cached=False)


class Cluster:
    """Nodes of one store."""

    def __init__(self, nodes: list[Gateway]) -> None:
        self.nodes = nodes

    async def asked(self, turns: int) -> list[list[SessionEvent]]:
        """Ask in as many threads at once, on all nodes in turn."""
        return await asyncio.gather(
            *(self._ask(self.nodes[n % len(self.nodes)]) for n in range(turns))
        )

    async def _ask(self, node: Gateway) -> list[SessionEvent]:
        thread = (await node.client.create_thread()).id
        await node.client.send(thread, "go")
        return await until(node, thread, ends)

    async def used(self) -> tuple[int, int]:
        """Tokens and turns of the team."""
        spent = await self.nodes[0].store.run(usage_units.spent, "team", "demo", 0.0)
        return spent.tokens, spent.turns


@asynccontextmanager
async def cluster(
    url: str, folder: Path, client: Hundreds, *budgets: Budget, number: int = 2
) -> AsyncGenerator[Cluster]:
    """Nodes that know of each other."""
    async with AsyncExitStack() as stack:
        nodes: list[Gateway] = []
        for n in range(number):
            store = PostgresStore(Database(url=url, failover=2.0), folder / f"{n}")
            node = Gateway(
                store,
                ScriptedTeams(lambda: solo(client)),
                access=Access(),
                limits=Limits(budgets=budgets, timezone="UTC", shutdown=0.1),
            )
            nodes.append(await stack.enter_async_context(node))
        async with asyncio.timeout(20):
            for node in nodes:
                while node.store.node_count < number:  # pyright: ignore  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
        yield Cluster(nodes)


def outcomes(seen: list[list[SessionEvent]]) -> list[str]:
    return sorted(of(TurnFinished, events)[-1].outcome for events in seen)


@pytest.mark.parametrize("limit", [{"tokens": 250}, {"turns": 3}], ids=["tokens", "turns"])
async def test_turns_on_two_nodes_exceed_a_budget_by_no_more_than_on_one(
    postgres_url: str, tmp_path: Path, limit: dict[str, Any]
) -> None:
    budget = Budget(per="team", **limit)
    async with cluster(postgres_url, tmp_path, Hundreds(), budget) as nodes:
        seen = await nodes.asked(8)
        assert outcomes(seen) == ["done"] * 3 + ["failed"] * 5
        assert await nodes.used() == (300, 3)
        told = [notice.text for events in seen for notice in of(Notice, events)]
        assert len([text for text in told if "used up" in text]) == 5


@pytest.mark.chaos  # seconds
async def test_nodes_do_not_wait_for_each_other_while_a_budget_is_wide(
    postgres_url: str, tmp_path: Path
) -> None:
    budget = Budget(per="team", tokens=1_000_000)
    async with cluster(postgres_url, tmp_path, Hundreds(together=6), budget) as nodes:
        assert outcomes(await nodes.asked(6)) == ["done"] * 6


class Asked:
    """A node's questions to the store, which grants twice what is wanted."""

    def __init__(self) -> None:
        self.queries: list[ShareQuery] = []
        self.used = NOTHING_USED
        self.is_free = True
        self.fails = False
        self.several = True
        self.shares = BudgetShares(self._draw, lambda: self.several)
        self.sum = UsageSum(start=0.0, end=9e9)
        budget = Budget(per="team", tokens=1000)
        self.held = [Allowance(budget, "demo", self.sum, "UTC")]

    async def _draw(self, queries: Sequence[ShareQuery]) -> list[BudgetShare]:
        self.queries += queries
        if self.fails:
            raise StoreUnreachable("gone")
        return [
            BudgetShare(
                used=self.used if each.reads else None,
                granted=each.held.plus(each.wanted).plus(each.wanted)
                if self.is_free
                else each.held,
                is_free=self.is_free,
            )
            for each in queries
        ]

    async def begin(self, tokens: int) -> Any:
        """Begin a request of so much; None if it has to wait."""
        if not await self.shares.take(self.held, Amounts(tokens=tokens)):
            return None
        request: Any = object()
        self.sum.expect(request, tokens, 0.0)
        return request

    def end(self, request: Any, tokens: int) -> None:
        """Let a request have used so much."""
        self.sum.settle(request)
        self.sum.add(Amounts(tokens=tokens))

    async def tell(self) -> list[Amounts]:
        """Shares that others are told now."""
        before = len(self.queries)
        await self.shares.tell([SharedSum("team", "demo", "day", self.sum)])
        return [each.held for each in self.queries[before:]]


async def test_what_was_granted_ahead_is_used_without_a_question() -> None:
    asked = Asked()
    first = await asked.begin(100)
    assert await asked.begin(100)
    assert len(asked.queries) == 1
    asked.end(first, 40)  # less than it might have
    assert await asked.begin(60)
    assert len(asked.queries) == 1
    assert await asked.begin(1)
    assert asked.queries[-1].held == Amounts(tokens=100 + 60 + 40)


async def test_a_share_is_given_back_once_nothing_needs_it() -> None:
    asked = Asked()
    request = await asked.begin(100)
    assert await asked.tell() == []  # it is in use
    assert await asked.tell() == [Amounts(tokens=100)]
    asked.end(request, 40)
    assert await asked.tell() == [Amounts(tokens=40)]
    asked.sum.unrecorded = NOTHING
    assert await asked.tell() == [NOTHING]
    assert await asked.tell() == []


async def test_sums_are_those_of_all_nodes_after_a_question() -> None:
    asked = Asked()
    asked.end(await asked.begin(100), 40)
    asked.used = UsageTotals(prompt_tokens=500)
    await asked.begin(1000)
    assert asked.sum.tokens == 500 + 40


async def test_others_are_told_what_a_node_had_begun_when_it_was_alone() -> None:
    asked = Asked()
    asked.several = False
    request: Any = object()
    asked.sum.expect(request, 100, 0.0)
    assert await asked.tell() == []
    asked.several = True
    assert await asked.tell() == [Amounts(tokens=100)]
    asked.several = False
    assert await asked.tell() == [Amounts(tokens=100)]  # others may have used some
    assert await asked.tell() == []


async def test_a_question_without_an_answer_is_put_again() -> None:
    asked = Asked()
    asked.fails = True
    assert await asked.begin(100) is None
    asked.fails = False
    assert await asked.tell() == [NOTHING]  # nobody knows what became of it
    asked.is_free = False
    assert await asked.begin(100) is None
    await asked.shares.wait(asked.held)


async def test_of_two_limits_of_one_sum_the_lower_one_counts() -> None:
    asked = Asked()
    lower = Budget(per="team", tokens=10, turns=5)
    asked.held.append(Allowance(lower, "demo", asked.sum, "UTC"))
    await asked.begin(1)
    (query,) = asked.queries
    assert (query.tokens, query.cost, query.turns) == (10, None, 5)


async def test_a_budget_that_others_hold_is_asked_for_once_until_something_changes() -> None:
    asked = Asked()
    request = await asked.begin(100)
    asked.is_free = False
    assert [await asked.begin(1000) for _ in range(5)] == [None] * 5
    assert len(asked.queries) == 2
    asked.end(request, 10)
    await asked.begin(1000)
    assert len(asked.queries) == 3
