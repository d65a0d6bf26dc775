"""The time that servers tell with their answers."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import parsedate_to_datetime


def told_time(headers: Mapping[str, str]) -> float | None:
    """Seconds since the epoch in an answer's Date; None without one.

    A server with a clock sends it with every answer (RFC 9110, 6.6.1).
    """
    try:
        return parsedate_to_datetime(headers["Date"]).timestamp()
    except (KeyError, ValueError):
        return None
