"""A node among the others of its store."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.base.metrics import Metrics
from gateway.runtime.settings import Limits
from gateway.runtime.shared_nodes import NodeParts, SharedNodes, turn_order
from gateway.sessions.dispatcher import LocalDispatcher
from gateway.sessions.event_bus import LocalBus
from gateway.sessions.job_dispatcher import JobDispatcher
from gateway.sessions.nodes import OneNode
from gateway.sessions.turn_settings import TurnSettings
from gateway.store.nodes import Healed
from gateway.store.postgres.database import Database
from gateway.store.postgres.store import PostgresStore
from gateway.store.sqlite.store import SqliteStore


@dataclass
class Store:
    """A store with other nodes, which hear what is told."""

    node_count: int = 2
    speaks: bool = True
    is_steady: bool = True
    calls: list[str] = field(default_factory=list)
    signals: list[Any] = field(default_factory=list)
    signalled: asyncio.Event = field(default_factory=asyncio.Event)
    hear: Callable[[str], None] | None = None
    listening: asyncio.Event = field(default_factory=asyncio.Event)

    async def hold(self, name: str, boot: str) -> bool:
        self.calls.append(f"hold {name} {boot}")
        return True

    async def run(self, unit: Any, *args: Any) -> frozenset[str]:
        self.calls.append(" ".join([unit.__name__, *args]))
        return frozenset()

    async def signal(self, text: str) -> None:
        self.signals.append(json.loads(text))
        self.signalled.set()

    async def drain(self, boot: str) -> None:
        self.calls.append(f"drain {boot}")

    async def leave(self, boot: str) -> None:
        self.calls.append(f"leave {boot}")

    def tell_figures(self, figures: Any) -> None:
        self.calls.append("figures")

    async def listen(self, hear: Callable[[str], None]) -> None:
        self.hear = hear
        self.listening.set()
        await asyncio.Event().wait()

    async def dead_nodes(self, boot: str) -> Sequence[str]:
        return ()

    async def heal(self, boot: str, platforms: Any, **more: Any) -> Healed:
        return Healed(adopted=(), untold=(), turns=())


@dataclass
class Dispatcher:
    """A dispatcher that looks for jobs when it is told to."""

    full: bool = False
    looks: int = 0

    def look(self) -> None:
        self.looks += 1

    async def feed(self) -> None:
        await asyncio.Event().wait()


@dataclass
class Scene:
    """A node, and what it tells."""

    nodes: SharedNodes
    store: Store
    dispatcher: Dispatcher
    gone: list[str]


def parts(store: Any, gone: list[str]) -> NodeParts:
    async def tell_shares() -> None:
        pass

    lanes = SimpleNamespace(
        terms=TurnSettings(), has=lambda thread: False, tell_hold=None, note_held=None, take_up=None
    )
    return NodeParts(
        store=store,
        boot="me",
        platforms=("slack",),
        bus=LocalBus(),
        sessions=cast("Any", lanes),
        vitals=Metrics(),
        gone=gone.append,
        tell_shares=tell_shares,
        proposed=lambda: None,
    )


@pytest.fixture
def scene() -> Scene:
    store, dispatcher, gone = Store(), Dispatcher(), list[str]()
    nodes = SharedNodes(parts(store, gone), cast("Any", store), cast("Any", dispatcher))
    return Scene(nodes, store, dispatcher, gone)


def test_a_store_decides_on_the_order_of_turns(tmp_path: Path) -> None:
    dispatcher, node = turn_order(parts(SqliteStore(tmp_path), []), Limits(parallel_turns=3))
    assert type(dispatcher) is LocalDispatcher
    assert dispatcher.limit == 3
    assert isinstance(node, OneNode)
    database = PostgresStore(Database(url="postgresql://db.example/threads"), tmp_path)
    dispatcher, node = turn_order(parts(database, []), Limits(parallel_turns=3))
    assert isinstance(dispatcher, JobDispatcher)
    assert isinstance(node, SharedNodes)


async def test_leases_and_lanes_are_those_of_the_store(scene: Scene) -> None:
    nodes, store = scene.nodes, scene.store
    assert await nodes.hold("shard 0")
    await nodes.release("shard 0")
    await nodes.drain()
    await nodes.leave()
    assert store.calls == ["hold shard 0 me", "release shard 0 me", "drain me", "leave me"]
    assert (nodes.tells_for("me"), nodes.tells_for("other")) == (True, False)
    assert (nodes.speaks(), nodes.alone) == (True, False)
    store.speaks, store.node_count = False, 1
    assert (nodes.speaks(), nodes.alone) == (False, True)
    assert not await nodes.hold("shard 0")


async def test_nodes_tell_each_other_what_happens(scene: Scene) -> None:
    async with asyncio.timeout(5):
        work = asyncio.ensure_future(scene.nodes.work())
        await scene.store.listening.wait()
        scene.nodes.share("t", lasting=True)
        scene.nodes.tell("stop", "t", "turn")
        await scene.store.signalled.wait()
        [sent] = scene.store.signals
        assert sent == {"from": "me", "touched": ["t"], "told": [["stop", "t", "turn"]]}
        assert scene.store.hear is not None
        scene.store.hear("")
        assert scene.dispatcher.looks == 1
        scene.store.hear(json.dumps({"from": "other", "touched": [], "told": [["gone", "t", ""]]}))
        assert scene.gone == ["t"]
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
    assert "figures" in scene.store.calls
