"""Units of work for texts of servers' tools: accepted ones, and others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict

from gateway.conversation import LOCAL_OPERATOR
from gateway.store.connection import Connection, Row
from gateway.store.operations import reads, writes
from gateway.store.records import KnownTool, MetTool, Request
from gateway.store.units import audit
from gateway.store.units.rows import first, scalar

MOST_TOOLS = 2_000
"""Tools of one server that are kept; further ones stay unknown: none takes another's place."""
MOST_OTHERS = 10
"""Texts of one tool that are kept besides the accepted one."""

_COLUMNS = "server, tool, digest, text, accepted, since"
_OF_TOOL = "WHERE server = :server AND tool = :tool"
_MEANT = "FROM known_tools WHERE server = :server AND digest = :digest AND NOT accepted"
_ADD = """
    INSERT INTO known_tools (server, tool, digest, text, met_at, accepted)
    VALUES (:server, :tool, :digest, :text, :now, :accepted)
    ON CONFLICT (server, tool, digest) DO UPDATE SET met_at = excluded.met_at
"""
_DROP_OLD = f"""
    DELETE FROM known_tools {_OF_TOOL} AND NOT accepted AND digest NOT IN
     (SELECT digest FROM known_tools {_OF_TOOL} AND NOT accepted ORDER BY met_at DESC LIMIT :most)
"""


@reads
def known_tools(connection: Connection) -> list[KnownTool]:
    """All tools, in the order of their names."""
    rows = connection.fetch(f"SELECT {_COLUMNS} FROM known_tools ORDER BY server, tool, met_at")
    tools: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        tools[row["server"], row["tool"]].append(row)
    return [found for each in tools.values() if (found := _tool(each)) is not None]


@reads
def known_tool(connection: Connection, server: str, tool: str) -> KnownTool | None:
    """The tool, None if it was never met."""
    query = f"SELECT {_COLUMNS} FROM known_tools {_OF_TOOL} ORDER BY met_at"
    return _tool(connection.fetch(query, {"server": server, "tool": tool}))


def _tool(rows: Sequence[Row]) -> KnownTool | None:
    accepted = next((row for row in rows if row["accepted"]), None)
    if accepted is None:
        return None
    others = [row for row in rows if not row["accepted"]]
    told = {name: accepted[name] for name in ("server", "tool", "digest", "text", "since")}
    return KnownTool(**told, others=tuple((row["digest"], row["text"]) for row in others))


def add_text(connection: Connection, met: MetTool, *, accepted: bool) -> None:
    """Keep a text of a tool, with a few others."""
    row = {**asdict(met), "now": connection.now, "accepted": accepted, "most": MOST_OTHERS}
    connection.execute(_ADD, row)
    connection.execute(_DROP_OLD, row)


def is_full(connection: Connection, server: str) -> bool:
    """True if no further tool of the server is kept."""
    counted = "SELECT COUNT(*) FROM known_tools WHERE server = :server AND accepted"
    return scalar(connection, counted, {"server": server}) >= MOST_TOOLS


@writes(alone=True)
def accept_tool(connection: Connection, met: MetTool, person: str = LOCAL_OPERATOR.id) -> bool:
    """Accept a tool's text; False if it is accepted already.

    Others are forgotten, so that each counts as a change when it is met again.
    """
    known = known_tool(connection, met.server, met.tool)
    if known is None or known.digest == met.digest:
        add_text(connection, met, accepted=known is None)
        return False
    of_tool = {"server": met.server, "tool": met.tool}
    connection.execute(f"DELETE FROM known_tools {_OF_TOOL}", of_tool)
    add_text(connection, met, accepted=True)
    connection.execute(
        f"UPDATE known_tools SET since = :now {_OF_TOOL}", {**of_tool, "now": connection.now}
    )
    connection.execute("DELETE FROM grants WHERE tool = :tool", {"tool": met.full_name})
    note_change(connection, "tool.accepted", known, met, person)
    return True


def accept_meant(connection: Connection, request: Request, person: str) -> None:
    """Accept the text that a request is about, unless it is forgotten."""
    digest, _, server = request.meant.partition(" ")
    meant = {"server": server, "digest": digest}
    row = first(connection, f"SELECT tool, text {_MEANT}", meant)
    if row is not None:
        met = MetTool(**meant, tool=row["tool"], text=row["text"])
        accept_tool(connection, met, person)


def note_change(
    connection: Connection, what: str, known: KnownTool, met: MetTool, person: str
) -> None:
    """Note that a tool is met, or accepted, with another text."""
    told = f"{known.digest[:12]} is now {met.digest[:12]}"
    audit.note(connection, what, person=person, outcome=told, tool=met.full_name)


@writes(alone=True)
def forget_tool(connection: Connection, server: str, tool: str) -> None:
    """Forget a tool whose server may change its texts as it likes."""
    known = known_tool(connection, server, tool)
    if known is None:
        return
    of_tool = {"server": server, "tool": tool}
    connection.execute(f"DELETE FROM known_tools {_OF_TOOL}", of_tool)
    audit.note(connection, "tool.unpinned", tool=known.full_name)
