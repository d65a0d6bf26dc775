"""The audit as lines of JSON, for collectors of logs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from math import inf
from sys import maxsize
from zoneinfo import ZoneInfo

from gateway.base.redaction import REDACTION
from gateway.errors import GatewayError
from gateway.store.protocols import SessionReader
from gateway.store.records import AuditRow
from gateway.store.units import audit
from gateway.store.units.audit import DELETED_PERSON

PAGE = 500
"""Rows that are read at once."""
POLL = 1.0
"""Seconds between two looks for new rows."""
LONGEST = 2000
"""Characters of a text in a line; twice as many are searched for secrets."""


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
    after, left = min(after, maxsize), inf if limit is None else limit
    while left > 0:
        most = int(min(left, PAGE))
        rows = await store.run(
            audit.whole_audit,
            after=after,
            since=since,
            until=until,
            limit=most,
            longest=2 * LONGEST,
        )
        for row in rows:
            yield audit_line(row)
            after = row.position
        left -= len(rows)
        if not rows:
            if not follow:
                return
            await asyncio.sleep(POLL)


def audit_line(row: AuditRow) -> str:
    """A row as JSON, without secrets and much of what is empty."""
    group = "" if "." in row.what else "grant." if row.what == "revoked" else "request."
    kind, actor = _actor(row)
    told = {
        "position": row.position,
        "time": datetime.fromtimestamp(row.at, UTC).isoformat(timespec="milliseconds"),
        "thread": row.thread,
        "turn": row.turn,
        "actor_kind": kind,
        "actor": actor,
        "action": group + row.what,
        "object": row.object or row.tool or row.kind,
        "outcome": row.answer or _told(row.outcome),
    }
    further = {
        "on_behalf_of": row.person if row.agent else "",
        "note": _told(row.outcome) if row.answer else "",
        "arguments": _told(row.arguments),
        "arguments_hash": row.arguments_hash,
        "request": row.request,
        "call": row.call,
        "place": row.place,
    }
    told |= {name: text for name, text in further.items() if text}
    return json.dumps(told, ensure_ascii=False)


def _actor(row: AuditRow) -> tuple[str, str]:
    if row.agent:
        return "agent", row.agent
    if not row.person:
        return "gateway", ""
    return ("deleted person", "") if row.person == DELETED_PERSON else ("person", row.person)


def _told(text: str) -> str:
    hidden = REDACTION.all(text)
    return hidden if len(hidden) <= LONGEST else f"{hidden[:LONGEST]}\u2026"


def moment(text: str, zone: str) -> float:
    """Seconds since the epoch of an ISO time, else in the zone.

    Raises GatewayError.
    """
    try:
        at = datetime.fromisoformat(text)
        return (at if at.tzinfo or not zone else at.replace(tzinfo=ZoneInfo(zone))).timestamp()
    except (ValueError, OverflowError):
        raise GatewayError(f"{text!r} is no time such as 2026-07-01T17:30+02:00.") from None
