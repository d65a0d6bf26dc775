"""The audit as lines of JSON, for collectors of logs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from math import inf
from zoneinfo import ZoneInfo

from gateway.base.redaction import REDACTION
from gateway.errors import GatewayError
from gateway.store.protocols import SessionReader
from gateway.store.records import AuditEntry
from gateway.store.units.audit import DELETED_PERSON

PAGE = 500
"""Rows that are read at once."""
POLL = 1.0
"""Seconds between two looks for new rows."""
LONGEST = 2000
"""Characters of arguments, and of a note, in a line."""
SLACK = 2000
"""Characters read beyond those, so that no secret is cut before it is found."""


async def audit_lines(
    store: SessionReader,
    *,
    after: int = 0,
    since: float = 0.0,
    until: float = inf,
    limit: int | None = None,
    follow: bool = False,
) -> AsyncGenerator[str]:
    """The audit after a position, in its order; with `follow`, for ever."""
    left = inf if limit is None else limit
    while left > 0:
        entries = await store.audit_entries(
            after=after,
            since=since,
            until=until,
            limit=int(min(left, PAGE)),
            longest=LONGEST + SLACK,
        )
        for entry in entries:
            yield audit_line(entry)
            after = entry.position
        left -= len(entries)
        if entries:
            continue
        if not follow:
            return
        await asyncio.sleep(POLL)


def audit_line(entry: AuditEntry) -> str:
    """A row as JSON, without secrets and most of what is empty."""
    kind, actor = _actor(entry)
    line = {
        "position": entry.position,
        "time": datetime.fromtimestamp(entry.at, UTC).isoformat(timespec="milliseconds"),
        "thread": entry.thread,
        "turn": entry.turn,
        "actor_kind": kind,
        "actor": actor,
        "action": entry.action,
        "object": entry.object,
        "outcome": _told(entry.outcome),
    }
    further = {
        "on_behalf_of": entry.person if entry.agent else "",
        "note": _told(entry.note),
        "arguments": _told(entry.arguments),
        "arguments_hash": entry.arguments_hash,
        "request": entry.request,
        "call": entry.call,
        "place": entry.place,
    }
    return json.dumps(
        line | {name: text for name, text in further.items() if text}, ensure_ascii=False
    )


def _actor(entry: AuditEntry) -> tuple[str, str]:
    if entry.agent:
        return "agent", entry.agent
    if not entry.person:
        return "gateway", ""
    return ("deleted person", "") if entry.person == DELETED_PERSON else ("person", entry.person)


def _told(text: str) -> str:
    hidden = REDACTION.all(text)
    return hidden if len(hidden) <= LONGEST else f"{hidden[:LONGEST]}\u2026"


def moment(text: str, zone: str) -> float:
    """Seconds since the epoch of an ISO date or time, in the zone if it names none.

    Raises GatewayError.
    """
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise GatewayError(
            f"{text!r} is no date or time, such as 2026-07-01 or 2026-07-01T17:30+02:00."
        ) from None
    return (at if at.tzinfo or not zone else at.replace(tzinfo=ZoneInfo(zone))).timestamp()
