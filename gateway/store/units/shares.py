"""Units of work for budgets: what each node may use of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b

from gateway.store.connection import Connection
from gateway.store.operations import writes
from gateway.store.records import UsageTotals
from gateway.store.shares import NOTHING, Amounts, BudgetShare, ShareQuery
from gateway.store.units.rows import first
from gateway.store.units.usage import spent

AHEAD = 8
"""A node is granted this part of what is left, so that it need not ask for each request."""

_OTHERS = """
    SELECT COALESCE(SUM(tokens), 0) AS tokens, COALESCE(SUM(cost), 0) AS cost,
     COALESCE(SUM(turns), 0) AS turns
    FROM budget_shares WHERE budget = :budget AND boot <> :boot
"""
_KEEP = """
    INSERT INTO budget_shares (budget, boot, tokens, cost, turns)
    SELECT :budget, boot, :tokens, :cost, :turns FROM nodes WHERE boot = :boot
    ON CONFLICT (budget, boot) DO UPDATE
     SET tokens = excluded.tokens, cost = excluded.cost, turns = excluded.turns
"""
_LEAVE = "DELETE FROM budget_shares WHERE budget = :budget AND boot = :boot"


@writes
def draw_shares(
    connection: Connection, boot: str, queries: Sequence[ShareQuery]
) -> list[BudgetShare]:
    """Grant a node its wishes, in all these budgets or in none.

    All nodes together hold less than is left, and one request more: the same request waits, or is
    refused, on one node.
    """
    names = [_name(query) for query in queries]
    for name in sorted(names):
        connection.lock(f"budget {name}")
    shares = [
        _wish(connection, boot, name, query) for name, query in zip(names, queries, strict=True)
    ]
    if not all(share.is_free for share in shares):
        shares = [
            replace(share, granted=query.held) for share, query in zip(shares, queries, strict=True)
        ]
    for name, share in zip(names, shares, strict=True):
        _keep(connection, name, boot, share.granted)
    return shares


def _wish(connection: Connection, boot: str, name: str, query: ShareQuery) -> BudgetShare:
    """The share that this budget alone would allow."""
    usage = query.usage
    used = None
    if query.reads:
        used = spent(connection, usage.scope, usage.name, usage.since)
    if used is None or query.wanted == NOTHING:
        return BudgetShare(used=used, granted=query.held, is_free=True)
    left = _left(query, used, _others(connection, name, boot))
    is_free = all(rest > 0 for rest in _limited(query, left))
    return BudgetShare(used=used, granted=_granted(query, left), is_free=is_free)


def _name(query: ShareQuery) -> str:
    usage = query.usage
    said = f"{usage.scope} {query.window} {usage.name}"
    return blake2b(said.encode(), digest_size=16).hexdigest()


def _others(connection: Connection, name: str, boot: str) -> Amounts:
    row = first(connection, _OTHERS, {"budget": name, "boot": boot})
    assert row is not None
    return Amounts(tokens=int(row["tokens"]), cost=row["cost"], turns=int(row["turns"]))


def _left(query: ShareQuery, used: UsageTotals, others: Amounts) -> Amounts:
    """The rest that nobody has used or holds; 0 without a limit."""
    taken = query.held.plus(others)
    return Amounts(
        tokens=0 if query.tokens is None else query.tokens - used.tokens - taken.tokens,
        cost=0.0 if query.cost is None else query.cost - used.cost - taken.cost,
        turns=0 if query.turns is None else query.turns - used.turns - taken.turns,
    )


def _limited(query: ShareQuery, left: Amounts) -> list[float]:
    """The rest of each limited amount that is wanted."""
    wanted = query.wanted
    each: list[float] = []
    if query.tokens is not None:
        each.append(left.tokens)
    if query.cost is not None:
        each.append(left.cost)
    if query.turns is not None and wanted.turns:
        each.append(left.turns)
    return each


def _granted(query: ShareQuery, left: Amounts) -> Amounts:
    """The amounts held and wanted, and something ahead."""
    wanted = query.wanted
    ahead = Amounts(
        tokens=max(0, left.tokens - wanted.tokens) // AHEAD,
        cost=max(0.0, left.cost - wanted.cost) / AHEAD,
    )
    return query.held.plus(wanted).plus(ahead)


def _keep(connection: Connection, name: str, boot: str, share: Amounts) -> None:
    kept = {"budget": name, "boot": boot}
    if share == NOTHING:
        connection.execute(_LEAVE, kept)
        return
    kept |= {"tokens": share.tokens, "cost": share.cost, "turns": share.turns}
    connection.execute(_KEEP, kept)
