"""Limits of new sessions, kept over all nodes.

Discord lets each bucket of shards (`shard % max_concurrency`) begin one session in five seconds,
and a bot a number of them in a day: a bot that begins more loses its token.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from adapters.discord.connection import rate_limits
from adapters.discord.connection.rest import Rest
from gateway.adapter import AdapterHost, AuthError
from gateway.base.clock import Clock, WallClock, sleep
from gateway.errors import GatewayError
from gateway.pacing.limits import Caller, Rank

LOG = logging.getLogger("adapters.discord")

LOOK_AGAIN = 1.0
LONGEST_WAIT = 60.0
COUNT_SECONDS = 600.0
"""Seconds between two looks at the sessions that are left."""
DAY = 86_400.0
"""Seconds until there are more, where none has begun yet."""
LEFT = "sessions left"
"""Mark of the sessions that are left by what this store's nodes have begun, until when that holds,
and when they have begun the last.
"""


@dataclass(frozen=True, slots=True)
class SessionLimit:
    """Sessions that may begin at a time, and those left today.

    There are more in `reset` seconds.
    """

    concurrency: int = 1
    remaining: int = 1
    reset: float = 0.0


class IdentifyGate:
    """Lets shards begin new sessions in turn."""

    def __init__(self, host: AdapterHost, rest: Rest, clock: Clock | None = None) -> None:
        self._host = host
        self._rest = rest
        self._clock = clock or WallClock()

    async def wait(self, shard: int) -> None:
        """Return when a shard may identify. Raises AuthError."""
        limit = await self._limit()
        while limit.remaining <= 0:
            LOG.error("Discord lets the bot begin no new session for %.0f s", limit.reset)
            await sleep(self._clock, min(max(limit.reset, LOOK_AGAIN), LONGEST_WAIT))
            limit = await self._limit()
        name = f"{self._rest.account} identify {shard % limit.concurrency} of {limit.concurrency}"
        bucket = self._rest.buckets.pacer.bucket(name, rate_limits.SESSIONS)
        await bucket.acquire(Caller(person="", thread=str(shard)), Rank.URGENT)
        await self._compare(limit, begins=1)

    async def watch(self) -> None:
        """Notice sessions of the bot that no node has begun."""
        while True:
            await sleep(self._clock, COUNT_SECONDS)
            await self._compare(await self._limit())

    async def _compare(self, limit: SessionLimit, begins: int = 0) -> None:
        """Compare the sessions left with those that nodes have left.

        The limit was asked for before: what nodes begin meanwhile, or have not quite begun, is no
        stranger's. Of a bot that begins several at a time nothing is known.
        """
        account, now = self._rest.account, self._clock.time()
        if limit.concurrency > 1 or not limit.reset:
            return
        try:
            mark = (await self._host.marks.read(account, LEFT)).get(LEFT, "0 0")
            left, until, *last = map(float, mark.split())
            known, begun = now < until, sum(last)
            found = max(0, int(left) - limit.remaining) if known else 0
            self._host.health.note_strangers(account, found)
            recent = known and now - begun < COUNT_SECONDS / 2
            now_left = min(int(left), limit.remaining) if recent else limit.remaining
            begun = now if begins else begun
            kept = f"{now_left - begins} {now + limit.reset:.0f} {begun:.0f}"
            await self._host.marks.keep(account, LEFT, kept)
        except GatewayError as error:
            LOG.info("the sessions that are left were not compared: %s", error)

    async def _limit(self) -> SessionLimit:
        """The limit now. Raises AuthError."""
        try:
            found = (await self._rest.call("GET", "/gateway/bot"))["session_start_limit"]
            return SessionLimit(
                max(int(found["max_concurrency"]), 1),
                int(found["remaining"]),
                min(float(found["reset_after"]) / 1000 or DAY, DAY),
            )
        except AuthError:
            raise
        except (GatewayError, KeyError, TypeError, ValueError, OverflowError) as error:
            LOG.warning("could not ask Discord for the limit of sessions: %r", error)
            return SessionLimit()
