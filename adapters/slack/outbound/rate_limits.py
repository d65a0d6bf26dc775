"""Calls within Slack's rate limits: token buckets by method and workspace.

New messages have one for each channel. Tokens go round among people, then among a person's threads.

The rates are those of https://docs.slack.dev/apis/web-api/rate-limits and of the methods' pages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from adapters.slack.config import PLATFORM
from adapters.slack.connection.payload import slack_ids
from adapters.slack.connection.web_api import Calls
from adapters.slack.connection.workspace import Workspace
from adapters.slack.outbound.shared_tokens import SharedTokens
from adapters.slack.outbound.token_bucket import Bucket, Caller, Rate
from gateway.base.clock import Clock, sleep
from gateway.rates import RateLimit, SharedRate
from gateway.surface import OwnPace, Place, RateLimited

FLUSH = 0.7
"""Seconds that pass at least between two pieces of a message."""
PATIENCE = 5.0
"""Seconds that a call waits for its token once it is under way."""
ASKING = 1.0
"""Seconds that the tokens of all nodes may take to be asked for, whatever a call's patience."""
CUSTOMIZE = "chat:write.customize"


def _tier(per_minute: int, *, burst: float = 0.9, reserve: float = 0.0) -> Rate:
    # A little below what Slack says: its clock is not ours, and calls are not as long under way.
    return Rate(per_minute=per_minute * 0.95, burst=per_minute * burst, reserve=reserve)


START = "chat.startStream"
APPEND = "chat.appendStream"
STOP = "chat.stopStream"
UPDATE = "chat.update"
POST = "chat.postMessage"
DELETE = "chat.delete"
REPLIES = "conversations.replies"
HISTORY = "conversations.history"

RATES: Mapping[str, Rate] = {
    START: _tier(20),
    APPEND: _tier(100, burst=0.5),
    STOP: _tier(20, reserve=8),
    UPDATE: _tier(50, reserve=15),
    POST: Rate(per_minute=57, burst=3, per_channel=True),
    REPLIES: _tier(50),
    HISTORY: _tier(50),
}
OTHERS = _tier(50)
_RESERVED = frozenset({START, APPEND, STOP, UPDATE, POST})
"""Methods that tokens are taken for ahead of their calls; others are called beside them."""


class Pacer:
    """All buckets of an app.

    `pace` multiplies the rates; `shared` gives those that an `account` keeps with other nodes.
    """

    def __init__(
        self,
        clock: Clock,
        rates: Mapping[str, Rate] = RATES,
        shared: Callable[[RateLimit], SharedRate] | None = None,
        *,
        pace: float = 1.0,
        account: str = PLATFORM,
    ) -> None:
        self._clock = clock
        self._account = account
        self._rates = {method: rate.times(pace) for method, rate in rates.items()}
        self._others = OTHERS.times(pace)
        self._shared = shared
        self._buckets: dict[tuple[str, str, str], Bucket] = {}

    def bucket(self, method: str, caller: Caller) -> Bucket:
        """The bucket that this caller's calls of a method come from."""
        rate = self._rates.get(method, self._others)
        name = (method, caller.team, caller.channel if rate.per_channel else "")
        found = self._buckets.get(name)
        if found is None:
            tokens = self._shared_tokens(" ".join(name), rate)
            found = self._buckets[name] = Bucket(rate, self._clock, tokens)
        return found

    def _shared_tokens(self, name: str, rate: Rate) -> SharedTokens | None:
        if self._shared is None:
            return None
        name = f"{self._account} {name}"
        limit = RateLimit(name=name, per_minute=rate.per_minute, burst=rate.burst)
        return SharedTokens(self._shared(limit), limit, self._clock)

    async def acquire(
        self, method: str, caller: Caller, *, urgent: bool = False, patience: float | None = None
    ) -> None:
        """Wait until this caller may call the method once.

        Raises OwnPace if that is not so within `patience` seconds.
        """
        bucket = self.bucket(method, caller)
        if patience is None:
            await bucket.acquire(caller, urgent=urgent)
            return
        if bucket.reopens() > patience:
            raise OwnPace(bucket.reopens())
        if bucket.is_shared:
            patience = max(patience, ASKING)
        async with asyncio.TaskGroup() as group:
            taking = group.create_task(bucket.acquire(caller, urgent=urgent), name="slack token")
            late = group.create_task(sleep(self._clock, patience), name="slack patience")
            await asyncio.wait([taking, late], return_when=asyncio.FIRST_COMPLETED)
            done = taking.done()
            taking.cancel()
            late.cancel()
        if not done:
            raise OwnPace(max(1.0, bucket.reopens()))

    def gap(self, caller: Caller, streams: int) -> float:
        """Seconds between two pieces of one message.

        Short while there are tokens, else a fair share of the rate among `streams` open ones.
        """
        bucket = self.bucket(APPEND, caller)
        share = streams * 60 / self._rates[APPEND].per_minute
        scarce = 1.0 - min(1.0, 2 * bucket.level)
        return FLUSH + max(0.0, share - FLUSH) * scarce


