"""Reads of workspaces, each within its method's limit."""

from __future__ import annotations

from typing import Any

from adapters.slack.connection.payload import Payload
from adapters.slack.connection.rate_limits import SlackLimits
from adapters.slack.connection.web_api import Calls
from gateway.pacing.limits import Caller, Rank
from gateway.surface import OwnPace, RateLimited

PAGE = 200
"""Messages of one call; Slack gives 15 at most to apps that may read once a minute."""

MINUTE = 60.0
PATIENCE = 1.0
"""Seconds that somebody waits for the turn of a read."""


class ReadRates:
    """Reads of all workspaces: those that somebody waits for come first."""

    def __init__(self, calls: Calls, limits: SlackLimits) -> None:
        self.calls = calls
        self._limits = limits

    async def read(self, team: str, method: str, **arguments: Any) -> Payload:
        """Read now. Raises GatewayError, OwnPace where the limit has no room."""
        return await self._read(team, method, Rank.URGENT, PATIENCE, arguments)

    async def read_in_turn(self, team: str, method: str, **arguments: Any) -> Payload:
        """Read when nobody waits for more than that. Raises GatewayError."""
        while True:
            try:
                return await self._read(team, method, Rank.LATER, None, arguments)
            except OwnPace:
                raise
            except RateLimited:
                continue  # the bucket has learned it

    async def _read(
        self, team: str, method: str, rank: Rank, patience: float | None, arguments: dict[str, Any]
    ) -> Payload:
        bucket = self._limits.bucket(method, team)
        caller = Caller(person="", thread=f"{team} {arguments.get('channel', '')}")
        async with self._limits.pacer.call(bucket, caller, rank, patience=patience):
            return await self.calls.read(team, method, **arguments)
