"""The shards that this node connects, each by a lease.

A shard has one holder at a time. A node looks for free leases every second, as those of a node that
has died. It takes one after the other, each once the last is connected: so nodes that look together
share them, and one that can't reach Discord has few. The holder stores the state of its shard each
second while anything changes, and when it leaves: who takes the shard over resumes its session
behind the last event that is in the store. A lease that is lost ends the connection.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from adapters.discord.connection.connection import Connection
from adapters.discord.connection.event_queue import EventQueue
from adapters.discord.connection.shard_session import ShardClient
from adapters.discord.connection.shard_state import ShardState, find_state, name_of
from gateway.adapter import AdapterHost
from gateway.base.clock import Clock, WallClock, sleep
from gateway.base.describe import describe
from gateway.errors import GatewayClosed, GatewayError, NodeCutOff, StoreTaken
from gateway.history import Backfill

LOG = logging.getLogger("adapters.discord")

LOOK_SECONDS = 1.0
"""Seconds between two looks at a lease, and between two writes of a shard's state."""
ASK_SECONDS = 5.0
"""Seconds that the store has to say whose a lease is; who is cut off does not wait for it."""
LEAVE_SECONDS = 5.0
CONNECT_SECONDS = 6.0
"""Seconds that a shard has to connect before the next one is taken; new sessions begin five seconds
apart.
"""

LOST = GatewayClosed, NodeCutOff, StoreTaken
"""Errors after which nothing is this node's any more."""


class ShardHolder(Protocol):
    """Does what the holder of a shard does."""

    async def take_over(self) -> None:
        """Know what the earlier holder of a shard has known.

        Raises GatewayError.
        """
        ...

    def make_connection(self, shard: int) -> Connection:
        """The connection of a shard."""
        ...

    async def serve_shard(self, shard: int) -> None:
        """Do what there is to do beside the connection."""
        ...


