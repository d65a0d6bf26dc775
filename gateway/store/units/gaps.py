"""Units of work for the work list of gaps after a pause.

A place has at most two rows: the gap of which a page was read, and one that merges all later ones.
The first is read to its end before the other is begun, so that a thread is read in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gateway.conversation import ConversationKey
from gateway.missed import DAY, Gap, KnownPlace, MissedCounts, OpenGap, ReadPage
from gateway.store.connection import Connection
from gateway.store.operations import reads, writes
from gateway.store.units.adapters import mark
from gateway.store.units.rows import first
from gateway.store.value_rows import rows_as, update

_ADD = """
INSERT INTO gaps (platform, workspace, place, threaded, since, until, returned, newest)
SELECT :platform, :workspace, :place, :threaded, :since, :until, :returned, :newest
WHERE NOT EXISTS (SELECT 1 FROM gaps WHERE platform = :platform AND place = :place AND begun = 1
    AND since <= :since AND until >= :until)
ON CONFLICT (platform, place, begun) DO UPDATE SET
    since = CASE WHEN excluded.since < gaps.since THEN excluded.since ELSE gaps.since END,
    until = CASE WHEN excluded.until > gaps.until THEN excluded.until ELSE gaps.until END,
    newest = CASE WHEN excluded.newest > gaps.newest THEN excluded.newest ELSE gaps.newest END
"""
_OPEN = """
SELECT id, place, since, until, returned, newest, cursor FROM gaps AS g
WHERE platform = :platform AND workspace = :workspace AND threaded = :threaded
    AND (begun = 1 OR NOT EXISTS
        (SELECT 1 FROM gaps WHERE platform = g.platform AND place = g.place AND begun = 1))
ORDER BY newest DESC, id LIMIT :limit
"""
_COUNT = """
INSERT INTO missed (platform, verdict, n, since)
SELECT platform, :verdict, :n, until FROM gaps WHERE id = :gap
ON CONFLICT (platform, verdict) DO UPDATE SET n = missed.n + excluded.n
"""
_NEXT_CHANNEL = """
SELECT key FROM threads WHERE current AND key >= :first AND key < :beyond ORDER BY key LIMIT 1
"""
_USED_LAST = """
SELECT key, updated_at FROM threads ORDER BY updated_at DESC LIMIT :limit
"""
_THREADS = """
SELECT key, updated_at FROM threads WHERE current AND key >= :first AND key < :beyond
ORDER BY key DESC LIMIT :limit
"""
COUNTED = 7 * DAY
"""Seconds for which the counts of earlier pauses stand: a short pause hides no long one."""
MOST_USED = 500
"""Threads, those used last, by which channels are put in order."""
AFTER_SLASH = "0"
"""The character after the slash that ends a part of a key."""


@writes(alone=True)
def add_gaps(
    connection: Connection, platform: str, gaps: Sequence[Gap], marks: Mapping[str, str]
) -> None:
    """Add gaps to the work list and set the platform's marks."""
    if gaps and not is_behind(connection, platform):
        connection.execute(
            "DELETE FROM missed WHERE platform = :platform AND since < :before",
            {"platform": platform, "before": max(gap.until for gap in gaps) - COUNTED},
        )
    connection.many(_ADD, [_parameters(platform, gap, gap.until) for gap in gaps])
    for name, text in marks.items():
        mark(connection, platform, name, text)


def is_behind(connection: Connection, platform: str) -> bool:
    """True while the work list has something of the platform."""
    query = "SELECT 1 FROM gaps WHERE platform = :platform LIMIT 1"
    return first(connection, query, {"platform": platform}) is not None


@reads
def open_gaps(
    connection: Connection, platform: str, workspace: str, *, threads: bool, limit: int
) -> list[OpenGap]:
    """The gaps to read next, of a workspace's threads or channels."""
    rows = connection.fetch(
        _OPEN,
        {"platform": platform, "workspace": workspace, "threaded": int(threads), "limit": limit},
    )
    return [*map(rows_as(OpenGap), rows)]


