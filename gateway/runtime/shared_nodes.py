"""A node among the others of its store."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from gateway.base.metrics import Metrics
from gateway.content.attachments import MISSING
from gateway.conversation import LOCAL
from gateway.runtime.lifecycle import RECOVERY, repeat
from gateway.runtime.node_load import NodeLoad
from gateway.runtime.settings import Limits
from gateway.sessions.dispatcher import LocalDispatcher
from gateway.sessions.event_bus import LocalBus
from gateway.sessions.job_dispatcher import JobDispatcher
from gateway.sessions.lanes import Lanes
from gateway.sessions.nodes import OneNode, Word
from gateway.sessions.signals import Signals, read_signal
from gateway.store.jobs import JobSearch
from gateway.store.protocols import SessionStore, SupportsNodes
from gateway.store.units import lanes as lane_units
from gateway.store.units import nodes

LOG = logging.getLogger("gateway")

DEAD_EVERY = 1.0
"""Seconds between two looks for nodes that are gone."""
HEAL_EVERY = 2.0
"""Seconds between two looks for lanes without a node."""
OTHER_CONFIG = (
    "This node takes no threads, since the other nodes have another config. Put the same one on "
    "all, then run `parley reload`."
)
ALL_WORK = 5
"""Each so many of them, work without a job is looked for, too."""
FOLLOW_EVERY = 0.5
"""Seconds between two looks at turns of other nodes that somebody watches here."""
SHARES_EVERY = 1.0
"""Seconds between two looks at what this node holds of budgets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeParts:
    """Parts of a node, and what it is told."""

    store: SessionStore
    boot: str
    platforms: tuple[str, ...]
    bus: LocalBus
    sessions: Lanes
    vitals: Metrics
    gone: Callable[[str], None]
    """Drops what there is of a deleted thread."""
    tell_shares: Callable[[], Awaitable[None]]
    """Tells what this node holds of budgets."""
    proposed: Callable[[], None]
    """Is told that a node proposes a reload."""


def turn_order(parts: NodeParts, limits: Limits) -> tuple[LocalDispatcher, OneNode | SharedNodes]:
    """The order of turns, for one process or for many nodes."""
    store, parallel, crowds = parts.store, limits.parallel_turns, limits.crowd_turns
    if not isinstance(store, SupportsNodes):
        return LocalDispatcher(parallel, crowds, tell=parts.sessions.tell_hold), OneNode()

    def search() -> JobSearch:
        return JobSearch(
            boot=parts.boot,
            queues=(f"node {parts.boot}", *sorted({LOCAL, *parts.platforms})),
            words=MISSING,
            quiet=parts.sessions.terms.quiet,
            only=parts.sessions.terms.only,
            group_limits=tuple(dispatcher.group_limits.items()),
        )

    lanes = parts.sessions
    dispatcher = JobDispatcher(
        parallel,
        crowds,
        store,
        search=search,
        take_up=lanes.take_up,
        tell=lanes.tell_hold,
        told=lanes.note_held,
    )
    return dispatcher, SharedNodes(parts, store, dispatcher)


