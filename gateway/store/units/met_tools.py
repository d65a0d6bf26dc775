"""Unit of work for a tool that a server shows."""

from __future__ import annotations

from collections import defaultdict

from gateway.events import SessionEvent
from gateway.store.connection import Connection
from gateway.store.jobs import LaneJob
from gateway.store.operations import writes
from gateway.store.records import MetTool
from gateway.store.turn_records import SettledRequests
from gateway.store.units import requests as asked
from gateway.store.units.events import add_events
from gateway.store.units.known_texts import add_text, is_full, known_tool, note_change
from gateway.store.units.rows import REQUEST_COLUMNS, request_of


@writes(alone=True)
def meet_tool(connection: Connection, met: MetTool) -> SettledRequests:
    """Keep a tool as it was met.

    If it was another before, its approvals for threads end, and open ones are closed.
    """
    known = known_tool(connection, met.server, met.tool)
    if known is None and is_full(connection, met.server):
        return SettledRequests()
    is_new = known is not None and met.digest not in (known.digest, *dict(known.others))
    add_text(connection, met, accepted=known is None)
    if known is None or not is_new:
        return SettledRequests()
    note_change(connection, "tool.changed", known, met, person="")
    connection.execute("DELETE FROM grants WHERE tool = :tool", {"tool": met.full_name})
    return _close_approvals(connection, met.full_name)


def _close_approvals(connection: Connection, tool: str) -> SettledRequests:
    """Close the tool's open approvals; their turns go on and ask anew.

    Those that were asked for a new text are bound to it, and stay.
    """
    rows = connection.fetch(
        f"SELECT {REQUEST_COLUMNS} WHERE r.state = 'open' AND r.kind = 'approval'"
        " AND r.tool = :tool AND r.meant = '' ORDER BY r.thread",
        {"tool": tool},
    )
    events: defaultdict[str, tuple[SessionEvent, ...]] = defaultdict(tuple)
    ready: dict[str, str] = {}
    for request in map(request_of, rows):
        connection.lock(request.thread)
        event = asked.close_anew(connection, request)
        events[request.thread] += add_events(connection, request.thread, [event])
        job = LaneJob(thread=request.thread, person=request.asker)
        if asked.mark_ready(connection, request.turn) and not connection.defer(job):
            ready[request.thread] = request.asker
    return SettledRequests(events=events, ready=[*ready.items()])
