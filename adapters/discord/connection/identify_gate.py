"""Limits of new sessions, kept over all nodes.

Discord lets each bucket of shards (`shard % max_concurrency`) begin one session in five seconds,
and a bot a number of them in a day: a bot that begins more loses its token. So who begins one has
a lease of its bucket for these seconds.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from adapters.discord.connection.rest import Rest
from gateway.adapter import AdapterHost, AuthError
from gateway.base.clock import Clock, WallClock, sleep
from gateway.errors import GatewayClosed, GatewayError, StoreTaken

LOG = logging.getLogger("adapters.discord")

BUCKET_SECONDS = 5.25
"""Seconds between two sessions of a bucket, with some for the way."""
LOOK_AGAIN = 1.0
LONGEST_WAIT = 60.0
COUNT_SECONDS = 600.0
"""Seconds between two looks at the sessions that are left."""
LEFT = "sessions left"
"""Mark of the sessions that are left by what this store's nodes have begun, and until when."""


@dataclass(frozen=True, slots=True)
class SessionLimit:
    """Sessions that may begin at a time, and those left today.

    There are more in `reset` seconds.
    """

    concurrency: int = 1
    remaining: int = 1
    reset: float = 0.0


class IdentifyGate:
    """Lets shards begin new sessions in turn.

    `start_task` runs what nobody waits for.
    """

    def __init__(
        self,
        host: AdapterHost,
        rest: Rest,
        start_task: Callable[[Coroutine[Any, Any, None], str], None],
        clock: Clock | None = None,
    ) -> None:
        self._host = host
        self._rest = rest
        self._start_task = start_task
        self._clock = clock or WallClock()
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def wait(self, shard: int) -> None:
        """Return when a shard may identify. Raises AuthError."""
        limit = await self._limit()
        while limit.remaining <= 0:
            LOG.error("Discord lets the bot begin no new session for %.0f s", limit.reset)
            await sleep(self._clock, min(max(limit.reset, LOOK_AGAIN), LONGEST_WAIT))
            limit = await self._limit()
        bucket = f"{self._rest.account} identify {shard % limit.concurrency} of {limit.concurrency}"
        lock = self._locks[bucket]
        await lock.acquire()
        try:
            while not await self._hold(bucket):
                await sleep(self._clock, LOOK_AGAIN)
            await self._compare(limit, begins=1)
        except BaseException:
            lock.release()
            raise
        self._start_task(self._release_later(bucket, lock), "leaves the bucket to the next shard")

    async def watch(self) -> None:
        """Notice sessions of the bot that no node has begun."""
        while True:
            await sleep(self._clock, COUNT_SECONDS)
            await self._compare(await self._limit())

    async def _compare(self, limit: SessionLimit, begins: int = 0) -> None:
        """Compare the sessions left with those that nodes have left.

        The limit was asked for before: what a node begins meanwhile is no stranger's. Of a bot that
        begins several at a time nothing is known.
        """
        account, now = self._rest.account, self._clock.time()
        if limit.concurrency > 1 or not limit.reset:
            return
        try:
            mark = (await self._host.marks.read(account, LEFT)).get(LEFT, "0 0")
            left, until = map(float, mark.split())
            ends = now + limit.reset
            found = max(0, int(left) - limit.remaining) if now < until else 0
            self._host.health.note_strangers(account, found)
            await self._host.marks.keep(account, LEFT, f"{limit.remaining - begins} {ends:.0f}")
        except GatewayError as error:
            LOG.info("the sessions that are left were not compared: %s", error)

    async def _hold(self, bucket: str) -> bool:
        try:
            return await self._host.leases.hold(bucket)
        except GatewayError as error:
            LOG.warning("could not ask for the lease %r: %s", bucket, error)
            return False

    async def _release_later(self, bucket: str, lock: asyncio.Lock) -> None:
        try:
            await sleep(self._clock, BUCKET_SECONDS)
            while not await self._release(bucket):
                await sleep(self._clock, LOOK_AGAIN)
        finally:
            lock.release()

    async def _release(self, bucket: str) -> bool:
        try:
            await self._host.leases.release(bucket)
        except (GatewayClosed, StoreTaken):
            return True  # it is another node's by now
        except GatewayError as error:
            LOG.warning("could not leave the lease %r to others: %s", bucket, error)
            return False
        return True

    async def _limit(self) -> SessionLimit:
        """The limit now. Raises AuthError."""
        try:
            found = (await self._rest.call("GET", "/gateway/bot"))["session_start_limit"]
            return SessionLimit(
                max(int(found["max_concurrency"]), 1),
                int(found["remaining"]),
                float(found["reset_after"]) / 1000,
            )
        except AuthError:
            raise
        except (GatewayError, KeyError, TypeError, ValueError) as error:
            LOG.warning("could not ask Discord for the limit of sessions: %r", error)
            return SessionLimit()
