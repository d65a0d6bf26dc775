"""Servers, channels and roles that the connection has told of."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from adapters.discord.connection.values import BotIdentity, Channel

if TYPE_CHECKING:
    from adapters.discord.connection.connection import Connection


class Cache:
    """Looks into what discord.py keeps; empty while there is no connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def guilds(self) -> list[str]:
        """The servers that the bot is in."""
        client = self._connection.client
        return [str(guild.id) for guild in client.guilds] if client else []

    def me_in(self, me: BotIdentity, guild: str) -> BotIdentity:
        """The bot with its own role in a server, if any."""
        client = self._connection.client
        found = client.get_guild(int(guild)) if client and guild else None
        role = found.self_role if found else None
        return me if role is None else replace(me, roles=frozenset({str(role.id)}))

    def channel(self, channel: str) -> Channel | None:
        """A channel of a server, None for one that is not known."""
        client = self._connection.client
        found: Any = client.get_channel(int(channel)) if client else None
        guild = getattr(found, "guild", None)
        if guild is None:
            return None
        return Channel(
            id=channel,
            type=found.type.value,
            guild=str(guild.id),
            parent=str(getattr(found, "parent_id", "") or ""),
            name=found.name,
            owner=str(getattr(found, "owner_id", "") or ""),
        )

    def role(self, role: str) -> str:
        """A role's name, "" for an unknown one."""
        client = self._connection.client
        for guild in client.guilds if client else ():
            if found := guild.get_role(int(role)):
                return found.name
        return ""
