"""Units of work about losses: times of which a store knows nothing.

After a restore, and after the loss of commits, the platforms may hold what the store does not.
"""

from __future__ import annotations

from gateway.missed import CURSOR
from gateway.store.connection import Connection
from gateway.store.operations import reads
from gateway.store.records import LossCause, StoreLoss
from gateway.store.units.adapters import OWN, mark, take_own_mark
from gateway.store.units.audit import note_loss
from gateway.store.units.rows import first, scalar
from gateway.store.value_rows import put, rows_as

_RESTORED = "restored"
"""The mark of a backup that took a store's place: the number of commits that were made in that."""


def add_loss(connection: Connection, cause: LossCause, *, since: float, commits: int) -> None:
    """Note that what was done from `since` until now is not known.

    Platforms would deliver what came since, and not what they have delivered already.
    """
    connection.execute(
        "DELETE FROM marks WHERE substr(name, 1, length(:cursor)) = :cursor", {"cursor": CURSOR}
    )
    put(connection, "losses", cause=cause, since=since, until=connection.now, commits=commits)
    note_loss(connection, cause, commits)


def mark_restored(connection: Connection, commits: int) -> None:
    """Note that this store replaces one with so many commits."""
    mark(connection, OWN, _RESTORED, str(commits))


def take_restored(connection: Connection) -> int | None:
    """Commits of the store that was replaced since the last start."""
    kept = take_own_mark(connection, _RESTORED)
    return None if kept is None else int(kept)


def note_restore(connection: Connection, *, restored: bool = False) -> None:
    """Note a loss if a copy took the database's place.

    A mark says so, or the database itself: it was `restored`.
    """
    if take_restored(connection) is not None or restored:
        last = scalar(connection, "SELECT MAX(updated_at) FROM threads")
        add_loss(connection, "restored", since=last or connection.now, commits=0)


LOST_UNTIL = "(SELECT MAX(until) FROM losses)"
"""The end of the last time of which not all is known."""


@reads
def losses(connection: Connection) -> list[StoreLoss]:
    """All losses, the oldest first."""
    return [*map(rows_as(StoreLoss), connection.fetch("SELECT * FROM losses ORDER BY id"))]


@reads
def untold_loss(connection: Connection) -> StoreLoss | None:
    """The widest loss that the threads do not know of yet."""
    row = first(connection, "SELECT * FROM losses WHERE NOT told ORDER BY since, id")
    return None if row is None else rows_as(StoreLoss)(row)


def mark_told(connection: Connection) -> None:
    """Note that the threads with unfinished work know."""
    connection.execute("UPDATE losses SET told = TRUE WHERE NOT told")
