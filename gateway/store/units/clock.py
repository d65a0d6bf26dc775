"""Units of work for the time of day that processes knew."""

from __future__ import annotations

from gateway.base.clock import KnownTime
from gateway.store.connection import Connection
from gateway.store.operations import reads, writes
from gateway.store.units.adapters import OWN, mark, own_mark, take_own_mark
from gateway.store.units.rows import scalar

_KNOWN = "clock known"
"""The mark of the last known time: seconds since the epoch, and, while it is doubted, the seconds
of doubt and who denies it.
"""
_JUMPED = "clock jumped"
"""The mark that tells by how many seconds the clock was set since the boot."""


@reads
def known_time(connection: Connection, now: float) -> KnownTime | None:
    """The last known time of day; without one, the newest thread's."""
    if kept := own_mark(connection, _KNOWN):
        at, *doubted = kept.split(maxsplit=2)
        return KnownTime(
            at=float(at),
            doubted=float(doubted[0]) if doubted else None,
            denied="".join(doubted[1:]),
        )
    newest = scalar(connection, "SELECT MAX(updated_at) FROM threads")
    return None if newest is None else KnownTime(at=min(newest, now))


@writes
def keep_time(connection: Connection, known: KnownTime) -> None:
    """Keep the time for the next process."""
    doubt = "" if known.doubted is None else f" {known.doubted} {known.denied}"
    mark(connection, OWN, _KNOWN, f"{known.at}{doubt}")
    if known.jumped:
        mark(connection, OWN, _JUMPED, f"{known.jumped}")


def take_jump(connection: Connection) -> float:
    """Take the seconds that the clock was set in the last boot."""
    return float(take_own_mark(connection, _JUMPED) or 0.0)
