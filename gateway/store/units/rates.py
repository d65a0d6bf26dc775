"""Units of work for rates of platforms: one bucket for all nodes."""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

from gateway.rates import DrawnTokens, RateLimit
from gateway.store.connection import Connection
from gateway.store.operations import writes
from gateway.store.units.rows import UNSYNCED, first
from gateway.store.value_rows import put

FORGOTTEN = 3600.0
"""Seconds for which a full bucket is kept."""
MOST_FORGOTTEN = 100
"""Rows that are deleted at once."""

# On PostgreSQL the time is that of its server, which all nodes ask.
_LOOK = """
    SELECT COALESCE(/*pg server_time(),*/ :now, 0) AS now, r.full_at, r.seen, n.joined
    FROM (SELECT (SELECT since FROM nodes ORDER BY since LIMIT 1 OFFSET 1) AS joined) n
     LEFT JOIN rates r ON r.name = :name
"""
"""`joined`: since then there were always two nodes."""
_FORGET = """
    DELETE FROM rates WHERE name IN (SELECT name FROM rates WHERE full_at < :before
     LIMIT :most /*pg FOR UPDATE SKIP LOCKED*/)
"""


class _Bucket(NamedTuple):
    """A bucket at a moment; it will be full at `full_at`."""

    name: str
    now: float
    full_at: float
    is_new: bool
    is_set_back: bool
    """The clock was, since it was last drawn from."""


@writes
def draw_tokens(
    connection: Connection, limit: RateLimit, most: int, reserve: float = 0.0
) -> DrawnTokens:
    """Draw up to `most` tokens, and leave `reserve` in the bucket."""
    bucket, each = _bucket(connection, limit), 60 / limit.per_minute
    level = limit.burst - (bucket.full_at - bucket.now) / each
    tokens = max(0, min(most, int(level - reserve + 1e-6)))
    if tokens or bucket.is_set_back:
        _keep(connection, bucket, bucket.full_at + tokens * each)
    wait = 0.0 if tokens else (1 + reserve - level) * each
    return DrawnTokens(tokens=tokens, wait=wait, level=max(0.0, level - tokens))


@writes
def close_rate(connection: Connection, limit: RateLimit, seconds: float) -> None:
    """Leave nothing to draw for so long, and one token then."""
    bucket = _bucket(connection, limit)
    filled = (limit.burst - 1) * 60 / limit.per_minute
    _keep(connection, bucket, max(bucket.full_at, bucket.now + seconds + filled))


def _bucket(connection: Connection, limit: RateLimit) -> _Bucket:
    name = blake2b(limit.name.encode(), digest_size=16).hexdigest()
    connection.execute(UNSYNCED)
    connection.lock(f"rate {name}")
    row = first(connection, _LOOK, {"name": name, "now": connection.now})
    assert row is not None
    now, joined = float(row["now"]), row["joined"]
    is_new = row["full_at"] is None
    seen = 0.0 if is_new else float(row["seen"])
    full_at = now if is_new else float(row["full_at"]) - max(0.0, seen - now)
    if joined is not None and seen < joined <= now:
        # Before that, a node without others may have spent the whole burst, and told nobody.
        full_at = max(full_at, joined + limit.burst * 60 / limit.per_minute)
    return _Bucket(name, now, max(full_at, now), is_new, seen > now)


def _keep(connection: Connection, bucket: _Bucket, full_at: float) -> None:
    put(connection, "rates", ("name",), name=bucket.name, full_at=full_at, seen=bucket.now)
    if bucket.is_new:
        old = {"before": bucket.now - FORGOTTEN, "most": MOST_FORGOTTEN}
        connection.execute(_FORGET, old)