class Shards:
    """Connects the shards whose leases it can get, until cancelled.

    `account` is its name in [adapters]. `bot` names the bot and its intents: a session with others
    is not resumed.
    """

    def __init__(
        self,
        host: AdapterHost,
        holder: ShardHolder,
        events: EventQueue,
        backfill: Backfill,
        shards: int,
        *,
        bot: str,
        now: Callable[[], float],
        clock: Clock | None = None,
    ) -> None:
        self._host = host
        self._holder = holder
        self._events = events
        self._backfill = backfill
        self._shards = shards
        self._account = backfill.account
        self._bot = bot
        self._now = now
        self._clock = clock or WallClock()
        self._held: dict[int, Connection] = {}
        self._open: set[int] = set()
        self._taking = asyncio.Lock()
        self._newest: int | None = None
        """The shard taken last, until it is connected."""
        self._connected = asyncio.Event()

    @property
    def clients(self) -> Sequence[ShardClient]:
        """The clients of the shards that this node holds."""
        return [found for each in self._held.values() if (found := each.client) is not None]

    @property
    def hears_all(self) -> bool:
        """True if every event of Discord comes to this node."""
        return len(self._held) == self._shards

    @property
    def tells_all(self) -> bool:
        """True if the clients have been told of all servers."""
        return self.hears_all and all(each.tells_all for each in self._held.values())

    def note_connection(self, shard: int, *, is_open: bool) -> None:
        """Note that a shard is connected, or no longer is."""
        (self._open.add if is_open else self._open.discard)(shard)
        if is_open and shard == self._newest:
            self._connected.set()
        self._tell()

    def _tell(self) -> None:
        self._host.health.connection(self._account, is_open=self._held.keys() <= self._open)

    async def run(self) -> None:
        """Connect what this node has the lease of. Raises AuthError."""
        async with asyncio.TaskGroup() as group:
            for shard in range(self._shards):
                group.create_task(self._keep(shard), name=f"keeps shard {shard}")

    async def _keep(self, shard: int) -> None:
        lease = f"{self._account} {name_of(shard, self._shards)}"
        while True:
            if await self._take(shard, lease):
                LOG.info("this node has the lease %r", lease)
                await self._connect(shard, lease)
            self._host.health.heartbeat(self._account)  # who waits for a lease misses nothing
            self._tell()
            await sleep(self._clock, LOOK_SECONDS)

    async def _take(self, shard: int, lease: str) -> bool:
        """Take a free lease, once the last shard is connected."""
        async with self._taking:
            if self._newest is not None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(CONNECT_SECONDS):
                        await self._connected.wait()
                self._newest = None
            if not await self._is_ours(lease, held=False):
                return False
            self._newest = shard
            self._connected.clear()
            return True

    async def _is_ours(self, lease: str, *, held: bool) -> bool:
        """True while this node has a lease; `held` while nobody knows."""
        try:
            self._host.leases.check_speaking()
            async with asyncio.timeout(ASK_SECONDS):
                return await self._host.leases.hold(lease)
        except (GatewayError, TimeoutError) as error:
            level = logging.WARNING if held else logging.DEBUG
            LOG.log(level, "lease %r: %s", lease, describe(error))
            return held and not isinstance(error, LOST)

    async def _connect(self, shard: int, lease: str) -> None:
        """Connect a shard until its lease is lost, or leave it."""
        state = await self._stored(shard)
        if state is None:
            self._connected.set()
            return
        self._events.begin(shard, state)
        connection = self._held[shard] = self._holder.make_connection(shard)
        try:
            async with asyncio.TaskGroup() as group:
                works = (connection.run(state.session), self._holder.serve_shard(shard))
                watches = (self._watch(shard, lease), self._until_cut_off())
                working = [group.create_task(work, name=f"shard {shard}") for work in works]
                watching = [group.create_task(watch, name=lease) for watch in watches]
                await asyncio.wait(watching, return_when=asyncio.FIRST_COMPLETED)
                for task in (*working, *watching):
                    task.cancel()
        except BaseException:
            await self._leave(shard, lease)
            raise
        finally:
            del self._held[shard]
            self._open.discard(shard)
            self._connected.set()
        LOG.warning("this node has lost the lease %r", lease)

    async def _watch(self, shard: int, lease: str) -> None:
        """Store what changes; return once the lease is lost."""
        stored = await self._store(shard, None)
        while True:
            await sleep(self._clock, LOOK_SECONDS)
            if not await self._is_ours(lease, held=True):
                return
            stored = await self._store(shard, stored)

    async def _until_cut_off(self) -> None:
        """Return once this node may not speak."""
        while True:
            try:
                self._host.leases.check_speaking()
            except NodeCutOff:
                return
            await sleep(self._clock, LOOK_SECONDS)

    async def _leave(self, shard: int, lease: str) -> None:
        try:
            async with asyncio.timeout(LEAVE_SECONDS):
                await self._store(shard, None)
                await self._host.leases.release(lease)
        except (GatewayError, TimeoutError) as error:
            LOG.warning("the lease %r was not left to others: %s", lease, describe(error))

    async def _stored(self, shard: int) -> ShardState | None:
        """The state that the last holder left; None if unreadable."""
        try:
            await self._holder.take_over()
            marks = await self._host.marks.read(self._account)
            return find_state(marks, shard, self._shards, self._now(), self._bot)
        except GatewayError as error:
            LOG.warning("could not read the state of shard %s: %s", shard, error)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            LOG.error("the state of shard %s can't be read: %r", shard, error)  # noqa: TRY400 (the text says it all)
            return ShardState(heard=self._now() - self._host.limits.missed.offer)
        return None

    async def _store(self, shard: int, stored: ShardState | None) -> ShardState | None:
        """Store a new state; the one that is stored then."""
        state = self._events.state(shard)
        if state == stored:
            return stored
        try:
            await self._backfill.note((), state.marks(shard, self._shards, self._bot))
        except GatewayError as error:
            LOG.warning("could not store the state of shard %s: %s", shard, error)
            return stored
        return state
