"""Units of work around what models were used for: a row per turn and model, summed when asked."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping

from gateway.base.calendar import Scope
from gateway.store.records import ModelUse, Used
from gateway.store.turn_records import Lease

DAY = 86400

_COLUMNS: Mapping[Scope, str] = {
    "thread": "thread",
    "person": "person",
    "team": "team",
    "workspace": "workspace",
}
_SUMS = (
    "COALESCE(SUM(prompt_tokens), 0) AS prompt_tokens,"
    " COALESCE(SUM(completion_tokens), 0) AS completion_tokens,"
    " COALESCE(SUM(cost), 0) AS cost, COALESCE(SUM(turns), 0) AS turns"
)

_ADD = """
    INSERT INTO usage (thread, turn, model, person, team, workspace, prompt_tokens,
     completion_tokens, cost, at, turns)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,
     NOT EXISTS (SELECT 1 FROM usage WHERE thread = ?1 AND turn = ?2))
    ON CONFLICT DO UPDATE SET prompt_tokens = prompt_tokens + excluded.prompt_tokens,
     completion_tokens = completion_tokens + excluded.completion_tokens,
     cost = cost + excluded.cost
"""


def add(
    connection: sqlite3.Connection, lease: Lease, uses: Collection[ModelUse], at: float
) -> None:
    """Add to what the lease's turn has used."""
    for use in uses:
        connection.execute(
            _ADD,
            (
                lease.thread,
                lease.turn,
                use.model,
                use.person,
                use.team,
                use.workspace,
                use.prompt_tokens,
                use.completion_tokens,
                use.cost,
                at,
            ),
        )


def of_turn(connection: sqlite3.Connection, thread: str, turn: str) -> Used:
    """What the turn has used so far."""
    return used_of(
        connection.execute(
            f"SELECT {_SUMS} FROM usage WHERE thread = ? AND turn = ?", (thread, turn)
        ).fetchone()
    )


def spent_query(
    scope: Scope | None, name: str, since: float
) -> tuple[str, tuple[str | float, ...]]:
    """The query for what was used since then, in the scope of this name or by everybody."""
    if scope is None:
        return f"SELECT {_SUMS} FROM usage WHERE at >= ?", (since,)
    return f"SELECT {_SUMS} FROM usage WHERE {_COLUMNS[scope]} = ? AND at >= ?", (name, since)


def spent(connection: sqlite3.Connection, scope: Scope | None, name: str, since: float) -> Used:
    """What was used since then, in the scope of this name or by everybody."""
    return used_of(connection.execute(*spent_query(scope, name, since)).fetchone())


def used_of(row: sqlite3.Row) -> Used:
    """A row of sums."""
    return Used(
        prompt_tokens=row["prompt_tokens"],
        completion_tokens=row["completion_tokens"],
        cost=row["cost"],
        turns=row["turns"],
    )


def forget_thread(connection: sqlite3.Connection, thread: str) -> None:
    """Keep what a deleted thread has used, without saying of which thread it was."""
    connection.execute("UPDATE usage SET thread = '' WHERE thread = ?", (thread,))


def forget_person(connection: sqlite3.Connection, person: str) -> None:
    """Keep what a deleted person has used, without saying who it was."""
    connection.execute("UPDATE usage SET person = '' WHERE person = ?", (person,))


def merge(connection: sqlite3.Connection, before: float) -> None:
    """Make one row of what deleted threads used until then in a day, by team and model; without the
    people.
    """
    old = {"before": before, "day": DAY}
    connection.execute(
        "INSERT INTO usage SELECT '',"
        " CAST(at / :day AS INTEGER) || '/' || workspace || '/' || team, model, '',"
        " team, workspace, SUM(prompt_tokens), SUM(completion_tokens), SUM(cost),"
        " SUM(turns), MIN(at) FROM usage WHERE thread = '' AND instr(turn, '/') = 0"
        " AND at < :before GROUP BY CAST(at / :day AS INTEGER), workspace, team, model"
        " ON CONFLICT DO UPDATE SET prompt_tokens = prompt_tokens + excluded.prompt_tokens,"
        " completion_tokens = completion_tokens + excluded.completion_tokens,"
        " cost = cost + excluded.cost, turns = turns + excluded.turns",
        old,
    )
    connection.execute(
        "DELETE FROM usage WHERE thread = '' AND instr(turn, '/') = 0 AND at < :before", old
    )
