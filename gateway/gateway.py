"""The gateway: stores messages, runs each thread's team, and serves surfaces.

    async with Gateway(SqliteStore(folder), teams) as gateway:
        receipt = await gateway.accept(message)
        async for event in gateway.client.events(receipt.thread): ...

Entering it makes this process the store's owner, and goes on with what an earlier process left.
Leaving it lets turns reach a safe point and keeps the rest for the next.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial
from types import TracebackType
from typing import Self

from gateway.access.authority import Access
from gateway.adapter import Tokens
from gateway.backfill.work_list import WorkList
from gateway.base.clock import ClockTrust, steadily
from gateway.base.metrics import Metrics
from gateway.base.version import parley_version
from gateway.budgets.ledger import Ledger
from gateway.budgets.shares import BudgetShares
from gateway.client import CommandInfo
from gateway.delivery.homes import Homes
from gateway.delivery.host import HostDelivery
from gateway.delivery.service import delivering
from gateway.errors import GatewayError
from gateway.history import PlatformHistory, Said
from gateway.inbound.capabilities import (
    HostConversations,
    HostHealth,
    HostLeases,
    HostMarks,
)
from gateway.inbound.commands import command_infos, parse_command
from gateway.inbound.intake import Intake
from gateway.inbound.local_operator import LocalOperator
from gateway.inbound.rulings import Rulings
from gateway.registry import TeamSource
from gateway.runtime.lifecycle import GatewayParts, Lifecycle
from gateway.runtime.operator_status import OperatorStatus
from gateway.runtime.settings import ActiveSettings, Limits
from gateway.runtime.shared_nodes import NodeParts, turn_order
from gateway.runtime.shared_rates import SharedRates
from gateway.sessions.event_bus import LocalBus
from gateway.sessions.lanes import Lanes
from gateway.store.ids import new_id
from gateway.store.nodes import ANY_PLATFORM, Node
from gateway.store.protocols import SessionStore, SupportsNodes
from gateway.store.shares import BudgetShare, ShareQuery
from gateway.store.units import inbox as inbox_units
from gateway.store.units import shares
from gateway.store.units import usage as usage_units
from gateway.surface import TextSurface


class Gateway:
    """Sessions of people with teams, on one store.

    `access` says who may write and answer; without one only operators may. `clock` is the time of
    day; `steady` never jumps, and shows when the clock does. Raises StoreError when it is entered
    and the store can't be owned; every method raises GatewayClosed before and after that.
    """

    def __init__(
        self,
        store: SessionStore,
        teams: TeamSource,
        *,
        access: Access | None = None,
        limits: Limits | None = None,
        tokens: Tokens | None = None,
        platforms: Collection[str] = (ANY_PLATFORM,),
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = steadily,
    ) -> None:
        self._store = store
        self._tokens = tokens
        access, limits = access or Access(), limits or Limits()
        self._using = using = ActiveSettings(teams, access, limits, serves=bool(platforms))
        self._clock = clock
        trust = self._trust = ClockTrust(clock, steady)
        self._boot = new_id()
        self._platforms = tuple(sorted(platforms))
        self._bus = LocalBus(
            self._share, elsewhere=isinstance(store, SupportsNodes), runs_here=self._runs_here
        )
        self.vitals = Metrics()
        """Its vital figures."""
        store.watch_commits(self.vitals.commit.observe)
        self.reload_proposed = asyncio.Event()
        """Set when another node proposes a reload."""
        self._rates = SharedRates(store, self._has_others)
        self._ledger = Ledger(
            partial(store.run, usage_units.spent),
            budgets=using.limits.budgets,
            prices=using.limits.prices,
            exempt=lambda author: using.access.operators.include(author),
            clock=trust.believed,
            vitals=self.vitals,
            zone=using.limits.timezone,
            shares=BudgetShares(self._draw_shares, self._has_others),
        )
        self._sessions = Lanes(
            store,
            self._bus,
            teams,
            boot=self._boot,
            vitals=self.vitals,
            ledger=self._ledger,
            terms=using.terms(trust.now, self._has_others),
            speaks=self._speaks,
        )
        node = NodeParts(
            store=store,
            boot=self._boot,
            platforms=self._platforms,
            bus=self._bus,
            sessions=self._sessions,
            vitals=self.vitals,
            gone=self._gone,
            tell_shares=self._ledger.tell_shares,
            proposed=self.reload_proposed.set,
        )
        self._dispatcher, self._nodes = turn_order(node, using.limits)
        self._sessions.dispatcher = self._dispatcher
        parts = GatewayParts(
            store=store,
            bus=self._bus,
            dispatcher=self._dispatcher,
            sessions=self._sessions,
            nodes=self._nodes,
            using=using,
            trust=trust,
            clock=clock,
            vitals=self.vitals,
        )
        self._life = life = Lifecycle(parts, boot=self._boot)
        self._status = OperatorStatus(parts, life, boot=self._boot)
        intake = Intake(parts, life=life, ledger=self._ledger, vitals=self.vitals)
        rulings = Rulings(parts, life)
        self.client = LocalOperator(parts, life, intake, self._ledger, self._status)
        """The view of the person at its terminal, who is its operator."""
        self.delivery = HostDelivery(parts)
        """The view of delivery."""
        self.homes = Homes(parts, rulings.judge)
        """People's own pages on platforms."""
        # What adapters see of it beside the methods below: see `gateway.adapter.AdapterHost`.
        self.conversations = HostConversations(store, using, self._bus, clock)
        self.marks = HostMarks(store)
        self.files = intake
        self.leases = HostLeases(self._nodes)
        self.health = HostHealth(self.vitals, trust, store)
        self.accept = intake.take
        self.accept_missed = intake.take_missed
        self.judge = rulings.judge
        self.open_form = rulings.open_form
        self.shared_rate = self._rates.rate
        self._stack = AsyncExitStack()
        self._work = AsyncExitStack()

    @property
    def has_others(self) -> bool:
        """True while other nodes serve the same store."""
        return not self._nodes.alone

    def _has_others(self) -> bool:
        return self.has_others

    async def _draw_shares(self, queries: Sequence[ShareQuery]) -> Sequence[BudgetShare]:
        return await self._store.run(shares.draw_shares, self._boot, queries)

    def _gone(self, thread: str) -> None:
        self._life.gone(thread)

    def _share(self, thread: str, lasting: bool) -> None:
        self._nodes.share(thread, lasting)

    def _runs_here(self, thread: str) -> bool:
        return self._sessions.has(thread)

    def _speaks(self) -> bool:
        return self._nodes.speaks()

    @property
    def boot(self) -> str:
        """An id of this run of the gateway, new at each start."""
        return self._boot

    @property
    def store(self) -> SessionStore:
        """The store; for reading."""
        return self._store

    @property
    def trust(self) -> ClockTrust:
        """Trust in the clock."""
        return self._trust

    @property
    def policy(self) -> Access:
        """The rules of who is heard where."""
        return self._using.access

    @property
    def limits(self) -> Limits:
        """The bounds in use."""
        return self._using.limits

    @property
    def tokens(self) -> Tokens:
        """The tokens that platforms gave to Parley."""
        if self._tokens is None:
            raise GatewayError("This gateway does not keep tokens of platforms.")
        return self._tokens

    def commands(self) -> list[CommandInfo]:
        """The commands that people can type."""
        return command_infos()

    def is_command(self, text: str) -> bool:
        """True if a message with this text is a command."""
        return parse_command(text) is not None

    async def known_keys(self, keys: Collection[str]) -> frozenset[str]:
        """Those of these dedupe keys whose messages were taken, or deleted."""
        return await self._store.run(inbox_units.accepted_keys, keys)

    def backfill(self, history: PlatformHistory[Said]) -> WorkList[Said]:
        """The reader of an account's missed messages."""
        return WorkList(self, history)

    def delivering(self, surface: TextSurface) -> AbstractAsyncContextManager[None]:
        """Write all threads of the surface's platform, within the context."""
        return delivering(self.delivery, surface, homes=self.homes)

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            node = Node(boot=self._boot, version=parley_version(), platforms=self._platforms)
            await stack.enter_async_context(self._store.own(node))
            self._status.begin()
            await self._life.recover()
            self._life.is_open = True
            await self._life.review()
            stack.push_async_callback(self.close)
            self._work.callback(self._bus.close)
            self._work.push_async_callback(self._rates.close)
            self._work.push_async_callback(self._sessions.close_retired)
            self._work.push_async_callback(self._sessions.close_teams)
            # The gateway may be entered by one task and left by another (a terminal's callbacks),
            # so its lanes hang on a task of their own, which `shut_down` ends.
            lanes = asyncio.get_running_loop().create_task(self._life.work(), name="gateway lanes")
            self._work.push_async_callback(self._life.shut_down, lanes)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._stack.__aexit__(kind, error, traceback)

    async def close(self) -> None:
        """Let turns reach a safe point and end the events of watchers.

        The store stays this process's own until the gateway is left, which closes it first.
        """
        await self._work.aclose()

    def hurry(self) -> None:
        """End without waiting for safe points; turns resume from their last one."""
        self._life.hurry.set()

    def check_open(self) -> None:
        """Raises GatewayClosed unless it was entered and does not end."""
        self._life.check_open()

    async def reconfigure(self, teams: TeamSource, *, access: Access, limits: Limits) -> None:
        """Use this configuration from now on.

        A running turn goes on with its team. The earlier teams are closed once none of them runs
        any more.
        """
        self._life.check_open()
        access.own_bots = self._using.access.own_bots  # adapters introduce them once
        self._using.teams, self._using.access, self._using.limits = teams, access, limits
        self._dispatcher.limit = limits.parallel_turns
        self._dispatcher.group_limits = limits.crowd_turns
        self._ledger.use(limits.budgets, limits.prices, limits.timezone)
        await self._sessions.use(teams, self._using.terms(self._trust.now, self._has_others))
        await self._life.review()

    def propose_reload(self) -> None:
        """Tell the other nodes that this one proposes a reload."""
        self._nodes.tell("reload", "")
