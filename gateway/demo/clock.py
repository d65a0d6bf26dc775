"""Time zones by the names people use, and what time it is there."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

CITIES: Mapping[str, str] = {
    "amsterdam": "Europe/Amsterdam",
    "barcelona": "Europe/Madrid",
    "bangalore": "Asia/Kolkata",
    "beijing": "Asia/Shanghai",
    "bengaluru": "Asia/Kolkata",
    "boston": "America/New_York",
    "california": "America/Los_Angeles",
    "cape town": "Africa/Johannesburg",
    "cologne": "Europe/Berlin",
    "delhi": "Asia/Kolkata",
    "frankfurt": "Europe/Berlin",
    "geneva": "Europe/Zurich",
    "hamburg": "Europe/Berlin",
    "houston": "America/Chicago",
    "kyoto": "Asia/Tokyo",
    "lyon": "Europe/Paris",
    "miami": "America/New_York",
    "milan": "Europe/Rome",
    "montreal": "America/Toronto",
    "mumbai": "Asia/Kolkata",
    "munich": "Europe/Berlin",
    "new delhi": "Asia/Kolkata",
    "nyc": "America/New_York",
    "osaka": "Asia/Tokyo",
    "rio de janeiro": "America/Sao_Paulo",
    "san francisco": "America/Los_Angeles",
    "seattle": "America/Los_Angeles",
    "st petersburg": "Europe/Moscow",
    "washington": "America/New_York",
}
ABBREVIATIONS: Mapping[str, str] = {
    "cet": "Europe/Berlin",
    "eastern time": "America/New_York",
    "gmt": "Etc/UTC",
    "greenwich": "Etc/UTC",
    "pacific time": "America/Los_Angeles",
    "uk": "Europe/London",
    "utc": "Etc/UTC",
}
COUNTRIES: Mapping[str, str] = {
    "england": "Europe/London",
    "france": "Europe/Paris",
    "germany": "Europe/Berlin",
    "india": "Asia/Kolkata",
    "italy": "Europe/Rome",
    "japan": "Asia/Tokyo",
    "spain": "Europe/Madrid",
}


class UnknownPlace(ValueError):
    """No time zone goes by that name."""


@cache
def zones() -> Mapping[str, str]:
    """Every name a zone is found by, in lower case: its own, and its city's."""
    names = {name for name in available_timezones() if not name.startswith(("posix/", "right/"))}
    by_city = {
        name.rpartition("/")[2].replace("_", " ").lower(): name
        for name in sorted(names, reverse=True)
        if "/" in name and not name.startswith(("Etc/", "US/", "SystemV/"))
    }
    by_name = {name.lower(): name for name in names}
    return {**by_name, **by_city, **COUNTRIES, **CITIES, **ABBREVIATIONS}


def zone_of(place: str) -> str:
    """The IANA name of the time zone of a city, country or zone. Raises UnknownPlace."""
    wanted = " ".join(place.strip().strip("?!.,\"'`").lower().replace("_", " ").split())
    found = zones().get(wanted) or zones().get(wanted.replace(" ", "_"))
    if found is None:
        raise UnknownPlace(f"I know no time zone called {place.strip()!r}.")
    return found


def time_in(place: str, now: datetime | None = None) -> str:
    """Date and time there, as people read it. Raises UnknownPlace."""
    zone = zone_of(place)
    try:
        there = (now or datetime.now(UTC)).astimezone(ZoneInfo(zone))
    except ZoneInfoNotFoundError:
        raise UnknownPlace("This machine has no table of time zones (tzdata).") from None
    offset = f"{there:%z}"
    shown = "UTC" if zone == "Etc/UTC" else f"{zone}, UTC{offset[:3]}:{offset[3:]}"
    return f"{there:%H:%M} on {there:%A}, {there.day} {there:%B %Y} ({shown})"
