"""A simulated Discord with guilds, people and a record of the application:

    async with DiscordSimulator() as discord:
        general = discord.channel("general")
        alice = discord.person("alice")
        await alice.mentions(general, "hello")
        await discord.until(lambda: len(discord.messages(general)) == 2)

The application reaches it at `api_url` and `gateway_url` with `token`. REST and gateway follow
v10 of Discord's API; limits, faults and the clock are in the caller's hands.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterable, Sequence
from typing import Self, TypeVar

from adapters.discord.simulator import interactions, message_actions, threads
from adapters.discord.simulator.calls import Call
from adapters.discord.simulator.errors import Json
from adapters.discord.simulator.gateway import Gateway
from adapters.discord.simulator.model import (
    Channel,
    ChannelType,
    Guild,
    Interaction,
    Message,
    Role,
    User,
)
from adapters.discord.simulator.permissions import named
from adapters.discord.simulator.rate_limits import RateLimits
from adapters.discord.simulator.server import Server
from adapters.discord.simulator.world import World
from adapters.discord.testing.faults import Faults
from adapters.discord.testing.people import Person

T = TypeVar("T")
LOOK_AGAIN = 0.002
EDIT = "/channels/{channel_id}/messages/{message_id}"


class DiscordSimulator:
    """A Discord with the guild `home`, which the application has joined.

    `beside` another one it is a further application of this `name` in the same guilds.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        token: str = "",
        beside: DiscordSimulator | None = None,
        name: str = "",
    ) -> None:
        self.token = token or f"simulated.{secrets.token_urlsafe(16)}"
        self.world = beside.world.beside(name) if beside else World()
        self.gateway = Gateway(self.world, self.token)
        self.home = beside.home if beside else self.world.guild("home")
        self.bot = self.world.bot
        """The application's user."""
        self.typing = self.world.typing
        """Typing signals: the person, the place and the time."""
        self.commands = self.world.commands
        """The registered commands, by guild; those for everywhere under 0."""
        self.limits = RateLimits(self.world.clock)
        """The limits of requests."""
        self.faults = Faults(self.limits)
        """Faults of requests."""
        self._server = Server(self.world, self.gateway, self.limits, self.token, self.faults.meet)
        self.invalid_requests = self._server.invalid_requests
        """Requests that count towards Discord's ban of an address."""
        self.on_exchange = self._server.on_exchange
        """Callbacks after each answered request; their errors fail the simulation."""
        self._port = port
        self._people: dict[str, Person] = {}

    async def __aenter__(self) -> Self:
        await self._server.start(self._port)
        return self

    async def __aexit__(self, kind: object, error: object, trace: object) -> None:
        await self._server.stop()
        if self._server.broken and error is None:
            raise ExceptionGroup("The simulator broke", self._server.broken)

    @property
    def api_url(self) -> str:
        """Where REST begins: `http://127.0.0.1:PORT/api/v10`."""
        return self.world.api_url

    @property
    def gateway_url(self) -> str:
        """The address for clients; a resume has its own, as on Discord."""
        return self.gateway.url

    @property
    def cdn_url(self) -> str:
        """Where attachments are: `http://127.0.0.1:PORT`."""
        return self.world.cdn.url

    # The place and its people

    def guild(self, name: str) -> Guild:
        """Make a further guild."""
        return self.world.guild(name)

    def channel(
        self,
        name: str,
        *,
        guild: Guild | None = None,
        kind: ChannelType = ChannelType.TEXT,
        hidden: bool = False,
    ) -> Channel:
        """The channel of that name, created if missing; `hidden`: nobody sees it."""
        guild = guild or self.home
        for channel in self.world.channels.values():
            if channel.guild is guild and channel.name == name and not channel.is_thread:
                return channel
        channel = self.world.channel(guild, name, kind)
        if hidden:
            self.deny(channel, guild.everyone, "view_channel")
        return channel

    def forum(self, name: str, *, tags: Sequence[str] = (), guild: Guild | None = None) -> Channel:
        """The forum of that name, made if there is none."""
        forum = self.channel(name, guild=guild, kind=ChannelType.FORUM)
        for tag in tags:
            number = str(self.world.ids.new())
            shown: Json = {"id": number, "name": tag, "moderated": False}
            forum.tags.append({**shown, "emoji_id": None, "emoji_name": None})
        return forum

    def role(self, name: str, permissions: str = "", *, guild: Guild | None = None) -> Role:
        """Make a role; permissions are named as in `"manage_threads attach_files"`."""
        return self.world.role(guild or self.home, name, named(permissions))

    def person(
        self,
        name: str,
        *,
        roles: Iterable[Role] = (),
        guild: Guild | None = None,
        bot: bool = False,
        member: bool = True,
        guest: bool = False,
    ) -> Person:
        """The person of that name, created if missing with these roles.

        A guest is no member of the guild.
        """
        if name not in self._people:
            self._people[name] = Person(self.world, self.world.user(name, bot=bot))
        person = self._people[name]
        guild = guild or self.home
        if member and person.id not in guild.members:
            self.world.join(guild, person.user).guest = guest
        for role in roles:
            self.world.give(guild, person.user, role)
        return person

    def give(self, whom: Person | User, role: Role, *, guild: Guild | None = None) -> None:
        """Give a member of the guild a role; also the application (`discord.bot`)."""
        self.world.give(guild or self.home, _user(whom), role)

    def kick(self, whom: Person | User, *, guild: Guild | None = None) -> None:
        """Take somebody out of a guild; also the application."""
        self.world.remove_member(guild or self.home, _user(whom))

    def allow(self, channel: Channel, whom: Role | Person | User, permissions: str) -> None:
        """Grant somebody permissions in a channel."""
        of = whom if isinstance(whom, Role) else _user(whom)
        self.world.overwrite(channel, of, allow=named(permissions))

    def deny(self, channel: Channel, whom: Role | Person | User, permissions: str) -> None:
        """Deny somebody permissions in a channel, at any moment."""
        of = whom if isinstance(whom, Role) else _user(whom)
        self.world.overwrite(channel, of, deny=named(permissions))

    def delete(self, what: Channel | Message) -> None:
        """Delete a message, or a channel or thread with its messages."""
        if isinstance(what, Channel):
            self.world.delete_channel(what)
        else:
            message_actions.delete(self.world, what)

    def purge(self, found: Sequence[Message]) -> None:
        """Delete several messages of a channel at once, as moderators' bots do."""
        message_actions.delete_many(self.world, found)

    def archive(self, thread: Channel, *, locked: bool = False) -> None:
        """Archive a thread, as a moderator does."""
        settings: Json = {"archived": True, "locked": locked}
        threads.change(self.world, thread, self.world.owner, settings)

    def lock(self, thread: Channel, *, locked: bool = True) -> None:
        """Lock or unlock a thread, as a moderator does; it stays active."""
        threads.change(self.world, thread, self.world.owner, {"locked": locked})

    def repeat(self, message: Message) -> None:
        """Tell of a message once more.

        An event may be delivered up to N times (Discord's API reference, "Consistency").
        """
        message_actions.publish(self.world, "MESSAGE_CREATE", message)

    def unfurl(self, message: Message, **embed: str) -> None:
        """Add previews of a message's links, published as an edit."""
        message_actions.unfurl(self.world, message, dict(embed))

    def advance(self, seconds: float) -> None:
        """Push the time on: links and tokens expire, silent threads are archived."""
        self.world.clock.advance(seconds)
        threads.archive_idle(self.world)

    # What was done

    def messages(self, channel: Channel) -> list[Message]:
        """The messages that everybody sees there, oldest first."""
        return [each for each in channel.messages.values() if each.visible_to is None]

    def texts(self, channel: Channel) -> list[str]:
        """Texts of the application's messages there, oldest first."""
        return [each.content for each in self.messages(channel) if each.application]

    def threads(self, channel: Channel) -> list[Channel]:
        """The threads or posts of a channel, oldest first."""
        return [each for each in self.world.channels.values() if each.parent is channel]

    @property
    def interactions(self) -> list[Interaction]:
        """All commands, clicks and forms, oldest first."""
        return list(self.world.interactions.values())

    @property
    def missed_interactions(self) -> list[Interaction]:
        """Interactions without an answer within three seconds; people saw them fail."""
        due = self.world.clock.now() - interactions.DEADLINE
        return [each for each in self.interactions if not each.acknowledged and each.made_at < due]

    @property
    def pings(self) -> list[Message]:
        """The application's messages that notified somebody."""
        return [
            each
            for channel in self.world.channels.values()
            for each in channel.messages.values()
            if each.application and (each.pings or each.role_pings or each.everyone)
        ]

    def calls(self, method: str = "", route: str = "") -> list[Call]:
        """The requests so far, by method, path or route."""
        return [
            each
            for each in self._server.calls
            if (not method or each.method == method) and (route in each.path or route in each.route)
        ]

    @property
    def avoidable_429s(self) -> list[Call]:
        """Refusals for rate that the sender had been told enough to avoid."""
        return [each for each in self._server.calls if each.avoidable]

    def edits_per_minute(self, channel: Channel) -> int:
        """The most edits that reached a channel within any minute."""
        times = [
            each.at
            for each in self.calls("PATCH")
            if each.route == EDIT and each.parameters["channel_id"] == str(channel.id)
        ]
        counts = (sum(start <= at < start + 60 for at in times) for start in times)
        return max(counts, default=0)

    # Waiting

    async def until(self, condition: Callable[[], T | None], *, seconds: float = 20.0) -> T:
        """Wait until the condition holds and return its value.

        Raises TimeoutError after `seconds`.
        """
        try:
            async with asyncio.timeout(seconds):
                while True:
                    if found := condition():
                        return found
                    await asyncio.sleep(LOOK_AGAIN)
        except TimeoutError:
            last = ", ".join(str(each) for each in self._server.calls[-5:])
            raise TimeoutError(f"It did not come in {seconds:g} s. Last calls: {last}") from None

    async def connected(self, *, seconds: float = 20.0) -> None:
        """Wait until the application is on the gateway."""
        await self.until(lambda: self.gateway.open_sessions, seconds=seconds)

    async def answered(self, interaction: Interaction, *, seconds: float = 20.0) -> Interaction:
        """Wait for an interaction's first answer, or until it came too late."""
        await self.until(lambda: interaction.acknowledged or interaction.late, seconds=seconds)
        return interaction


def _user(whom: Person | User) -> User:
    return whom.user if isinstance(whom, Person) else whom
