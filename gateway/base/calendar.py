"""Units and periods of budgets: calendar hours, days, months, in UTC.

Also times in words.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias
from zoneinfo import ZoneInfo

Scope: TypeAlias = Literal["thread", "person", "team", "workspace"]
CalendarWindow: TypeAlias = Literal["hour", "day", "month"]


def window_start(window: CalendarWindow, at: float) -> float:
    """When the window began that holds this time; seconds since the epoch."""
    return _start(window, at).timestamp()


def window_end(window: CalendarWindow, at: float) -> float:
    """When the window ends that holds this time."""
    start = _start(window, at)
    match window:
        case "hour":
            end = start + timedelta(hours=1)
        case "day":
            end = start + timedelta(days=1)
        case "month":
            end = (start + timedelta(days=32)).replace(day=1)
    return end.timestamp()


def _start(window: CalendarWindow, at: float) -> datetime:
    time = datetime.fromtimestamp(at, UTC).replace(minute=0, second=0, microsecond=0)
    match window:
        case "hour":
            return time
        case "day":
            return time.replace(hour=0)
        case "month":
            return time.replace(day=1, hour=0)


def utc_text(at: float) -> str:
    """A time for the model, "" for one that no calendar has."""
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return ""


def local_time(seconds: float, zone: str) -> datetime:
    """Local time of seconds since the epoch; zone "" is this machine's."""
    return datetime.fromtimestamp(seconds, UTC).astimezone(ZoneInfo(zone) if zone else None)
