"""A thread in the simulated workspace, and its surface."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from adapters.slack.connection.web_api import SlackClients
from adapters.slack.outbound.surface import SlackSurface
from adapters.slack.simulator.state import Message
from adapters.slack.testing import HOME, AppSettings, RenderedMessage, SlackSimulator
from gateway.base.clock import Clock
from gateway.conversation import ConversationKey
from gateway.surface import Activity, ActivityStatus, Content, Part, Place, Speech
from tests.adapters.slack.serving import config_of
from tests.fakes.new_store import is_on_postgres


@dataclass
class Desk:
    slack: SlackSimulator
    surface: SlackSurface
    asked: Message
    place: Place

    clients: SlackClients

    def restarted(self, *, clock: Clock | None = None) -> SlackSurface:
        """The surface of a new process without memory of the last."""
        return surface_of(self.slack, self.clients, clock=clock)

    async def thread(self, person: str = "alice", channel: str = "general") -> Place:
        """One more thread."""
        asked = await self.slack.person(person).asks(channel, "and this?")
        return place_of(self.slack, asked)

    def messages(self, place: Place | None = None) -> list[RenderedMessage]:
        """The bot's messages in the thread."""
        place = place or self.place
        return self.slack.messages(place.key.channel, place.key.root)[1:]

    @property
    def texts(self) -> list[str]:
        return [each.text for each in self.messages()]

    def methods(self) -> list[str]:
        """The calls that write messages, in order."""
        return [
            each.method.removeprefix("chat.")
            for each in self.slack.calls()
            if each.method.startswith("chat.")
        ]


@asynccontextmanager
async def at_desk(
    app: AppSettings | None = None, *, clock: Clock | None = None
) -> AsyncGenerator[Desk]:
    async with SlackSimulator(app, clock=clock) as slack, SlackClients(config_of(slack)) as clients:
        asked = await slack.person("alice").asks("general", "hello")
        surface = surface_of(slack, clients)
        yield Desk(slack, surface, asked, place_of(slack, asked), clients)


def surface_of(
    slack: SlackSimulator, clients: SlackClients, *, clock: Clock | None = None
) -> SlackSurface:
    links = {"docs.example"}
    return SlackSurface(
        clients, live_links=lambda: links, clock=clock or slack.world.clock, call_seconds=2.0
    )


def key_of(thread: Message) -> ConversationKey:
    return ConversationKey(
        platform="slack", workspace=HOME, channel=thread.channel, root=thread.root
    )


def place_of(slack: SlackSimulator, asked: Message) -> Place:
    return Place(key=key_of(asked), thread=f"thread {asked.ts}", asker=f"slack:{HOME}:{asked.user}")


def speech(
    text: str, *, key: str = "k1", growing: bool = True, unsure: bool = False, **more
) -> Part:
    return part(Speech(agent="writer", text=text, growing=growing, **more), key=key, unsure=unsure)


def part(content: Content, *, key: str = "k1", unsure: bool = False) -> Part:
    return Part(key=key, content=content, unsure=unsure)


def tool(
    status: ActivityStatus = "running", *, id: str = "c1", title: str = "search", detail: str = ""
) -> Activity:
    return Activity(id=id, kind="tool", title=title, status=status, detail=detail)


def handoff(target: str = "reviewer") -> Activity:
    title = f"writer handed over to {target}"
    return Activity(id=f"h:{target}", kind="handoff", title=title, after=True)


@asynccontextmanager
async def advancing(slack: SlackSimulator, step: float = 0.1) -> AsyncGenerator[None]:
    """Advance time as fast as the running work allows."""

    # A transaction of PostgreSQL takes longer, in a thread that time does not wait for.
    moment = 0.004 if is_on_postgres() else 0.001

    async def pass_() -> None:
        while True:
            for _ in range(20):
                await asyncio.sleep(0)
            await asyncio.sleep(moment)
            slack.clock.advance(step)

    async with asyncio.TaskGroup() as group:
        going = group.create_task(pass_(), name="time")
        try:
            yield
        finally:
            going.cancel()
