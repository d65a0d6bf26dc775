"""Gateway sessions: their events, and the form each may see."""

from __future__ import annotations

import json
import secrets
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Protocol

from adapters.discord.simulator.errors import Json
from adapters.discord.simulator.intents import Intent
from adapters.discord.simulator.model import Guild, Message, User
from adapters.discord.simulator.world import Event

KEPT_EVENTS = 1000
RESUMABLE_FOR = 120.0
"""Seconds that a session outlives its connection."""

DISPATCH, HEARTBEAT, IDENTIFY, RESUME, RECONNECT = 0, 1, 2, 6, 7
REQUEST_MEMBERS, INVALID_SESSION, HELLO, ACK = 8, 9, 10, 11

BLANKED: Json = {"content": "", "embeds": [], "attachments": [], "components": []}


class FrameSink(Protocol):
    """A connection that frames can be sent on, without waiting."""

    def send(self, frame: Json) -> None:
        """Send a frame."""
        ...


@dataclass(slots=True, eq=False)
class Session:
    """One client's share of events: numbered, and kept for a resume."""

    intents: int
    bot: User
    shard: tuple[int, int] = (0, 1)
    id: str = field(default_factory=lambda: secrets.token_hex(16))
    sequence: int = 0
    kept: deque[tuple[int, Json]] = field(
        default_factory=lambda: deque[tuple[int, Json]](maxlen=KEPT_EVENTS)
    )
    dropped: int = 0
    """The last event that is no longer kept."""
    connection: FrameSink | None = None
    lost_at: float | None = None
    resumes: int = 0

    def receives(self, event: Event) -> bool:
        """True if this session receives the event."""
        if event.bot not in (None, self.bot):
            return False
        if event.guild and shard_of(event.guild, self.shard[1]) != self.shard[0]:
            return False
        if event.guild is None and self.shard[0] != 0:
            return False
        if event.intent == Intent.MEMBERS and event.data["user"]["id"] == str(self.bot.id):
            return True
        return not event.intent or bool(self.intents & event.intent)

    def dispatch(self, name: str, data: Any) -> Json:
        """Number an event and keep it."""
        self.sequence += 1
        if len(self.kept) == KEPT_EVENTS:
            self.dropped = self.kept[0][0]
        frame: Json = {"op": DISPATCH, "t": name, "s": self.sequence, "d": data}
        self.kept.append((self.sequence, frame))
        return frame

    def greet(self, name: str, data: Any) -> Json:
        """Number an event of this connection alone, which no resume repeats."""
        frame = self.dispatch(name, data)
        self.kept.pop()
        return frame

    def visible_data(self, event: Event) -> Json:
        """The event's data as this session may see them."""
        message = event.message
        if message is None or self.intents & Intent.CONTENT or can_read(message, self.bot):
            return event.data
        return {**event.data, **BLANKED}

    def events_after(self, sequence: int) -> list[Json] | None:
        """Frames after `sequence`; None if some are no longer kept."""
        if sequence < self.dropped:
            return None
        return [frame for number, frame in self.kept if number > sequence]

    def can_resume(self, now: float) -> bool:
        """True while a client may still resume the session."""
        return self.lost_at is None or now - self.lost_at <= RESUMABLE_FOR


def can_read(message: Message, bot: User) -> bool:
    """True if the application sees the text without the intent."""
    return (
        message.channel.guild is None
        or message.author is bot
        or bot in message.pings
        or message.webhook_id == bot.id
    )


def shard_of(guild: Guild, shards: int) -> int:
    """Which of the shards a guild belongs to."""
    return (guild.id >> 22) % shards


def encode_frame(frame: Json) -> str:
    """A frame as text."""
    return json.dumps(frame, separators=(",", ":"))
