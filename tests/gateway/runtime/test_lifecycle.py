"""Lifecycle of a gateway, from recovery to the orderly end."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import time
from typing import Any, cast

import pytest

from gateway.access.authority import Access
from gateway.app.stores import AnyStore
from gateway.base.clock import ClockTrust
from gateway.base.metrics import Metrics
from gateway.errors import GatewayClosed, StoreFull
from gateway.runtime.lifecycle import GatewayParts, Lifecycle, doubt_words, loss_sentence, repeat
from gateway.runtime.settings import ActiveSettings, Limits
from gateway.sessions.event_bus import LocalBus
from gateway.sessions.nodes import OneNode
from gateway.store.records import StoreLoss
from gateway.store.turn_records import TurnUpdate
from gateway.store.units import events, search_index
from tests.fakes.new_store import new_store
from tests.gateway.scripted import ScriptedTeams, solo
from tests.gateway.store.talk import approval, begun, end, take

LOSS = StoreLoss(cause="restored", since=0.0, until=5.0)


def test_a_loss_is_told_to_people_and_to_the_operator() -> None:
    words = doubt_words(LOSS, "UTC")
    assert words.notice.startswith("Parley was restored from a copy of its beginning.")
    assert (words.command, words.label) == ("/retry", "Continue")
    damaged = replace(LOSS, cause="damaged", since=60.0, commits=3)
    assert "after 1970-01-01 00:01 UTC is lost" in doubt_words(damaged, "UTC").notice
    assert loss_sentence(damaged, "UTC").startswith("3 commits are missing after 1970")


async def test_housekeeping_goes_on_after_an_error() -> None:
    tries: list[int] = []

    async def work() -> None:
        tries.append(1)
        match len(tries):
            case 1:
                raise StoreFull
            case 2:
                raise KeyError
            case 3:
                raise asyncio.CancelledError
            case _:
                pass

    with pytest.raises(asyncio.CancelledError):
        await repeat(work, "tidying up", 0.0)
    assert len(tries) == 3


@dataclass
class Dispatcher:
    """A dispatcher that notes what it is to run."""

    woken: list[str] = field(default_factory=list)
    served: asyncio.Event = field(default_factory=asyncio.Event)
    rested: bool = False

    def wake(self, thread: str, **more: Any) -> None:
        self.woken.append(thread)

    async def serve(self, drain: Any) -> None:
        self.served.set()
        await asyncio.Event().wait()

    async def rest(self) -> None:
        self.rested = True


class Closing:
    """Closes nothing."""

    async def run(self) -> None:
        await asyncio.Event().wait()


@dataclass
class Sessions:
    """Lanes that note what becomes of them."""

    told: list[str] = field(default_factory=list)
    closing: Closing = field(default_factory=Closing)
    titler: Closing = field(default_factory=Closing)

    def drain(self, thread: str) -> None:
        pass

    def pause(self) -> None:
        self.told.append("pause")

    def evict(self, idle: float) -> None:
        self.told.append("evict")

    def forget(self, thread: str) -> None:
        self.told.append(f"forget {thread}")


class Nodes(OneNode):
    """A node that notes that it leaves."""

    def __init__(self) -> None:
        self.told: list[str] = []

    async def drain(self) -> None:
        self.told.append("drain")

    async def leave(self) -> None:
        self.told.append("leave")


@dataclass
class Scene:
    """A lifecycle on a store, with what it tells."""

    life: Lifecycle
    dispatcher: Dispatcher
    sessions: Sessions
    nodes: Nodes
    bus: LocalBus


def scene(store: AnyStore, **teams: Any) -> Scene:
    dispatcher, sessions, nodes, bus = Dispatcher(), Sessions(), Nodes(), LocalBus()
    source = ScriptedTeams(lambda: solo("unused"), **teams)
    parts = GatewayParts(
        store=store,
        bus=bus,
        dispatcher=cast("Any", dispatcher),
        sessions=cast("Any", sessions),
        nodes=nodes,
        using=ActiveSettings(teams=source, access=Access([]), limits=Limits(shutdown=1.0)),
        trust=ClockTrust(time),
        clock=time,
        vitals=Metrics(),
    )
    return Scene(Lifecycle(parts, boot="boot"), dispatcher, sessions, nodes, bus)


async def test_what_an_earlier_process_left_goes_on(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    async with store.own():
        await begun(store)
    async with store.own():
        found = scene(store)
        await found.life.recover()
        assert found.dispatcher.woken == ["t"]


async def test_questions_of_a_team_that_begins_anew_are_withdrawn(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    async with store.own():
        work = await begun(store)
        await store.record(work.lease, TurnUpdate(requests=(approval(work),)))
        await end(store, work, "waiting")
        await store.write(lambda it: it.execute("UPDATE threads SET participants = '[\"gone\"]'"))
        await scene(store).life.review()
        assert (await store.run(events.request, "r1")).state == "closed"


async def test_a_gateway_is_open_only_between_its_beginning_and_its_end(tmp_path: Path) -> None:
    life = scene(new_store(tmp_path)).life
    with pytest.raises(GatewayClosed):
        life.check_open()
    life.is_open = True
    life.check_open()


async def test_texts_are_indexed_and_unused_things_let_go_of(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    async with store.own():
        await take(store, "Pizza?")
        found = scene(store)
        await found.life.index()
        assert not await store.run(search_index.unindexed)
        await found.life.tidy()
        assert found.sessions.told == ["evict"]
        found.life.gone("t")
        assert found.sessions.told == ["evict", "forget t"]


async def test_lanes_run_until_the_orderly_end(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    async with store.own():
        found = scene(store)
        found.life.is_open = True
        lanes = asyncio.ensure_future(found.life.work())
        async with asyncio.timeout(5):
            await found.dispatcher.served.wait()
        await found.life.shut_down(lanes)
        assert lanes.cancelled()
        assert not found.life.is_open
        assert (found.dispatcher.rested, found.nodes.told) == (True, ["drain", "leave"])
        assert "pause" in found.sessions.told
