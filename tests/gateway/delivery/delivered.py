"""Shared by delivery tests: a gateway that writes to a scripted platform."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from adapters.slack.simulator.clock import VirtualClock
from gateway.access.authority import Access
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.delivery.service import delivering
from gateway.events import SessionEvent
from gateway.gateway import Gateway
from gateway.store.decisions import NewThread
from gateway.store.units import outbox, rows
from gateway.store.units.events import add_events
from gateway.surface import TextSurface
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import UnitStore, at
from tests.gateway.scripted import ScriptedTeams, solo

ANN = Author(id="scripted:ann", name="Ann")
BOB = Author(id="scripted:bob", name="Bob")
HERE = ConversationKey(platform="scripted", workspace="W", channel="C", root="1")


@asynccontextmanager
async def served(
    folder: Path,
    surface: TextSurface,
    make: Callable[[], Any] | ScriptedTeams = lambda: solo("unused"),
    *,
    access: Access | None = None,
    clock: VirtualClock | None = None,
) -> AsyncGenerator[Gateway]:
    """A gateway on a folder's store, writing to a surface.

    Ann is its operator.
    """
    teams = make if isinstance(make, ScriptedTeams) else ScriptedTeams(make)
    async with (
        Gateway(new_store(folder), teams, access=access or Access([ANN.id])) as gateway,
        delivering(gateway.delivery, surface, clock=clock),
    ):
        yield gateway


async def say(
    gateway: Gateway, text: str, key: ConversationKey = HERE, author: Author = ANN
) -> str:
    """Write to the team; the thread."""
    receipt = await gateway.accept(InboundMessage(key=key, author=author, text=text))
    return receipt.thread


async def all_told(
    gateway: Gateway,
    clock: VirtualClock | None = None,
    step: float = 1.0,
    *,
    platform: str = HERE.platform,
) -> None:
    """Advance time until everything is on the platform, or given up."""
    while await gateway.store.run(outbox.undelivered_threads, platform):
        await asyncio.sleep(0.005)
        if clock is not None:
            clock.advance(step)


class Story:
    """A thread in which what a test says happens, without a team."""

    def __init__(self, gateway: Gateway, thread: str, platform: str = HERE.platform) -> None:
        self.gateway = gateway
        self.thread = thread
        self.platform = platform
        self.turn = "t1"

    @classmethod
    async def begun(cls, gateway: Gateway, key: ConversationKey = HERE) -> "Story":
        new = NewThread(id=f"thread{key.root}", team="demo", definition="1")
        await gateway.store.run(rows.create_thread, new, key=key)
        return cls(gateway, new.id, key.platform)

    async def tell(self, *events: SessionEvent) -> Sequence[SessionEvent]:
        """Let this happen: stored first, shown next; deltas are only shown."""
        stored = [event for event in events if event.kind != "text_delta"]
        store = self.gateway.store
        assert isinstance(store, UnitStore)
        placed = iter(
            await store.write(lambda c: add_events(at(c, 2_000_000.0), self.thread, stored))
        )
        shown = [event if event.kind == "text_delta" else next(placed) for event in events]
        shown = [replace(event, thread=self.thread, turn=self.turn) for event in shown]
        self.gateway._bus.publish(self.thread, shown)
        return shown

    async def told(self) -> None:
        await all_told(self.gateway, platform=self.platform)
