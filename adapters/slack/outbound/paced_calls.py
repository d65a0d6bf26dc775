"""Calls for a place, within the rate limits of their methods."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from adapters.slack.connection.payload import slack_ids
from adapters.slack.connection.web_api import Calls
from adapters.slack.connection.workspace import Workspace
from adapters.slack.outbound.rate_limits import APPEND, POST, START, STOP, UPDATE, Caller, Pacer
from adapters.slack.outbound.text import own
from gateway.base.clock import Clock
from gateway.surface import Place, RateLimited

PATIENCE = 5.0
"""Seconds that a call waits for its token once it is under way."""

_HELD = frozenset({START, APPEND, STOP, UPDATE, POST})
"""Methods that tokens are taken for ahead of their calls; others are called beside them."""

CUSTOMIZE = "chat:write.customize"


@dataclass(frozen=True, slots=True)
class _Permit:
    """A token reserved for the next call."""

    method: str
    caller: Caller


class PacedCalls:
    """Makes the calls of all places.

    `live_links` gives the hosts whose links stay links.
    """

    def __init__(
        self, calls: Calls, pacer: Pacer, clock: Clock, live_links: Callable[[], Collection[str]]
    ) -> None:
        self.calls = calls
        self.pacer = pacer
        self.clock = clock
        self.live_links = live_links
        self._permits: dict[str, _Permit] = {}

    def own(self, text: str) -> str:
        """A line of the gateway's own, as mrkdwn."""
        return own(text, self.live_links())

    def workspace(self, place: Place) -> Workspace:
        """The place's workspace."""
        team = place.key.workspace
        return self.calls.clients.workspace(team) or Workspace(id=team)

    def named(self, place: Place) -> bool:
        """True if a message may carry its agent's name and icon."""
        return CUSTOMIZE in self.workspace(place).scopes

    def asker(self, place: Place) -> tuple[str, str]:
        """The asker's workspace and user id; the bot's own if none."""
        own = self.workspace(place)
        return slack_ids(place.asker) or (own.id, own.user)

    def caller(self, place: Place) -> Caller:
        """The caller that shares tokens with others."""
        key = place.key
        return Caller(
            team=key.workspace,
            channel=key.channel,
            thread=str(key),
            person=place.asker or key.user or key.channel,
        )

    async def reserve(self, place: Place, method: str, *, urgent: bool = False) -> None:
        """Reserve a token for the next call at this place."""
        held = self._permits.get(str(place.key))
        if held is not None and held.method == method:
            return
        self._release(place)
        caller = self.caller(place)
        await self.pacer.acquire(method, caller, urgent=urgent)
        self._permits[str(place.key)] = _Permit(method, caller)

    def try_reserve(self, place: Place, method: str, *, above: float) -> bool:
        """Reserve a token without waiting; False below the level `above`."""
        held = self._permits.get(str(place.key))
        if held is not None and held.method == method:
            return True
        caller = self.caller(place)
        bucket = self.pacer.bucket(method, caller)
        if bucket.level < above:
            return False
        self._release(place)
        bucket.spend()
        self._permits[str(place.key)] = _Permit(method, caller)
        return True

    async def write(
        self,
        place: Place,
        method: str,
        *,
        urgent: bool = False,
        patience: float = PATIENCE,
        **arguments: Any,
    ) -> dict[str, Any]:
        """Call a method that takes JSON. Raises what Calls.write does."""
        await self._spend_token(place, method, urgent=urgent, patience=patience)
        try:
            return await self.calls.write(place.key.workspace, method, **arguments)
        except RateLimited as error:
            self._close(place, method, error)
            raise

    async def write_form(
        self, place: Place, method: str, *, patience: float = PATIENCE, **arguments: Any
    ) -> dict[str, Any]:
        """Call a method that takes no JSON."""
        await self._spend_token(place, method, urgent=True, patience=patience)
        try:
            return await self.calls.write_form(place.key.workspace, method, **arguments)
        except RateLimited as error:
            self._close(place, method, error)
            raise

    async def read(self, place: Place, method: str, **arguments: Any) -> dict[str, Any]:
        """Look something up."""
        await self._spend_token(place, method, urgent=True)
        try:
            return await self.calls.read(place.key.workspace, method, **arguments)
        except RateLimited as error:
            self._close(place, method, error)
            raise

    async def _spend_token(
        self, place: Place, method: str, *, urgent: bool, patience: float = PATIENCE
    ) -> None:
        held = self._permits.get(str(place.key))
        if held is not None and held.method == method:
            del self._permits[str(place.key)]
            return
        if method in _HELD:
            self._release(place)
        caller = self.caller(place)
        await self.pacer.acquire(method, caller, urgent=urgent, patience=patience)

    def _release(self, place: Place) -> None:
        held = self._permits.pop(str(place.key), None)
        if held is not None:
            self.pacer.bucket(held.method, held.caller).refund()

    def _close(self, place: Place, method: str, error: RateLimited) -> None:
        self.pacer.bucket(method, self.caller(place)).close(error.retry_after)
