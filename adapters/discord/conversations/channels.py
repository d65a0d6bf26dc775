"""Channels' kinds, and the channel that a thread belongs to."""

from __future__ import annotations

from collections.abc import Callable

from adapters.discord.bounded_cache import BoundedCache
from adapters.discord.connection.rest import Rest
from adapters.discord.connection.values import Channel, parse_channel
from adapters.discord.conversations.threads import MessageTarget, MessageTargets
from gateway.conversation import ConversationKey

KNOWN_SECONDS = 600.0


class Channels:
    """Channels from events, from the connection's cache, or asked for."""

    def __init__(self, rest: Rest, cached: Callable[[str], Channel | None]) -> None:
        self._rest = rest
        self._cached = cached
        self._known = BoundedCache[Channel](10_000)

    async def get(self, channel: str) -> Channel:
        """A channel. Raises what a call raises."""
        if cached := self._cached(channel):
            return cached
        if known := self._known.get(channel, KNOWN_SECONDS):
            return known
        found = parse_channel(await self._rest.call("GET", f"/channels/{channel}"))
        self.learn(found)
        return found

    def learn(self, channel: Channel) -> None:
        """Note a channel that an event tells of."""
        self._known.put(channel.id, channel)

    def name(self, channel: str) -> str:
        """Its name as far as it is known already."""
        known = self._cached(channel) or self._known.get(channel)
        return known.name if known else ""


async def find_conversation(
    channels: Channels, targets: MessageTargets, channel: str, guild: str, root: str
) -> tuple[ConversationKey, bool]:
    """The conversation of a message in a channel; True for a thread.

    `root` is the message that a conversation outside threads hangs on. Raises the errors of calls.
    """
    if not guild:
        return targets.key("", channel), False
    found = await channels.get(channel)
    if not found.is_thread:
        return targets.key(guild, channel, targets.root_of(root)), False
    await targets.look_up_root(channel)
    key = targets.key_of_thread(guild, found.parent, channel)
    targets.set_target(key, MessageTarget(channel, thread=True))
    return key, True
