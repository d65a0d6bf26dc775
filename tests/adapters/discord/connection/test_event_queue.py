"""Frames of several connections: each keeps its own time of last contact."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator
from typing import Any

import pytest

from adapters.discord.connection import event_queue as events
from adapters.discord.connection import shard_progress
from adapters.discord.connection.event_queue import EventQueue, Handle
from adapters.discord.connection.shard_state import ShardSession, ShardState
from adapters.discord.connection.values import Payload
from gateway.errors import GatewayError

NEAR, FAR = str(2 << 22), str(3 << 22)
"""Servers of the first and of the second shard."""


class Bot:
    """An EventHandler that records events, and takes no messages while `refusing`."""

    def __init__(self) -> None:
        self.refusing = False
        self.read: list[tuple[str, float]] = []
        self.reads_direct = asyncio.Event()
        self.reads_direct.set()

    @property
    def handlers(self) -> dict[str, Handle]:
        return {"MESSAGE_CREATE": self.on_message, "MESSAGE_DELETE": self.on_message}

    async def on_message(self, payload: Payload) -> None:
        if self.refusing:
            raise GatewayError("not now")

    async def on_failure(self, channel: str, since: float) -> None:
        raise GatewayError("not now")

    def on_malformed(self) -> None: ...

    async def on_guild(self, payload: Payload, since: float) -> None:
        self.read.append((payload["id"], since))

    async def on_ready(self, since: float) -> None:
        await self.reads_direct.wait()
        self.read.append(("direct", since))


class WiredBot:
    """Events of two shards, on a clock that the test sets."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self.now, self.bot = 100.0, Bot()
        self.events = EventQueue(self.bot, group, 2, lambda: self.now)
        self.events.begin(0, ShardState(heard=50.0))
        self.events.begin(1, ShardState(heard=60.0))
        self._numbers = [0, 0]

    @property
    def done_until(self) -> tuple[float, ...]:
        """The times until which the shards have handled everything."""
        states = (self.events.state(shard) for shard in (0, 1))
        return tuple(min([each.heard, *each.owed.values()]) for each in states)

    def cancel(self) -> None:
        """End what is tried again."""
        for task in asyncio.all_tasks():
            if task.get_name().startswith("handles "):
                task.cancel()

    def accepted(self, shard: int = 0) -> int:
        """The event from which a shard can be resumed, or 0."""
        session = self.events.state(shard).session
        return session.sequence if session else 0

    async def tell(self, event: str, **data: Any) -> None:
        """A frame comes, and all that it leads to is done."""
        shard = data["shard"][0] if "shard" in data else int(FAR in data.values())
        self._numbers[shard] = 1 if event == "READY" else self._numbers[shard] + 1
        frame = {"op": 0, "t": event, "d": data, "s": self._numbers[shard]}
        self.events.on_frame(shard, json.dumps(frame))
        for _ in range(20):  # turns of the loop, each a step of what it led to
            await asyncio.sleep(0)

    async def connected(self, shard: int) -> None:
        """A shard's connection begins, and tells of its server."""
        await self.ready(shard)
        await self.tell("GUILD_CREATE", id=(NEAR, FAR)[shard], joined_at="")

    async def ready(self, shard: int) -> None:
        guilds = [{"id": (NEAR, FAR)[shard], "unavailable": True}]
        session = {"session_id": f"s{shard}", "resume_gateway_url": "wss://resume"}
        await self.tell("READY", shard=[shard, 2], guilds=guilds, **session)


