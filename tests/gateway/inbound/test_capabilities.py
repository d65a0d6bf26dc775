"""Capabilities of a gateway for adapters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from gateway.access.authority import Access
from gateway.base.clock import ClockTrust
from gateway.base.metrics import Metrics
from gateway.conversation import HistoryLimit, order_key
from gateway.errors import NodeCutOff, NotFound
from gateway.events import MessageFinished
from gateway.inbound.capabilities import HostConversations, HostHealth, HostLeases, HostMarks
from gateway.runtime.settings import ActiveSettings, Limits
from gateway.sessions.event_bus import LocalBus
from gateway.sessions.nodes import OneNode
from gateway.store.decisions import ThreadDeletion
from gateway.store.units import threads
from tests.fakes.hand_clock import HandClock
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import rows_of
from tests.gateway.scripted import ScriptedTeams, solo
from tests.gateway.store.talk import ANN, KEY, begun, end, take


class Store:
    """A store that counts probes."""

    def __init__(self) -> None:
        self.probes = 0

    async def probe(self) -> None:
        self.probes += 1


async def test_what_a_platform_tells_is_in_the_figures() -> None:
    clock, store = HandClock(), Store()
    vitals = Metrics(clock.time)
    trust = ClockTrust(clock.time, clock.time)
    health = HostHealth(vitals, trust, cast("Any", store))
    health.connection("slack", is_open=True)
    health.heartbeat("slack")
    clock.advance(3)
    assert vitals.platforms.frames()["slack"][1] == 3
    assert vitals.platforms.states()["slack"][1] == 3
    health.count_ignored("not addressed")
    health.count_dead_end("told")
    assert (vitals.ignored["not addressed"], vitals.dead_ends["told"]) == (1, 1)
    health.remark("slack", "no permission")
    health.note_strangers("slack", 2)
    assert vitals.platforms.strangers["slack"] == 2
    assert len(vitals.remarks) == 2
    assert trust.holds()
    health.compare_time("slack", clock.time() - 90_000)
    assert not trust.holds()
    await health.probe()
    assert store.probes == 1
    assert await health.node_count("slack") == 1


class Nodes(OneNode):
    """A node that may be cut off, and keeps its leases."""

    def __init__(self) -> None:
        self.leases: list[str] = []
        self.cut_off = False

    async def hold(self, lease: str) -> bool:
        self.leases.append(lease)
        return True

    async def release(self, lease: str) -> None:
        self.leases.remove(lease)

    def speaks(self) -> bool:
        return not self.cut_off


async def test_leases_are_those_of_the_node() -> None:
    nodes = Nodes()
    leases = HostLeases(nodes)
    assert await leases.hold("shard 0")
    assert nodes.leases == ["shard 0"]
    await leases.release("shard 0")
    assert nodes.leases == []
    leases.check_speaking()
    nodes.cut_off = True
    with pytest.raises(NodeCutOff):
        leases.check_speaking()


async def test_marks_are_kept_by_their_names(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    marks = HostMarks(store)
    async with store.own():
        await marks.keep("x", "a", "1")
        await marks.keep("x", "b", "2")
        await marks.keep("x", "a", "3")
        assert await marks.read("x") == {"a": "3", "b": "2"}
        assert await marks.read("x", "b") == {"b": "2"}


async def test_conversations_are_known_by_their_keys(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    using = ActiveSettings(
        teams=ScriptedTeams(lambda: solo("unused")), access=Access([]), limits=Limits(retention=5.0)
    )
    found = HostConversations(store, using, LocalBus(), lambda: 100.0)
    async with store.own():
        assert await found.thread_at(KEY) is None
        work = await begun(store, number="1")
        thread = await found.thread_at(KEY)
        assert thread is not None
        assert thread.id == "t"
        await found.rename_thread("t", "Lunch")
        assert (await store.run(threads.thread, "t")).title == "Lunch"
        said = MessageFinished(thread="t", turn=work.lease.turn, agent="a", message="m", text="Hi")
        await end(store, work, events=(said,))
        await found.rate("t", "m", ANN.id, good=True)
        assert await rows_of(store, "SELECT good FROM feedback") == [(True,)]
        with pytest.raises(NotFound):
            await found.rate("none", "m", ANN.id, good=True)
        assert await found.history_limit(KEY) == HistoryLimit(order_key="", since=95.0)
        await take(store, "/forget", ThreadDeletion(reply=""), thread="new", kind="command")
        assert (await found.history_limit(KEY)).order_key == order_key("1")
        forever = replace(found, using=ActiveSettings(using.teams, using.access, Limits()))
        assert (await forever.history_limit(KEY)).since == 0.0
