"""Nodes share budgets: together they exceed one by no more than one node would."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.access.authority import Access
from gateway.config.budgets import Budget
from gateway.events import Notice, SessionEvent, TurnFinished
from gateway.gateway import Gateway, Limits
from gateway.store.postgres.database import Database
from gateway.store.postgres.store import PostgresStore
from teams.models import CreateResult, RequestUsage
from teams.models.replay import ReplayChatCompletionClient
from tests.gateway.scripted import ScriptedTeams, ends, of, solo, until


class Hundreds(ReplayChatCompletionClient):
    """Answers of a hundred tokens each, some time after they were asked for."""

    def __init__(self, *, longest: int | None = None) -> None:
        super().__init__([])
        self.running = self.most = 0
        if longest is not None:
            self.max_answer_tokens = longest

    async def create(self, *args: Any, **kwargs: Any) -> CreateResult:
        self.running += 1
        self.most = max(self.most, self.running)
        for _ in range(300):
            await asyncio.sleep(0)
        self.running -= 1
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
        thread = (await node.create_thread()).id
        await node.send(thread, "go")
        return await until(node, thread, ends)

    async def used(self) -> tuple[int, int]:
        """Tokens and turns of the team."""
        spent = await self.nodes[0].store.spent("team", "demo", 0.0)
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


async def test_nodes_do_not_wait_for_each_other_while_a_budget_is_wide(
    postgres_url: str, tmp_path: Path
) -> None:
    client = Hundreds()
    budget = Budget(per="team", tokens=1_000_000)
    async with cluster(postgres_url, tmp_path, client, budget) as nodes:
        assert outcomes(await nodes.asked(8)) == ["done"] * 8
        assert client.most > 2
