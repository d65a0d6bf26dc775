"""Times as people are told them: in the time zone of the config, or else in this machine's."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo


def local_time(seconds: float, zone: str) -> datetime:
    """Seconds since the epoch in the zone of this name, "" for this machine's."""
    return datetime.fromtimestamp(seconds, UTC).astimezone(ZoneInfo(zone) if zone else None)
