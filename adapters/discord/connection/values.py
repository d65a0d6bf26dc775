"""Discord's values that all wings share: people, channels, interactions, ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Payload = Mapping[str, Any]

THREADS = frozenset({10, 11, 12})
"""Discord's types of channels that are threads."""
POSTS = frozenset({15, 16})
"""Those whose threads are posts: forums and galleries."""
PARENTS = POSTS | {0, 5}
"""Those that have threads or posts."""
DISCORD_EPOCH = 1_420_070_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BotIdentity:
    """The bot's ids, and its roles, by which people can mention it."""

    user: str
    application: str
    roles: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """The author of a message.

    `roles` is None if the event omits them. `application` has written it, as a webhook or a bot.
    """

    id: str
    name: str
    bot: bool = False
    application: str = ""
    roles: frozenset[str] | None = None
    guest: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InteractionEvent:
    """The fields of every interaction. `token` is valid for fifteen minutes."""

    id: str
    token: str = field(repr=False)
    application: str
    channel: str
    guild: str
    sender: Sender


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """A channel. `parent` is that of a thread."""

    id: str
    type: int
    guild: str = ""
    parent: str = ""
    name: str = ""
    owner: str = ""

    @property
    def is_thread(self) -> bool:
        """True for a thread or a post in a forum."""
        return self.type in THREADS

    @property
    def has_threads(self) -> bool:
        """True for a channel in which threads can be."""
        return self.type in PARENTS

    @property
    def has_posts(self) -> bool:
        """True for a forum, whose threads have their first message in themselves."""
        return self.type in POSTS


def parse_channel(payload: Payload, guild: str = "") -> Channel:
    """The channel of a payload. Raises KeyError for what is none."""
    return Channel(
        id=str(payload["id"]),
        type=int(payload["type"]),
        guild=str(payload.get("guild_id") or guild),
        parent=str(payload.get("parent_id") or ""),
        name=str(payload.get("name") or ""),
        owner=str(payload.get("owner_id") or ""),
    )


def sent_at(message: str) -> float:
    """The time of a message, in seconds since the epoch."""
    return (int(message) >> 22) / 1000 + DISCORD_EPOCH


def snowflake(at: float) -> int:
    """The least id at a time (seconds since the epoch)."""
    return max(int((at - DISCORD_EPOCH) * 1000), 0) << 22
