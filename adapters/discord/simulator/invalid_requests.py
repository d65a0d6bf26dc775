"""Invalid requests, and the ban that too many of them bring.

Discord's documentation, "Rate Limits", "Invalid Request Limit aka Cloudflare bans": an address that
makes 10,000 requests in ten minutes that are answered 401, 403 or 429 is kept from the API for a
while; a 429 with the scope `shared` does not count. Discord does not say for how long, so `ban` is
a setting. It is Cloudflare that refuses then: with a page, and without Discord's headers.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from aiohttp import web

from adapters.discord.simulator.calls import Call
from adapters.discord.simulator.clock import SimulatorClock
from adapters.discord.simulator.wire import whole_seconds

INVALID = frozenset({401, 403, 429})
PAGE = "<html><body>You are being rate limited</body></html>"


@dataclass(slots=True)
class InvalidRequestLimit:
    """`count` invalid requests in `seconds` bring a ban of `ban` seconds."""

    count: int = 10_000
    seconds: float = 600.0
    ban: float = 600.0


class InvalidRequests:
    """Counts the invalid requests of the only address there is."""

    def __init__(self, clock: SimulatorClock) -> None:
        self.limit = InvalidRequestLimit()
        self._clock = clock
        self._times: deque[float] = deque()
        self._banned_until = 0.0

    @property
    def recent(self) -> int:
        """The invalid requests that count now."""
        since = self._clock.now() - self.limit.seconds
        while self._times and self._times[0] <= since:
            self._times.popleft()
        return len(self._times)

    @property
    def ban_seconds(self) -> float:
        """The rest of the ban; 0 for none."""
        return max(0.0, self._banned_until - self._clock.now())

    def note(self, response: web.Response) -> None:
        """Count an answer if it says that the request was invalid."""
        if response.status not in INVALID:
            return
        if response.headers.get("X-RateLimit-Scope") == "shared":
            return
        self._times.append(self._clock.now())
        if self.recent >= self.limit.count:
            self._times.clear()
            self._banned_until = self._clock.now() + self.limit.ban


def banned(call: Call, seconds: float) -> web.Response:
    """Cloudflare's answer to an address that is banned."""
    call.status, call.answer = 429, PAGE
    headers = {"Retry-After": whole_seconds(seconds)}
    return web.Response(status=429, text=PAGE, headers=headers, content_type="text/html")