class SharedNodes:
    """This node and the others: leases, signals, and burials."""

    def __init__(self, parts: NodeParts, store: SupportsNodes, dispatcher: JobDispatcher) -> None:
        self._parts = parts
        self._store = store
        self._dispatcher = dispatcher
        self._boot = parts.boot
        self._load = NodeLoad(parts.sessions, dispatcher, parts.vitals)
        self._signals = Signals(parts.boot, store.signal)
        self._rounds = 0
        self._unknown = set[str]()
        """Threads whose turn runs here by the store, and not by the dispatcher."""

    @property
    def alone(self) -> bool:
        """True while there is no other node."""
        return self._store.node_count <= 1

    async def hold(self, lease: str) -> bool:
        """Take a lease; True if this node has it."""
        return self._store.speaks and await self._store.hold(lease, self._boot)

    async def release(self, lease: str) -> None:
        """Leave a lease to other nodes."""
        await self._store.run(nodes.release, lease, self._boot)

    def speaks(self) -> bool:
        """True while no other node can have taken this one's work over."""
        return self._store.speaks

    def tells_for(self, owner: str) -> bool:
        """True if this is the node that holds the lane."""
        return owner == self._boot

    def share(self, thread: str, lasting: bool) -> None:
        """Tell the others that a thread has something new."""
        if not self.alone:
            self._signals.touch(thread, growing=not lasting)

    def tell(self, word: Word, thread: str, about: str = "") -> None:
        """Tell the node that has the thread's turn."""
        if not self.alone:
            self._signals.tell(word, thread, about)

    async def work(self) -> None:
        """Do what the nodes have to do for each other, until cancelled."""
        self._store.tell_figures(self._load.figures)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._dispatcher.feed(), name="node jobs")
            group.create_task(self._store.listen(self._hear), name="node ears")
            group.create_task(self._signals.run(), name="node signals")
            group.create_task(repeat(self._bury, "looking for dead nodes", DEAD_EVERY))
            group.create_task(repeat(self._heal, "healing lanes", HEAL_EVERY))
            following = repeat(self._follow, "following turns of other nodes", FOLLOW_EVERY)
            group.create_task(following)
            tell = self._parts.tell_shares
            group.create_task(repeat(tell, "sharing budgets with nodes", SHARES_EVERY))

    def _hear(self, text: str) -> None:
        if not text:
            self._dispatcher.look()
            return
        touched, told = read_signal(text, self._boot)
        for thread in touched:
            self._parts.bus.touched(thread)
        for word, thread, about in told:
            self._obey(word, thread, about)

    def _obey(self, word: Word, thread: str, about: str) -> None:
        if word == "gone":
            self._parts.gone(thread)
        elif word == "reload":
            self._parts.proposed()
        elif self._parts.sessions.has(thread):
            match word:
                case "stop":
                    self._parts.sessions.stop(thread, about)
                case "steer":
                    self._parts.sessions.steer(thread, about)
                case "revoke":
                    self._parts.sessions.revoke(thread, about)

    async def _bury(self) -> None:
        """Take over from nodes that are gone."""
        dead = await self._store.dead_nodes(self._boot)
        if not dead or not self._store.is_steady:
            return
        for name in await self._store.bury(dead, RECOVERY):
            LOG.warning("the node %s is gone: its work goes on here and on the others", name)
        self._dispatcher.look()
        await self._heal()

    async def _heal(self) -> None:
        self._rounds += 1
        healed = await self._store.heal(
            self._boot,
            self._parts.platforms,
            full=self._dispatcher.full,
            all_work=self._rounds % ALL_WORK == 1,
        )
        self._tell_other_config(healed.takes_lanes)
        for thread in (*healed.adopted, *healed.untold):
            self._parts.bus.touched(thread)
        for turn in healed.turns:
            if turn.stop:
                self._obey("stop", turn.thread, turn.turn)
            if turn.steer:
                self._obey("steer", turn.thread, turn.turn)
        self._run_unknown({turn.thread for turn in healed.turns})
        for thread in self._watched_elsewhere():
            self._parts.bus.touched(thread)

    def _run_unknown(self, here: set[str]) -> None:
        """Run turns that calls without an answer have begun here.

        One whose answer is still on its way is known at the next look.
        """
        unknown = {thread for thread in here if not self._dispatcher.has(thread)}
        for thread in unknown & self._unknown:
            LOG.warning("thread %s: its turn had begun here, and nobody knew", thread)
            self._dispatcher.run(thread)
        self._unknown = unknown

    def _tell_other_config(self, takes_lanes: bool) -> None:
        lacks = self._parts.vitals.lacks
        if not takes_lanes and OTHER_CONFIG not in lacks:
            LOG.warning("%s", OTHER_CONFIG)
            lacks.append(OTHER_CONFIG)
        elif takes_lanes and OTHER_CONFIG in lacks:
            LOG.info("this node takes threads: its config is that of the others")
            lacks.remove(OTHER_CONFIG)

    async def _follow(self) -> None:
        """Let watchers look at growing text of other nodes."""
        if watched := self._watched_elsewhere():
            running = await self._store.run(lane_units.running_elsewhere, self._boot)
            for thread in running.intersection(watched):
                self._parts.bus.touched(thread)

    def _watched_elsewhere(self) -> list[str]:
        """Threads that somebody watches, and that may run on another node."""
        if self.alone:
            return []
        has = self._parts.sessions.has
        return [thread for thread in self._parts.bus.watched if not has(thread)]

    async def drain(self) -> None:
        """Take nothing more, and leave to others what was not begun."""
        await self._store.drain(self._boot)

    async def leave(self) -> None:
        """Leave to others what was begun."""
        await self._store.leave(self._boot)
