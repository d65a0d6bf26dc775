"""Shares of nodes in a budget are together what is left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from gateway.store.connection import Connection
from gateway.store.decisions import UsageQuery
from gateway.store.shares import NOTHING, Amounts, BudgetShare, ShareQuery
from gateway.store.units import shares
from tests.fakes.server_clock import ServerClock, timed_store
from tests.fakes.tested_store import rows_of

pytestmark = pytest.mark.usefixtures("database")

TEAM = UsageQuery(scope="team", name="demo", since=0.0)
ANN = UsageQuery(scope="person", name="slack:T1:ANN", since=0.0)


@pytest.fixture
async def nodes(tmp_path: Path) -> AsyncIterator[ServerClock]:
    """A store with the nodes "a" and "b"."""
    async with timed_store(tmp_path) as clock:
        await clock.join("a")
        await clock.join("b")
        yield clock


def query(
    usage: UsageQuery = TEAM,
    *,
    held: int = 0,
    wanted: int = 0,
    tokens: int | None = None,
    turns: int | None = None,
) -> ShareQuery:
    return ShareQuery(
        window="day",
        usage=usage,
        held=Amounts(tokens=held),
        wanted=Amounts(tokens=wanted),
        tokens=tokens,
        cost=None,
        turns=turns,
    )


async def ask(nodes: ServerClock, boot: str, *queries: ShareQuery) -> list[BudgetShare]:
    return await nodes.store.run(shares.draw_shares, boot, queries)


async def use(nodes: ServerClock, tokens: int, turn: str = "t") -> None:
    """Add to what the team and Ann have used."""

    def unit(connection: Connection) -> None:
        connection.execute(
            "INSERT INTO usage (thread, turn, model, person, team, workspace, prompt_tokens,"
            " completion_tokens, cost, at, turns)"
            " VALUES ('', :turn, 'm', :person, 'demo', 'w', :tokens, 0, 0, 1, 1)",
            {"turn": turn, "person": ANN.name, "tokens": tokens},
        )

    await nodes.store.write(unit)


async def test_far_from_the_limit_a_node_gets_more_than_it_asks_for(nodes: ServerClock) -> None:
    await use(nodes, 100)
    (share,) = await ask(nodes, "a", query(wanted=100, tokens=1000))
    assert share.used is not None
    assert (share.used.tokens, share.is_free) == (100, True)
    assert share.granted == Amounts(tokens=100 + 800 // 8)
    (share,) = await ask(nodes, "b", query(wanted=100, tokens=1000))
    assert share.granted == Amounts(tokens=100 + 600 // 8)


async def test_a_request_waits_while_others_may_use_what_is_left(nodes: ServerClock) -> None:
    limited = query(wanted=1000, tokens=250)
    (first,) = await ask(nodes, "a", limited)
    assert (first.is_free, first.granted) == (True, Amounts(tokens=1000))
    assert not (await ask(nodes, "b", limited))[0].is_free
    assert not (await ask(nodes, "a", replace(limited, held=Amounts(tokens=1000))))[0].is_free
    await use(nodes, 100)
    await ask(nodes, "a", query(tokens=250))  # nothing held any more
    (second,) = await ask(nodes, "b", limited)
    assert second.used is not None
    assert (second.is_free, second.used.tokens) == (True, 100)


async def test_what_is_used_up_is_told(nodes: ServerClock) -> None:
    await use(nodes, 300)
    (share,) = await ask(nodes, "a", query(wanted=10, tokens=250))
    assert share.used is not None
    assert (share.is_free, share.granted, share.used.tokens) == (False, NOTHING, 300)


async def test_turns_are_counted_one_by_one(nodes: ServerClock) -> None:
    limited = replace(query(turns=2), wanted=Amounts(tokens=5, turns=1))
    assert (await ask(nodes, "a", limited))[0].granted.turns == 1
    assert (await ask(nodes, "b", limited))[0].is_free
    held = replace(limited, held=Amounts(turns=1))
    assert not (await ask(nodes, "a", held))[0].is_free
    later = replace(held, wanted=Amounts(tokens=5))
    assert (await ask(nodes, "a", later))[0].is_free


async def test_all_budgets_are_free_or_none_is_taken(nodes: ServerClock) -> None:
    await use(nodes, 100)
    both = query(wanted=10, tokens=1000), query(ANN, wanted=10, tokens=100)
    assert [share.granted for share in await ask(nodes, "a", *both)] == [NOTHING, NOTHING]
    assert await rows_of(nodes.store, "SELECT * FROM budget_shares") == []


async def test_a_node_that_is_gone_holds_nothing_and_writes_nothing(nodes: ServerClock) -> None:
    limited = query(wanted=1000, tokens=250)
    assert (await ask(nodes, "a", limited))[0].is_free
    await nodes.die("a")
    assert (await ask(nodes, "b", limited))[0].is_free
    await ask(nodes, "a", limited)
    assert await rows_of(nodes.store, "SELECT boot FROM budget_shares") == [("b",)]


async def test_nobody_is_named_by_a_share(nodes: ServerClock) -> None:
    await ask(nodes, "a", query(ANN, wanted=10, tokens=100))
    rows = await rows_of(nodes.store, "SELECT * FROM budget_shares")
    assert rows
    assert "ANN" not in str(rows)


@pytest.mark.parametrize("seed", range(3))
async def test_nodes_that_ask_at_random_never_use_more_than_one_request_too_much(
    nodes: ServerClock, seed: int
) -> None:
    """Requests use up to their wish; some nodes die with a share."""
    random, limit, largest, used = Random(seed), 2_000, 150, 0
    open_requests: dict[str, int] = {"a": 0, "b": 0, "c": 0}
    await nodes.join("c")
    for step in range(60):
        boot = random.choice("abc")
        held = open_requests[boot]
        if held and random.random() < 0.5:
            tokens = random.randint(1, held)
            used, open_requests[boot] = used + tokens, 0
            await use(nodes, tokens, f"turn {step}")
            await ask(nodes, boot, query(tokens=limit))
        elif random.random() < 0.05:
            await nodes.die(boot)
            open_requests[boot] = 0
            await nodes.join(boot)
        else:
            wanted = random.randint(1, largest)
            (share,) = await ask(nodes, boot, query(held=held, wanted=wanted, tokens=limit))
            open_requests[boot] += wanted * share.is_free
        assert used + sum(open_requests.values()) < limit + largest
    assert used > limit / 2


async def test_nodes_that_ask_at_once_are_served_one_after_the_other(nodes: ServerClock) -> None:
    limited = query(wanted=1000, tokens=250)
    asked = [ask(nodes, boot, limited) for boot in "ab"]
    found = await asyncio.gather(*asked)
    assert sorted(share.is_free for (share,) in found) == [False, True]


def test_amounts_are_added_and_taken_away() -> None:
    some = Amounts(tokens=3, cost=0.5, turns=1)
    assert some.plus(some).minus(some) == some
    assert NOTHING.minus(some) == Amounts(tokens=-3, cost=-0.5, turns=-1)
