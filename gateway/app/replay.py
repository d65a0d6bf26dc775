"""A thread's events one by one, with their timing."""

from __future__ import annotations

import json
from typing import Any

from gateway.base.calendar import local_time
from gateway.events import SessionEvent, dump_event
from gateway.render.sanitize import one_line, sanitize

_PLACE = {"thread", "seq", "at", "turn", "kind"}

LONGEST = 200
"""Characters that are shown of what an event says."""


class Replay:
    """Lines for events, in their order, with times in the zone.

    "" is this machine's zone.
    """

    def __init__(self, zone: str = "") -> None:
        self._zone = zone
        self._before: float | None = None

    def line(self, event: SessionEvent) -> str:
        """One line for the event.

        Time of day, seconds since the one before, its number, turn, kind and rest.
        """
        gap = 0.0 if self._before is None else event.at - self._before
        self._before = event.at
        at = local_time(event.at, self._zone)
        clock = at.strftime("%Y-%m-%d %H:%M:%S.") + f"{at.microsecond // 1000:03}"
        head = f"{clock} {gap:+9.3f}s {event.seq:>5} {event.turn or '-':12} {event.kind:16}"
        return f"{head} {_fields(event)}".rstrip()


def _fields(event: SessionEvent) -> str:
    fields: dict[str, Any] = json.loads(dump_event(event))
    said = " ".join(
        f"{name}={json.dumps(value, ensure_ascii=False)}"
        for name, value in fields.items()
        if name not in _PLACE and value not in ("", [], None, False)
    )
    text = one_line(sanitize(said))
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "\u2026"