@dataclass(frozen=True, slots=True)
class _Permit:
    """A token reserved for the next call."""

    method: str
    caller: Caller


class PacedCalls:
    """Makes the calls of all places.

    `live_links` gives the hosts whose links are links while a text grows, `own` writes a line of
    the gateway's own as mrkdwn.
    """

    def __init__(
        self,
        calls: Calls,
        pacer: Pacer,
        clock: Clock,
        live_links: Callable[[], Collection[str]],
        own: Callable[[str], str],
    ) -> None:
        self.calls = calls
        self.pacer = pacer
        self.clock = clock
        self.live_links = live_links
        self.own = own
        self._permits: dict[str, _Permit] = {}

    def workspace(self, place: Place) -> Workspace:
        """The place's workspace."""
        team = place.key.workspace
        return self.calls.clients.me(team)

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
        if self._is_reserved(place, method):
            return
        self._release(place)
        caller = self.caller(place)
        await self.pacer.acquire(method, caller, urgent=urgent)
        self._permits[str(place.key)] = _Permit(method, caller)

    async def try_reserve(self, place: Place, method: str, *, above: float) -> bool:
        """Reserve a token without waiting for one; False below the level `above`."""
        if self._is_reserved(place, method):
            return True
        caller = self.caller(place)
        if not await self.pacer.bucket(method, caller).take(above):
            return False
        self._release(place)
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
        return await self._call(place, method, self.calls.write, arguments)

    async def write_form(
        self, place: Place, method: str, *, patience: float = PATIENCE, **arguments: Any
    ) -> dict[str, Any]:
        """Call a method that takes no JSON."""
        await self._spend_token(place, method, urgent=True, patience=patience)
        return await self._call(place, method, self.calls.write_form, arguments)

    async def read(self, place: Place, method: str, **arguments: Any) -> dict[str, Any]:
        """Look something up."""
        await self._spend_token(place, method, urgent=True)
        return await self._call(place, method, self.calls.read, arguments)

    async def _call(
        self,
        place: Place,
        method: str,
        call: Callable[..., Awaitable[dict[str, Any]]],
        arguments: Mapping[str, Any],
    ) -> dict[str, Any]:
        try:
            return await call(place.key.workspace, method, **arguments)
        except RateLimited as error:
            self.pacer.bucket(method, self.caller(place)).close(error.retry_after)
            raise

    async def _spend_token(
        self, place: Place, method: str, *, urgent: bool, patience: float = PATIENCE
    ) -> None:
        if self._is_reserved(place, method):
            del self._permits[str(place.key)]
            return
        if method in _RESERVED:
            self._release(place)
        caller = self.caller(place)
        await self.pacer.acquire(method, caller, urgent=urgent, patience=patience)

    def _is_reserved(self, place: Place, method: str) -> bool:
        permit = self._permits.get(str(place.key))
        return permit is not None and permit.method == method

    def _release(self, place: Place) -> None:
        held = self._permits.pop(str(place.key), None)
        if held is not None:
            self.pacer.bucket(held.method, held.caller).refund()
