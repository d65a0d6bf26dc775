"""Sessions of `aiohttp` whose answers have bounds."""

from teams._base.bounded.gate import Bounds
from teams._base.bounded.sessions import http_session, read_most

__all__ = ["Bounds", "http_session", "read_most"]
