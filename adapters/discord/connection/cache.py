"""Servers, channels and roles, told by connections or asked for.

A session that began on another node tells of no server from its beginning, nor does a shard of
another node; what is needed of such a server is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any

from discord.enums import ChannelType

from adapters.bounded_cache import BoundedCache
from adapters.discord.connection.rest import Rest
from adapters.discord.connection.values import BotIdentity, Channel, Payload, parse_channel

if TYPE_CHECKING:
    from adapters.discord.connection.shards import Shards

KNOWN_SECONDS = 300.0
CHANNEL_SECONDS = 600.0
MOST_SERVERS = 200
"""Servers that Discord names at a time."""


class Cache:
    """Looks into what discord.py keeps, and into what was asked for."""

    def __init__(self, shards: Callable[[], Shards], rest: Rest, me: BotIdentity) -> None:
        self._shards = shards
        self._me = me
        self._rest = rest
        self._asked = BoundedCache[str, str](1_000)
        """The bot's own role in servers that were asked for."""
        self._roles = BoundedCache[str, str](20_000)
        self._channels = BoundedCache[str, Channel](10_000)
        self._joined = BoundedCache[str, Sequence[str]](1)

    def _guild(self, guild: str) -> Any:
        """The server as a connection has told of it."""
        if guild:
            for client in self._shards().clients:
                if (found := client.get_guild(int(guild))) is not None and not found.unavailable:
                    return found
        return None

    async def guilds(self) -> Iterable[str]:
        """The servers that the bot is in, as far as is known.

        Raises the errors of calls.
        """
        shards = self._shards()
        told = [str(guild.id) for client in shards.clients for guild in client.guilds]
        if shards.tells_all:
            return told
        joined = self._joined.get("", KNOWN_SECONDS)
        if not joined:
            query = {"limit": str(MOST_SERVERS)}
            found = await self._rest.call("GET", "/users/@me/guilds", query=query)
            joined = [str(each["id"]) for each in found]
            self._joined.put("", joined)
        return dict.fromkeys([*joined, *told])

    async def learn(self, guild: str) -> None:
        """Ask for a server of which no connection has told.

        Raises the errors of calls.
        """
        fresh = self._asked.get(guild, KNOWN_SECONDS) is not None
        if not guild or fresh or self._guild(guild) is not None:
            return
        found: Payload = await self._rest.call("GET", f"/guilds/{guild}")
        channels: Sequence[Payload] = await self._rest.call("GET", f"/guilds/{guild}/channels")
        own = ""
        for role in found["roles"]:
            self._roles.put(str(role["id"]), str(role["name"]))
            if str((role.get("tags") or {}).get("bot_id", "")) == self._me.user:
                own = str(role["id"])
        self._asked.put(guild, own)
        for each in channels:
            self.learn_channel(parse_channel(each, guild))

    async def me_known(self, guild: str) -> BotIdentity:
        """The bot in a server, which is asked for if need be."""
        await self.learn(guild)
        return self.me_in(guild)

    def me_in(self, guild: str) -> BotIdentity:
        """The bot with its own role in a server, if any."""
        if (found := self._guild(guild)) is not None:
            own = str(found.self_role.id) if found.self_role else ""
        else:
            own = self._asked.get(guild)
        return replace(self._me, roles=frozenset({own})) if own else self._me

    async def channel(self, channel: str) -> Channel:
        """A channel, asked for if need be. Raises the errors of calls."""
        known = self._known_channel(channel, CHANNEL_SECONDS)
        if known is None:
            known = parse_channel(await self._rest.call("GET", f"/channels/{channel}"))
            self.learn_channel(known)
        return known

    def learn_channel(self, channel: Channel) -> None:
        """Note a channel that an event tells of."""
        self._channels.put(channel.id, channel)

    def channel_name(self, channel: str) -> str:
        """A channel's name, as far as it is known already."""
        known = self._known_channel(channel)
        return known.name if known else ""

    def _known_channel(self, channel: str, within: float = inf) -> Channel | None:
        found = self._told_channel(channel)
        guild = getattr(found, "guild", None)
        if guild is None:
            return self._channels.get(channel, within)
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
        found = self._told_channel(channel)
        me = getattr(getattr(found, "guild", None), "me", None)
        if me is None:
            return True
        allowed = found.permissions_for(me)
        return bool(allowed.view_channel and allowed.read_message_history)

    def sees(self, channel: str, user: str, roles: Collection[str]) -> bool:
        """True if everybody sees a channel, without a rule against them."""
        told = self._told_channel(channel)
        found = getattr(told, "parent", None) or told
        if getattr(found, "guild", None) is None or told.type is ChannelType.private_thread:
            return False
        everybody = found.permissions_for(found.guild.default_role)
        denied = (
            False in (rule.view_channel, rule.read_message_history)
            for of, rule in found.overwrites.items()
            if str(of.id) in (user, *roles)
        )
        return everybody.view_channel and everybody.read_message_history and not any(denied)

    def refusal(self, channel: str, wanted: Mapping[str, int]) -> str:
        """The place of a refused call, and what the bot lacks there."""
        found = self._told_channel(channel)
        me = getattr(getattr(found, "guild", None), "me", None)
        if me is None:
            return f" in channel {channel}"
        allowed = found.permissions_for(me).value
        lacking = ", ".join(name for name, bit in wanted.items() if not allowed & bit)
        name = (getattr(found, "parent", None) or found).name  # people's words name a thread
        return f" in #{name}{f', where the bot lacks {lacking}' if lacking else ''}"

    def _told_channel(self, channel: str) -> Any:
        for client in self._shards().clients:
            if (found := client.get_channel(int(channel))) is not None:
                return found
        return None

    def role(self, role: str) -> str:
        """A role's name, "" for an unknown one."""
        for client in self._shards().clients:
            for guild in client.guilds:
                if found := guild.get_role(int(role)):
                    return found.name
        return self._roles.get(role) or ""
