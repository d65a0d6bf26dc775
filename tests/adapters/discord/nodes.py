"""Nodes on one store, with their leases in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from adapters.discord.adapter import DiscordAdapter
from adapters.discord.testing import DiscordSimulator
from gateway.access.authority import Access
from gateway.backfill.work_list import WorkList
from gateway.client import Receipt
from gateway.config.routes import Route
from gateway.conversation import ConversationKey, InboundMessage
from gateway.errors import GatewayClosed, NodeCutOff
from gateway.gateway import Gateway
from gateway.history import Backfill, PlatformHistory
from gateway.missed import Gap
from gateway.surface import TextSurface
from tests.adapters.discord.serving import EVERYWHERE, config_of
from tests.fakes.new_store import new_store
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.tested_store import rows_in
from tests.gateway.scripted import ScriptedTeams, solo


class NodeBackfill(WorkList[Any]):
    """One node's work list."""

    def __init__(self, node: Node, history: PlatformHistory[Any]) -> None:
        host: Any = node
        super().__init__(host, history)
        self._node = node

    async def note(self, gaps: Sequence[Gap], marks: Mapping[str, str] | None = None) -> None:
        """Write gaps and marks, unless the process is gone."""
        self._node.check()
        await super().note(gaps, marks)


class Node:
    """One node's AdapterHost on a gateway that all nodes share.

    `dead`: its process is gone: it writes nothing, and holds nothing. `cut_off`: it hears nothing
    of its database. While `closed`, a message that comes waits before it is stored.
    """

    def __init__(self, gateway: Gateway, leases: dict[str, Node]) -> None:
        self._gateway = gateway
        self._leases = leases
        self.dead = self.cut_off = False
        self.door = asyncio.Event()
        self.door.set()
        self.answers = asyncio.Event()
        self.answers.set()
        self.asked = False
        """True while a question for a lease waits for its answer."""
        self.came: list[str] = []
        self.is_open: bool | None = None
        self.running: asyncio.Task[None] | None = None

    def __getattr__(self, name: str) -> Any:
        health = self._gateway.health
        return getattr(health if hasattr(health, name) else self._gateway, name)

    def check(self) -> None:
        if self.dead:
            raise GatewayClosed("This process is gone.")

    @property
    def leases(self) -> Self:
        """Leases of all nodes."""
        return self

    marks = health = leases

    async def hold(self, lease: str) -> bool:
        """Take a lease that nobody living holds."""
        self.check()
        self.asked = not self.answers.is_set()
        await self.answers.wait()
        holder = self._leases.get(lease)
        if holder is None or holder.dead:
            holder = self._leases[lease] = self
        return holder is self

    async def release(self, lease: str) -> None:
        """Leave a lease."""
        if self._leases.get(lease) is self:
            del self._leases[lease]

    def check_speaking(self) -> None:
        """Refuse while cut off."""
        if self.cut_off:
            raise NodeCutOff

    async def accept(self, message: InboundMessage) -> Receipt:
        """Store a message once the door is open."""
        self.came.append(message.text)
        await self.door.wait()
        self.check()
        return await self._gateway.accept(message)

    async def read(self, platform: str, name: str = "") -> Mapping[str, str]:
        """The marks of a platform."""
        return await self._gateway.marks.read(platform, name)

    async def keep(
        self, platform: str, name: str, value: str, *, of: ConversationKey | None = None
    ) -> None:
        """Write a mark, unless the process is gone."""
        self.check()
        await self._gateway.marks.keep(platform, name, value, of=of)

    def backfill(self, history: PlatformHistory[Any]) -> Backfill:
        """Read what was missed with this host."""
        return NodeBackfill(self, history)

    def connection(self, adapter: str, *, is_open: bool) -> None:
        """Remember what the adapter says of its connection."""
        self.is_open = is_open

    def delivering(self, surface: TextSurface) -> AbstractAsyncContextManager[None]:
        """Deliver nothing: these tests are about what comes in."""
        return nullcontext()

    @property
    def shards(self) -> list[str]:
        """The shards whose leases this node has."""
        return sorted(
            lease for lease, holder in self._leases.items() if holder is self and "shard" in lease
        )


@dataclass
class Cluster:
    """Nodes that serve one Discord."""

    discord: DiscordSimulator
    gateway: Gateway
    group: asyncio.TaskGroup
    folder: Path
    settings: dict[str, Any]
    leases: dict[str, Node] = field(default_factory=dict[str, Node])
    nodes: list[Node] = field(default_factory=list[Node])

    def start(self, *leases: str, **settings: Any) -> Node:
        """Start a node, which has these leases from its beginning."""
        node = Node(self.gateway, self.leases)
        self.leases |= dict.fromkeys(leases, node)
        host: Any = node
        adapter = DiscordAdapter(config_of(self.discord, **self.settings | settings))
        node.running = self.group.create_task(adapter.run(host), name="a node")
        self.nodes.append(node)
        return node

    async def connect(self, *, sessions: int = 1) -> Node:
        """Start a node, and wait until it is connected."""
        node = self.start()
        await self.discord.until(lambda: len(self.discord.gateway.open_sessions) == sessions)
        await self.discord.until(lambda: node.is_open)
        return node

    def kill(self, node: Node) -> None:
        """End a node without a goodbye.

        Its sockets break, and it writes nothing any more.
        """
        assert node.running is not None
        node.dead = True
        self.discord.gateway.abort()
        node.running.cancel()

    async def drain(self, node: Node) -> None:
        """End a node in order."""
        assert node.running is not None
        node.running.cancel()
        await asyncio.wait([node.running])

    async def stored(self, messages: int) -> None:
        """Wait until so many messages are in the store."""
        await self.until(lambda: len(self.messages()) >= messages)

    def messages(self) -> list[str]:
        """Texts of all stored messages, in the order of acceptance."""
        return [str(text) for (text,) in rows_in(self.folder, "SELECT text FROM inbox ORDER BY id")]

    async def until(self, condition: Callable[[], Any]) -> None:
        """Wait until something is so."""
        await self.discord.until(condition)


@asynccontextmanager
async def cluster(
    discord: DiscordSimulator,
    folder: Path,
    *,
    routes: Sequence[Route] = (EVERYWHERE,),
    **settings: Any,
) -> AsyncGenerator[Cluster]:
    """A gateway for nodes; all of them end with the block."""
    model = ScriptedModel(*[f"Answer {n}." for n in range(100)])
    teams = ScriptedTeams(lambda: solo(model))
    async with (
        Gateway(new_store(folder), teams, access=Access((), routes=routes)) as gateway,
        asyncio.TaskGroup() as group,
    ):
        found = Cluster(discord, gateway, group, folder, settings)
        try:
            yield found
        finally:
            for node in found.nodes:
                if node.running is not None:
                    node.running.cancel()
