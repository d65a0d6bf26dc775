"""Units of work for people's own pages: open requests, threads, visits."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from gateway.store.connection import Connection
from gateway.store.operations import reads
from gateway.store.units.search import OF_PLATFORM

VISITED = "home "
"""Name, before a person's id, of the mark that says who has opened their page."""
MOST = 1_000
"""Open requests of a platform that are looked at, the newest first."""

_OPEN = f"""
SELECT r.id FROM requests r JOIN threads t ON t.id = r.thread
WHERE r.state = 'open' AND {OF_PLATFORM} ORDER BY r.created_at DESC, r.id LIMIT {MOST}
"""
_ASKED = """
WITH asked AS (
    SELECT thread, MAX(started_at) AS last FROM turns WHERE author = :person GROUP BY thread
)
SELECT t.id, (
    SELECT i.link FROM inbox i WHERE i.thread = t.id AND i.author = :person
        AND i.outcome <> 'refused' AND i.link <> '' ORDER BY i.id DESC LIMIT 1
) AS link
FROM asked JOIN threads t ON t.id = asked.thread
WHERE t.key >= :first AND t.key < :beyond ORDER BY asked.last DESC, t.id LIMIT :limit
"""


@reads
def open_requests(connection: Connection, platform: str) -> list[str]:
    """The ids of a platform's open requests, newest first."""
    rows = connection.fetch(_OPEN, {"platform": quote(platform, safe="")})
    return [row["id"] for row in rows]


@reads
def asked_threads(
    connection: Connection, person: str, platform: str, workspace: str, limit: int
) -> Mapping[str, str]:
    """The threads in which a person asked last, with links."""
    place = f"{quote(platform, safe='')}/{quote(workspace, safe='')}"
    of_person = {"person": person, "limit": limit, "first": f"{place}/", "beyond": f"{place}0"}
    return {row["id"]: row["link"] or "" for row in connection.fetch(_ASKED, of_person)}