@pytest.fixture
async def wired(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[WiredBot]:
    monkeypatch.setattr(events, "RETRY_SECONDS", ())
    monkeypatch.setattr(shard_progress, "LATE", math.inf)  # the clock is set by minutes
    async with asyncio.TaskGroup() as group:
        yield WiredBot(group)


async def test_each_shard_reads_from_where_it_had_heard_everything(wired: WiredBot) -> None:
    await wired.ready(0)
    await wired.ready(1)
    await wired.tell("GUILD_CREATE", id=NEAR, joined_at="")
    await wired.tell("GUILD_CREATE", id=FAR, joined_at="")
    assert wired.bot.read == [("direct", 50.0), (NEAR, 50.0), (FAR, 60.0)]


async def test_what_one_shard_has_lost_is_not_forgotten_when_another_begins_anew(
    wired: WiredBot,
) -> None:
    await wired.connected(0)
    await wired.connected(1)
    wired.now, wired.bot.refusing = 200.0, True
    await wired.tell("MESSAGE_CREATE", guild_id=FAR, channel_id="9")
    wired.now, wired.bot.refusing = 300.0, False
    await wired.tell("MESSAGE_CREATE", guild_id=FAR, channel_id="9")
    await wired.tell("MESSAGE_CREATE", guild_id=NEAR, channel_id="8")
    wired.events.on_lost(0)
    await wired.ready(0)
    wired.events.on_lost(1)
    await wired.ready(1)
    assert wired.done_until == (300.0, 200.0)
    wired.bot.read.clear()
    await wired.tell("GUILD_CREATE", id=NEAR, joined_at="")
    await wired.tell("GUILD_CREATE", id=FAR, joined_at="")
    assert wired.bot.read == [(NEAR, 300.0), (FAR, 200.0)]


async def test_while_a_shard_is_told_what_it_missed_only_the_others_hear_what_happens_now(
    wired: WiredBot,
) -> None:
    await wired.connected(0)
    await wired.connected(1)
    wired.events.on_lost(1)
    wired.now = 200.0
    await wired.tell("MESSAGE_CREATE", guild_id=FAR, channel_id="9")
    await wired.tell("MESSAGE_CREATE", guild_id=NEAR, channel_id="8")
    assert wired.done_until == (200.0, 100.0)
    wired.events.on_resumed(1)
    assert wired.done_until == (200.0, 200.0)


async def test_a_server_counts_as_heard_only_once_the_connection_has_told_of_it(
    wired: WiredBot,
) -> None:
    await wired.ready(0)
    wired.now = 200.0
    await wired.tell("MESSAGE_CREATE", guild_id=NEAR, channel_id="8")
    assert wired.done_until[0] == 50.0
    await wired.tell("GUILD_CREATE", id=NEAR, joined_at="")
    assert wired.done_until[0] == 200.0


async def test_an_outage_of_one_server_is_read_from_its_beginning(wired: WiredBot) -> None:
    await wired.connected(0)
    wired.now = 200.0
    await wired.tell("GUILD_DELETE", id=NEAR, unavailable=True, guild_id=NEAR)
    wired.now = 300.0
    await wired.tell("MESSAGE_CREATE", channel_id="8")
    await wired.tell("GUILD_CREATE", id=NEAR, joined_at="")
    assert wired.bot.read[-1] == (NEAR, 200.0)


async def test_nothing_is_missed_in_a_server_that_the_bot_joins(wired: WiredBot) -> None:
    await wired.connected(0)
    wired.now = 200.0
    new = str(4 << 22)
    await wired.tell("GUILD_CREATE", id=new, joined_at="")
    assert wired.bot.read[-1] == (new, 200.0)


async def test_a_session_is_resumed_before_the_first_event_that_is_not_in_the_store(
    wired: WiredBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "RETRY_SECONDS", (1e9,))
    await wired.connected(0)
    assert wired.events.state(0).session == ShardSession(
        id="s0", address="wss://resume", sequence=2
    )
    wired.bot.refusing = True
    await wired.tell("MESSAGE_CREATE", guild_id=NEAR, channel_id="8")
    wired.bot.refusing = False
    await wired.tell("MESSAGE_CREATE", guild_id=NEAR, channel_id="9")
    await wired.tell("TYPING_START", guild_id=NEAR, channel_id="9")
    assert wired.accepted() == 2
    wired.cancel()


async def test_what_could_not_be_taken_is_sent_again_to_who_resumes(wired: WiredBot) -> None:
    await wired.connected(0)
    wired.bot.refusing = True
    await wired.tell("MESSAGE_CREATE", guild_id=NEAR, channel_id="8")
    wired.bot.refusing = False
    await wired.tell("MESSAGE_CREATE", guild_id=NEAR, channel_id="9")
    assert wired.accepted() == 2


async def test_what_is_ignored_or_malformed_is_not_sent_again(wired: WiredBot) -> None:
    await wired.connected(0)
    await wired.tell("TYPING_START", guild_id=NEAR, channel_id="9")
    await wired.tell("GUILD_CREATE", guild_id=NEAR)
    assert wired.accepted() == 4


@pytest.mark.parametrize("text", ["[" * 200_000, "{", "[]", '{"op": "x"}', '{"op": 0, "s": []}'])
async def test_no_frame_ends_the_connection(wired: WiredBot, text: str) -> None:
    await wired.connected(0)
    wired.events.on_frame(0, text)
    await wired.tell("TYPING_START", guild_id=NEAR, channel_id="9")
    assert wired.accepted() == 3


async def test_a_new_session_counts_anew(wired: WiredBot) -> None:
    await wired.connected(0)
    wired.bot.refusing = True
    await wired.tell("MESSAGE_CREATE", guild_id=NEAR, channel_id="8")
    await wired.ready(0)
    assert (wired.accepted(), wired.accepted(1)) == (1, 0)


async def test_what_is_owed_of_a_server_is_left_to_the_next_holder(wired: WiredBot) -> None:
    await wired.connected(0)
    wired.now = 200.0
    await wired.tell("GUILD_DELETE", id=NEAR, unavailable=True, guild_id=NEAR)
    left = wired.events.state(0)
    wired.events.begin(0, left)
    wired.now = 300.0
    wired.events.on_resumed(0)
    await wired.tell("GUILD_CREATE", id=NEAR, joined_at="")
    assert wired.bot.read[-1] == (NEAR, 200.0)


async def test_a_session_can_be_resumed_while_direct_messages_are_looked_at(
    wired: WiredBot,
) -> None:
    wired.bot.reads_direct.clear()
    await wired.connected(0)
    wired.now = 200.0
    await wired.tell("TYPING_START", guild_id=NEAR, channel_id="9")
    left = wired.events.state(0)
    assert (wired.accepted(), wired.done_until[0]) == (3, 50.0)
    wired.cancel()
    wired.bot.reads_direct.set()
    wired.events.begin(0, left)
    for _ in range(2):  # the next holder looks at them, once
        wired.events.on_resumed(0)
    await wired.tell("TYPING_START", guild_id=NEAR, channel_id="9")
    assert wired.bot.read == [(NEAR, 50.0), ("direct", 50.0)]
    assert wired.done_until[0] == 200.0


@pytest.mark.parametrize("goes_on", [True, False])
async def test_frames_that_waited_say_nothing_of_when_they_are_read(
    wired: WiredBot, monkeypatch: pytest.MonkeyPatch, goes_on: bool
) -> None:
    monkeypatch.setattr(shard_progress, "LATE", 60.0)
    await wired.connected(0)
    wired.now = 4000.0  # the process stood still, and the connection may have ended meanwhile
    for _ in range(3):
        await wired.tell("TYPING_START", channel_id="8")
        wired.now += 1.0
    assert wired.done_until[0] == 100.0
    if goes_on:
        wired.now += 30.0
        await wired.tell("TYPING_START", channel_id="8")
        assert wired.done_until[0] == wired.now
    else:
        wired.events.on_lost(0)
        await wired.connected(0)
        assert wired.bot.read[-1] == (NEAR, 100.0)
        assert wired.done_until[0] == wired.now
