"""Units of work for usage of models: rows and sums."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gateway.base.calendar import Scope
from gateway.store.connection import Connection, Row
from gateway.store.operations import reads
from gateway.store.records import NOTHING_USED, ModelUse, UsageTotals
from gateway.store.turn_records import Lease
from gateway.store.units.rows import first
from gateway.store.value_rows import Table, rows_as

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
    " COALESCE(SUM(estimated), 0) AS estimated,"
    " COALESCE(SUM(cost), 0) AS cost, COALESCE(SUM(turns), 0) AS turns"
)
_AGAIN, _AFTER_AGAIN = "#", "$"
_SUMS_OF_TURN = _SUMS.replace("SUM(turns)", "SUM(CASE WHEN turn = :turn THEN turns END)")

_SUMMED = """
    ON CONFLICT (thread, turn, model) DO UPDATE SET
     prompt_tokens = usage.prompt_tokens + excluded.prompt_tokens,
     completion_tokens = usage.completion_tokens + excluded.completion_tokens,
     estimated = usage.estimated + excluded.estimated,
     cost = usage.cost + excluded.cost
"""
_USES = Table("usage", ModelUse)
_ADD = f"""
    INSERT INTO usage (thread, turn, model, person, team, workspace, prompt_tokens,
     completion_tokens, estimated, cost, at, turns)
    VALUES (:thread, :turn, :model, :person, :team, :workspace, :prompt_tokens,
     :completion_tokens, :estimated, :cost, :at,
     CASE WHEN EXISTS (SELECT 1 FROM usage WHERE thread = :thread AND turn = :turn)
      THEN 0 ELSE 1 END)
    {_SUMMED}
"""


def add(connection: Connection, lease: Lease, uses: Collection[ModelUse], at: float) -> None:
    """Add to what the lease's turn has used."""
    for use in uses:
        where = {"thread": lease.thread, "turn": lease.turn, "at": at}
        connection.execute(_ADD, {**_USES.row(use), **where})


def count_anew(connection: Connection, thread: str, turn: str, retry: int) -> None:
    """Count a turn that is tried again as one more turn.

    What it has used keeps its time, under an id of its own: the turn's, and the number of /retry.
    """
    connection.execute(
        f"UPDATE usage SET turn = turn || '{_AGAIN}' || :retry"
        " WHERE thread = :thread AND turn = :turn",
        {"thread": thread, "turn": turn, "retry": retry},
    )


def of_turn(connection: Connection, thread: str, turn: str) -> UsageTotals:
    """The sums of a turn's tries; `turns` is of the latest."""
    query = (
        f"SELECT {_SUMS_OF_TURN} FROM usage WHERE thread = :thread"
        f" AND (turn = :turn OR turn BETWEEN :turn || '{_AGAIN}' AND :turn || '{_AFTER_AGAIN}')"
    )
    return _used_of(first(connection, query, {"thread": thread, "turn": turn}))


@reads
def spent(connection: Connection, scope: Scope | None, name: str, since: float) -> UsageTotals:
    """Sums since a time, in a scope or over everybody."""
    of_scope = "" if scope is None else f" AND {_COLUMNS[scope]} = :name"
    query = f"SELECT {_SUMS} FROM usage WHERE at >= :since{of_scope}"
    return _used_of(first(connection, query, {"name": name, "since": since}))


def _used_of(row: Row | None) -> UsageTotals:
    return NOTHING_USED if row is None else rows_as(UsageTotals)(row)


def forget_thread(connection: Connection, thread: str) -> None:
    """Keep a deleted thread's usage without its id."""
    connection.execute("UPDATE usage SET thread = '' WHERE thread = :thread", {"thread": thread})


def forget_person(connection: Connection, person: str) -> None:
    """Keep what a deleted person has used, without saying who it was."""
    connection.execute("UPDATE usage SET person = '' WHERE person = :person", {"person": person})


def merge(connection: Connection, before: float) -> None:
    """Merge old usage of deleted threads by day, without the people."""
    old = {"before": before, "day": DAY}
    connection.execute(
        "INSERT INTO usage (thread, turn, model, person, team, workspace, prompt_tokens,"
        " completion_tokens, estimated, cost, turns, at) SELECT '',"
        " CAST(at / :day AS INTEGER) || '/' || workspace || '/' || team, model, '',"
        " team, workspace, SUM(prompt_tokens), SUM(completion_tokens), SUM(estimated),"
        " SUM(cost), SUM(turns), MIN(at) FROM usage WHERE thread = '' AND instr(turn, '/') = 0"
        " AND at < :before GROUP BY CAST(at / :day AS INTEGER), workspace, team, model"
        f"{_SUMMED}, turns = usage.turns + excluded.turns",
        old,
    )
    connection.execute(
        "DELETE FROM usage WHERE thread = '' AND instr(turn, '/') = 0 AND at < :before",
        {"before": before},
    )
