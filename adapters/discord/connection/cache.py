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

    def tells_of(self, guild: str) -> bool:
        """True if a server is known; "" is for direct messages."""
        client = self._connection.client
        found = client.get_guild(int(guild)) if client and guild else None
        return not guild or (found is not None and not found.unavailable)

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

    def may_read(self, channel: str) -> bool:
        """False where the bot may not read what was said.

        Discord bans who is refused too often.
        """
        client = self._connection.client
        found: Any = client.get_channel(int(channel)) if client else None
        me = getattr(getattr(found, "guild", None), "me", None)
        if me is None:
            return True
        allowed = found.permissions_for(me)
        return bool(allowed.view_channel and allowed.read_message_history)

    def role(self, role: str) -> str:
        """A role's name, "" for an unknown one."""
        client = self._connection.client
        for guild in client.guilds if client else ():
            if found := guild.get_role(int(role)):
                return found.name
        return ""
