"""Sessions of `aiohttp` with bounds, and preparation of HTTP."""

from teams._base.bounded.clients import load_http
from teams._base.bounded.gate import Bounds
from teams._base.bounded.sessions import http_session, read_most

__all__ = ["Bounds", "http_session", "load_http", "read_most"]
