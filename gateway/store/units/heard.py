"""Authors whose words a team has heard, and what its tools brought."""

from __future__ import annotations

from gateway.store.connection import Connection
from gateway.store.operations import reads
from gateway.store.turn_records import ThreadContext
from gateway.store.units.rows import author

_HEARD = "n.thread = :thread AND n.outcome IN ('turn', 'merged', 'answer')"
_SAID, _ANSWERED = (
    f"{_HEARD} AND (n.outcome = 'answer') = (SELECT {kind})" for kind in ("FALSE", "TRUE")
)
"""Said in a message, or as an answer. PostgreSQL turns a comparison with FALSE itself into another
one, which the index does not know.
"""

_AUTHORS = f"""
    WITH RECURSIVE said (id) AS (
     SELECT (SELECT n.id FROM inbox n WHERE {_SAID} ORDER BY n.author, n.author_groups LIMIT 1)
     UNION ALL
     SELECT COALESCE(
      (SELECT n.id FROM inbox n WHERE {_SAID}
       AND n.author = o.author AND n.author_groups > o.author_groups
       ORDER BY n.author_groups LIMIT 1),
      (SELECT n.id FROM inbox n WHERE {_SAID} AND n.author > o.author
       ORDER BY n.author, n.author_groups LIMIT 1))
     FROM said JOIN inbox o ON o.id = said.id),
    people (author) AS (
     SELECT MIN(answered_by) FROM requests WHERE thread = :thread AND answer_text <> ''
     UNION ALL
     SELECT (SELECT MIN(r.answered_by) FROM requests r
      WHERE r.thread = :thread AND r.answer_text <> '' AND r.answered_by > people.author)
     FROM people WHERE people.author IS NOT NULL),
    answered (id) AS (
     SELECT (SELECT n.id FROM inbox n WHERE {_ANSWERED} AND n.author = people.author
      ORDER BY n.author_groups LIMIT 1) FROM people
     UNION ALL
     SELECT (SELECT n.id FROM inbox n WHERE {_ANSWERED}
      AND n.author = o.author AND n.author_groups > o.author_groups
      ORDER BY n.author_groups LIMIT 1)
     FROM answered JOIN inbox o ON o.id = answered.id)
    SELECT o.author, o.author_name, o.timezone, o.author_kind, o.author_groups,
     (SELECT MAX(COALESCE(n.taken_at, n.received_at)) FROM inbox n WHERE {_HEARD}
      AND (n.outcome = 'answer') = (o.outcome = 'answer')
      AND n.author = o.author AND n.author_groups = o.author_groups) AS last
    FROM (SELECT /*pg unnest(ARRAY(SELECT*/ id FROM said UNION SELECT id FROM answered
     /*pg )) AS id*/) heard JOIN inbox o ON o.id = heard.id
"""
"""Everybody whose words the team may know, with each set of groups they had.

Of those who only pressed buttons it knows none: they have no answer with a text. The query goes
from one author to the next by indexes, so a long thread costs no more than a short one. PostgreSQL
takes an array for small, and what follows a recursion for so large that it would read all messages.
"""

_OUTPUTS = """
    WITH RECURSIVE used (tool) AS (
     SELECT MIN(tool) FROM tool_calls WHERE thread = :thread AND status = 'finished'
     UNION ALL
     SELECT (SELECT MIN(c.tool) FROM tool_calls c
      WHERE c.thread = :thread AND c.status = 'finished' AND c.tool > used.tool)
     FROM used WHERE used.tool IS NOT NULL)
    SELECT tool, (SELECT MIN(c.finished_at) FROM tool_calls c
     WHERE c.thread = :thread AND c.status = 'finished' AND c.tool = used.tool) AS at
    FROM used WHERE tool IS NOT NULL
"""
"""When each tool first brought something, from one tool to the next."""


@reads
def context(connection: Connection, thread: str) -> ThreadContext:
    """Origins of what the thread's team has read."""
    of_thread = {"thread": thread}
    return ThreadContext(
        authors=tuple(author(*row[:5]) for row in connection.fetch(_AUTHORS, of_thread)),
        outputs={row["tool"]: row["at"] for row in connection.fetch(_OUTPUTS, of_thread)},
    )


def last_words(connection: Connection, thread: str) -> dict[str, float]:
    """When each author was last heard by the team."""
    last: dict[str, float] = {}
    for row in connection.fetch(_AUTHORS, {"thread": thread}):
        last[row["author"]] = max(row["last"], last.get(row["author"], 0.0))
    return last
