"""Calls to Slack within their methods' limits, in turn."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

from adapters.slack.connection.payload import slack_ids
from adapters.slack.connection.rate_limits import (
    APPEND,
    POST,
    START,
    STOP,
    UPDATE,
    SlackLimits,
)
from adapters.slack.connection.web_api import Calls
from adapters.slack.connection.workspace import Workspace
from adapters.slack.outbound.avatars import avatar_address
from gateway.base.clock import Clock
from gateway.pacing.bucket import Bucket
from gateway.pacing.limits import Caller, Rank
from gateway.render.sanitize import label
from gateway.surface import Place

FLUSH = 0.7
"""Seconds that pass at least between two pieces of a message."""
PATIENCE = 5.0
"""Seconds that a call waits for its token once it is under way."""
CUSTOMIZE = "chat:write.customize"
_RESERVED = frozenset({START, APPEND, STOP, UPDATE, POST})
"""Methods that tokens are taken for ahead of their calls; others are called beside them."""


class PacedCalls:
    """Makes the calls of all places.

    `live_links` gives the hosts whose links are links while a text grows, `own` writes a line of
    the gateway's own as mrkdwn.
    """

    def __init__(
        self,
        calls: Calls,
        limits: SlackLimits,
        clock: Clock,
        live_links: Callable[[], Collection[str]],
        own: Callable[[str], str],
    ) -> None:
        self.calls = calls
        self.limits = limits
        self.clock = clock
        self.live_links = live_links
        self.own = own

    def workspace(self, place: Place) -> Workspace:
        """The place's workspace."""
        team = place.key.workspace
        return self.calls.clients.me(team)

    def named(self, place: Place) -> bool:
        """True if a message may carry its agent's name and icon."""
        return CUSTOMIZE in self.workspace(place).scopes

    def looks(self, place: Place, agent: str) -> dict[str, str]:
        """The arguments that let a message bear its agent's name and picture.

        A picture hides an emoji: docs.slack.dev/reference/methods/chat.postMessage.
        """
        if not agent or not self.named(place):
            return {}
        face = place.faces.face(agent)
        if address := avatar_address(face, self.calls.clients.public_url):
            return {"username": label(face.name, 80), "icon_url": address}
        return {"username": label(face.name, 80), "icon_emoji": f":{face.emoji}:"}

    def asker(self, place: Place) -> tuple[str, str]:
        """The asker's workspace and user id; the bot's own if none."""
        own = self.workspace(place)
        return slack_ids(place.asker) or (own.id, own.user)

    def bucket(self, place: Place, method: str) -> Bucket:
        """The bucket that calls of a method come from."""
        return self.limits.bucket(method, place.key.workspace, place.key.channel)

    def gap(self, place: Place, streams: int) -> float:
        """Seconds between two pieces of one message.

        Short while there are tokens, else a fair share of the rate among `streams` open ones.
        """
        share = streams * 60 / self.limits.limit(APPEND).per_minute
        scarce = 1.0 - min(1.0, 2 * self.bucket(place, APPEND).level)
        return FLUSH + max(0.0, share - FLUSH) * scarce

    async def reserve(self, place: Place, method: str, rank: Rank) -> None:
        """Reserve a token for the next call at this place."""
        bucket = self.bucket(place, method)
        await self.limits.pacer.reserve(bucket, Caller.at(place), rank)

    async def try_reserve(self, place: Place, method: str, *, above: float) -> bool:
        """Reserve a token without waiting for one; False below the level `above`."""
        bucket = self.bucket(place, method)
        return await self.limits.pacer.try_reserve(bucket, Caller.at(place), above=above)

    async def write(
        self,
        place: Place,
        method: str,
        *,
        rank: Rank = Rank.POST,
        patience: float = PATIENCE,
        **arguments: Any,
    ) -> dict[str, Any]:
        """Call a method that takes JSON. Raises what Calls.write does."""
        return await self._call(self.calls.write, place, method, rank, patience, arguments)

    async def write_form(
        self, place: Place, method: str, *, patience: float = PATIENCE, **arguments: Any
    ) -> dict[str, Any]:
        """Call a method that takes no JSON."""
        return await self._call(
            self.calls.write_form, place, method, Rank.URGENT, patience, arguments
        )

    async def read(self, place: Place, method: str, **arguments: Any) -> dict[str, Any]:
        """Look something up."""
        return await self._call(self.calls.read, place, method, Rank.URGENT, PATIENCE, arguments)

    async def _call(
        self,
        call: Callable[..., Awaitable[dict[str, Any]]],
        place: Place,
        method: str,
        rank: Rank,
        patience: float,
        arguments: Mapping[str, Any],
    ) -> dict[str, Any]:
        bucket, caller, pacer = self.bucket(place, method), Caller.at(place), self.limits.pacer
        if method in _RESERVED and not pacer.has_reserved(bucket, caller):
            pacer.release(caller)
        async with pacer.call(bucket, caller, rank, patience=patience):
            return await call(place.key.workspace, method, **arguments)
