"""Conversations that begin anew after a pause, or once a day."""

from __future__ import annotations

from datetime import datetime, timedelta

from gateway.base.calendar import local_time
from gateway.config.routes import Reset

HOUR = 3600.0

BEGUN = "{why}, so a new thread has started. The team does not remember the old one."
IDLE = "This conversation has rested for {hours:g} hours"
DAILY = "Threads begin anew each day at {daily} ({zone})"


def why_anew(reset: Reset, used: float, now: float, zone: str) -> str:
    """The notice of a thread that begins anew, or "".

    `used` is when something last happened in the old one, both in seconds since the epoch.
    """
    if reset.idle_hours is not None and now - used >= reset.idle_hours * HOUR:
        return BEGUN.format(why=IDLE.format(hours=reset.idle_hours))
    if reset.daily:
        last = _last(reset.daily, now, zone)
        if used < last.timestamp():
            return BEGUN.format(why=DAILY.format(daily=reset.daily, zone=zone or last.tzname()))
    return ""


def _last(daily: str, now: float, zone: str) -> datetime:
    """The last moment with this time of day."""
    said = local_time(now, zone)
    hour, minute = map(int, daily.split(":"))
    last = said.replace(hour=hour, minute=minute, second=0, microsecond=0)
    return last if last <= said else last - timedelta(days=1)