@writes(alone=True)
def finish_page(connection: Connection, page: ReadPage) -> None:
    """Go on behind a page that was read, or close its gap.

    A gap that has grown meanwhile is read anew: the page may be of before. Does nothing for a gap
    that is gone.
    """
    query = "SELECT id, platform, place, since, until, returned, newest, cursor FROM gaps"
    row = first(connection, f"{query} WHERE id = :gap", {"gap": page.gap.id})
    if row is None:
        return
    gap, platform = rows_as(OpenGap)(row), row["platform"]
    grown = gap.until > page.gap.until or gap.since < page.gap.since
    for verdict, n in page.found.items():
        if verdict == "answer" or not grown:  # the others are found again
            connection.execute(_COUNT, {"gap": gap.id, "verdict": verdict, "n": n})
    if page.cursor is None and not grown:
        connection.execute("DELETE FROM gaps WHERE id = :gap", {"gap": gap.id})
    elif not grown:
        update(connection, "gaps", gap.id, cursor=page.cursor, newest=page.newest, begun=1)
    found = (replace(gap, place=place, newest=at) for place, at in page.further.items())
    connection.many(_ADD, [_parameters(platform, each, gap.returned) for each in found])


@reads
def missed_counts(connection: Connection) -> MissedCounts:
    """The rest of the work list, and the messages found."""
    unread = connection.fetch(
        "SELECT value AS name, n FROM tallies WHERE name = 'unread' AND n > 0"
    )
    found = connection.fetch("SELECT verdict AS name, SUM(n) AS n FROM missed GROUP BY verdict")
    return MissedCounts(
        unread={row["name"]: row["n"] for row in unread},
        found={row["name"]: row["n"] for row in found},
    )


@reads
def known_channels(connection: Connection, platform: str, workspace: str) -> list[KnownPlace]:
    """The channels of a workspace in which there are threads.

    `used` is 0 for those that are not among those used last.
    """
    used: dict[str, float] = {}
    for row in connection.fetch(_USED_LAST, {"limit": MOST_USED}):
        key = ConversationKey.parse(row["key"])
        if (key.platform, key.workspace) == (platform, workspace):
            used.setdefault(key.channel, row["updated_at"])
    workspace_key = ConversationKey(platform=platform, workspace=workspace)
    found: list[KnownPlace] = []
    start, beyond = _bounds(workspace_key, parts=2)
    while (row := first(connection, _NEXT_CHANNEL, {"first": start, "beyond": beyond})) is not None:
        key = ConversationKey.parse(row["key"])
        place = replace(workspace_key, channel=key.channel)
        found.append(KnownPlace(place=place, used=used.get(key.channel, 0.0)))
        _, start = _bounds(place, parts=3)
    return found


@reads
def known_threads(
    connection: Connection, place: ConversationKey, *, before: str, limit: int
) -> list[KnownPlace]:
    """Threads of a channel with roots below `before`, the greatest first.

    All of them if that is "".
    """
    start, beyond = _bounds(place, parts=3)
    if before:
        beyond, _ = _bounds(replace(place, root=before), parts=4)
    rows = connection.fetch(_THREADS, {"first": start, "beyond": beyond, "limit": limit})
    return [
        KnownPlace(place=ConversationKey.parse(row["key"]), used=row["updated_at"]) for row in rows
    ]


def _bounds(key: ConversationKey, *, parts: int) -> tuple[str, str]:
    """The bounds of texts of keys that begin with these parts."""
    whole = "/".join(str(key).split("/")[:parts])
    return f"{whole}/", f"{whole}{AFTER_SLASH}"


def _parameters(platform: str, gap: Gap, returned: float) -> dict[str, Any]:
    return {
        "platform": platform,
        "workspace": gap.place.workspace,
        "place": str(gap.place),
        "threaded": int(bool(gap.place.root)),
        "since": gap.since,
        "until": gap.until,
        "returned": returned,
        "newest": gap.newest,
    }
