"""Time zones by the names people use, and the time there."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

OTHER_NAMES: Mapping[str, str] = {
    "beijing": "Asia/Shanghai",
    "california": "America/Los_Angeles",
    "delhi": "Asia/Kolkata",
    "france": "Europe/Paris",
    "germany": "Europe/Berlin",
    "gmt": "Etc/UTC",
    "india": "Asia/Kolkata",
    "japan": "Asia/Tokyo",
    "munich": "Europe/Berlin",
    "san francisco": "America/Los_Angeles",
    "uk": "Europe/London",
    "utc": "Etc/UTC",
    "washington": "America/New_York",
}
"""Places that give no zone its name."""


class UnknownPlace(ValueError):
    """No time zone has that name."""


def time_in(place: str, now: datetime | None = None) -> str:
    """Date and time at a place, as people read it. Raises UnknownPlace."""
    wanted = " ".join(place.strip().strip("?!.,\"'`").lower().replace("_", " ").split())
    zone = _zones().get(wanted)
    if zone is None:
        raise UnknownPlace(f"I know no time zone called {place.strip()!r}.")
    try:
        there = (now or datetime.now(UTC)).astimezone(ZoneInfo(zone))
    except ZoneInfoNotFoundError:
        raise UnknownPlace("This machine has no table of time zones (tzdata).") from None
    offset = f"{there:%z}"
    shown = "UTC" if zone == "Etc/UTC" else f"{zone}, UTC{offset[:3]}:{offset[3:]}"
    return f"{there:%H:%M} on {there:%A}, {there.day} {there:%B %Y} ({shown})"


@cache
def _zones() -> Mapping[str, str]:
    """Zones by their own names and by their cities', in lower case."""
    names = sorted(name for name in available_timezones() if "/" in name)
    found = {name.rpartition("/")[2]: name for name in names if not name.startswith("Etc/")}
    found |= {name: name for name in names}
    return {**{name.replace("_", " ").lower(): zone for name, zone in found.items()}, **OTHER_NAMES}
