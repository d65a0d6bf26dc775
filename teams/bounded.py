"""Sessions of `aiohttp` whose answers have bounds, and the certificates of all."""

from teams._base.bounded.clients import load_certificates
from teams._base.bounded.gate import Bounds
from teams._base.bounded.sessions import http_session, read_most

__all__ = ["Bounds", "http_session", "load_certificates", "read_most"]
