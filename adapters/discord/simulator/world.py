"""The simulated Discord's state and everything that can happen to it.

What a request, a person or a test does becomes one call here, which changes the state and tells the
gateway's sessions. Nothing here waits.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass

from adapters.discord.simulator import payloads
from adapters.discord.simulator.cdn import Cdn
from adapters.discord.simulator.clock import Ids, SimulatorClock
from adapters.discord.simulator.errors import Json, unknown
from adapters.discord.simulator.intents import Intent
from adapters.discord.simulator.message_payloads import MessagePayloads
from adapters.discord.simulator.model import (
    Attachment,
    Channel,
    ChannelType,
    Guild,
    Interaction,
    Member,
    Message,
    Overwrite,
    Role,
    User,
    Webhook,
)
from adapters.discord.simulator.permissions import EVERYONE, Permission, may
from adapters.discord.simulator.rate_limits import RENAMES, Limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An event for sessions with the intent; `message` may be blanked."""

    name: str
    data: Json
    intent: int = 0
    guild: Guild | None = None
    message: Message | None = None
    bot: User | None = None
    """The application that alone is told."""


@dataclass(frozen=True, slots=True)
class Typing:
    """Somebody is typing somewhere."""

    channel: Channel
    user: User
    at: float


class World:
    """All guilds, channels, people and messages.

    The application is `bot`, its maker `owner`.
    """

    def __init__(self) -> None:
        self.on_event: list[Callable[[Event], None]] = []
        """Listeners to every event."""
        self.clock = SimulatorClock()
        self.ids = Ids(self.clock)
        self.cdn = Cdn(self.clock)
        self.api_url = ""
        """Where REST is, with its version."""
        self.users: dict[int, User] = {}
        self.guilds: dict[int, Guild] = {}
        self.channels: dict[int, Channel] = {}
        self.webhooks: dict[int, Webhook] = {}
        self.interactions: dict[int, Interaction] = {}
        self.files: dict[int, Attachment] = {}
        """Everything that was uploaded, by id."""
        self.commands: dict[int, list[Json]] = {}
        """Registered commands, by guild; those for everywhere under 0."""
        self.application_emojis: dict[str, Json] = {}
        """Emoji of the application, by their names."""
        self.typing: list[Typing] = []
        self.old_edits: dict[int, list[float]] = {}
        """When messages older than an hour were edited, by channel."""
        self.rename_limit: Limit | None = RENAMES
        """Renames of one channel that are taken; None: any number."""
        self.renames: dict[int, list[float]] = {}
        """When the application renamed channels, by channel."""
        self.public_bot = True
        """The portal's switch "Public Bot": others than its maker can add the application."""
        self.portal: Json = {}
        """Further settings of the application, by the keys that Discord shows them under.

        docs.discord.com, resources/application, "Application Object".
        """
        self.bot = self.user("parley", bot=True)
        self.owner = self.user("owner")
        self.renderer = MessagePayloads(self.cdn, self.bot)

    def beside(self, name: str) -> World:
        """The same world for another application, in each guild."""
        other = copy(self)
        other.interactions, other.commands, other.application_emojis = {}, {}, {}
        other.bot = self.user(name, bot=True)
        other.renderer = MessagePayloads(self.cdn, other.bot)
        for guild in self.guilds.values():
            member = self.join(guild, other.bot)
            member.roles.append(self.role(guild, name, Permission.MANAGE_WEBHOOKS))
        return other

    # People, guilds and roles

    def user(self, name: str, *, bot: bool = False) -> User:
        """Make a user."""
        user = User(self.ids.new(), name, bot)
        self.users[user.id] = user
        return user

    def guild(self, name: str) -> Guild:
        """Create a guild in which the application is a member."""
        guild = Guild(self.ids.new(), name, self.owner)
        guild.roles[guild.id] = Role(guild.id, "@everyone", EVERYONE)
        self.guilds[guild.id] = guild
        self.join(guild, self.owner)
        member = self.join(guild, self.bot)
        member.roles.append(self.role(guild, self.bot.name, Permission.MANAGE_WEBHOOKS))
        self.publish(Event(name="GUILD_CREATE", data=self.guild_create(guild), guild=guild))
        return guild

    def role(self, guild: Guild, name: str, permissions: int = 0) -> Role:
        """Make a role."""
        role = Role(self.ids.new(), name, permissions, position=len(guild.roles))
        guild.roles[role.id] = role
        data: Json = {"guild_id": str(guild.id), "role": payloads.role(role)}
        self.publish(Event(name="GUILD_ROLE_CREATE", data=data, intent=Intent.GUILDS, guild=guild))
        return role

    def join(self, guild: Guild, user: User) -> Member:
        """Make somebody a member."""
        member = Member(user, self.clock.now())
        guild.members[user.id] = member
        data: Json = {**payloads.member(member), "guild_id": str(guild.id)}
        event = Event(name="GUILD_MEMBER_ADD", data=data, intent=Intent.MEMBERS, guild=guild)
        self.publish(event)
        return member

    def remove_member(self, guild: Guild, user: User) -> None:
        """Take somebody out of a guild; the application too."""
        del guild.members[user.id]
        number = str(guild.id)
        if user is self.bot:
            self.publish(Event(name="GUILD_DELETE", data={"id": number}, guild=guild))
            return
        data: Json = {"guild_id": number, "user": payloads.user(user)}
        event = Event(name="GUILD_MEMBER_REMOVE", data=data, intent=Intent.MEMBERS, guild=guild)
        self.publish(event)

    def give(self, guild: Guild, user: User, role: Role) -> None:
        """Give a member a role."""
        member = guild.members[user.id]
        member.roles.append(role)
        data: Json = {**payloads.member(member), "guild_id": str(guild.id)}
        event = Event(name="GUILD_MEMBER_UPDATE", data=data, intent=Intent.MEMBERS, guild=guild)
        self.publish(event)

    def guild_create(self, guild: Guild) -> Json:
        """A guild as a session receives it, with channels, threads and members."""
        channels = [each for each in self.channels.values() if each.guild is guild]
        seen = [each for each in channels if may(each, self.bot, Permission.VIEW_CHANNEL)]
        return {
            **payloads.guild(guild),
            "joined_at": payloads.member_of(guild.members[self.bot.id])["joined_at"],
            "large": False,
            "unavailable": False,
            "member_count": len(guild.members),
            "voice_states": [],
            "members": [payloads.member(each) for each in guild.members.values()],
            "channels": [payloads.channel(each) for each in channels if not each.is_thread],
            "threads": [
                payloads.channel(each, self.bot)
                for each in seen
                if each.is_thread and not each.archived
            ],
            "presences": [],
            "stage_instances": [],
            "guild_scheduled_events": [],
            "soundboard_sounds": [],
        }

    # Channels

    def channel(self, guild: Guild, name: str, kind: ChannelType) -> Channel:
        """Make a channel of a guild."""
        channel = Channel(self.ids.new(), kind, name, guild, position=len(self.channels))
        self.channels[channel.id] = channel
        self.emit_channel("CHANNEL_CREATE", channel)
        return channel

    def direct(self, one: User, other: User) -> Channel:
        """The conversation between two, made if there is none."""
        for channel in self.channels.values():
            if channel.type is ChannelType.DM and {one, other} == set(channel.recipients):
                return channel
        channel = Channel(self.ids.new(), ChannelType.DM, recipients=[one, other])
        self.channels[channel.id] = channel
        return channel

    def overwrite(
        self, channel: Channel, of: Role | User, *, allow: int = 0, deny: int = 0
    ) -> None:
        """Grant or deny a role or a member something in a channel."""
        entry = channel.overwrites.setdefault(of.id, Overwrite(member=isinstance(of, User)))
        entry.allow = entry.allow & ~deny | allow
        entry.deny = entry.deny & ~allow | deny
        self.emit_channel("CHANNEL_UPDATE", channel)

    def delete_channel(self, channel: Channel) -> None:
        """Delete a channel or thread with all that is in it."""
        channel.deleted = True
        del self.channels[channel.id]
        for thread in [each for each in self.channels.values() if each.parent is channel]:
            self.delete_channel(thread)
        if not channel.is_thread:
            self.emit_channel("CHANNEL_DELETE", channel)
            return
        assert channel.guild is not None
        data: Json = {
            "id": str(channel.id),
            "guild_id": str(channel.guild.id),
            "parent_id": str(channel.home.id),
            "type": int(channel.type),
        }
        self.emit("THREAD_DELETE", data, channel)

    def emit_channel(self, name: str, channel: Channel) -> None:
        """Tell of a channel or thread, as it is now."""
        data = payloads.channel(channel, self.bot)
        if channel.is_thread and name == "THREAD_CREATE":
            data["newly_created"] = True
        self.emit(name, data, channel)

    def emit(
        self,
        name: str,
        data: Json,
        channel: Channel,
        intent: int = Intent.GUILDS,
        message: Message | None = None,
    ) -> None:
        """Tell of something in a channel, if the application sees that.

        Of the channels themselves it is told always: Discord hides from a bot only what is in them.
        """
        hidden = not may(channel, self.bot, Permission.VIEW_CHANNEL)
        if hidden and (channel.is_thread or intent != Intent.GUILDS):
            return
        event = Event(name=name, data=data, intent=intent, guild=channel.guild, message=message)
        self.publish(event)

    def publish(self, event: Event) -> None:
        """Tell of anything."""
        for listener in self.on_event:
            listener(event)

    # Look-ups, which refuse what is not there

    def find_channel(self, channel_id: int) -> Channel:
        """The channel, thread or conversation with this id."""
        if channel := self.channels.get(channel_id):
            return channel
        raise unknown("Channel")

    def find_message(self, channel: Channel, message_id: int) -> Message:
        """The message with this id that everybody sees."""
        message = channel.messages.get(message_id)
        if message is None or message.ephemeral:
            raise unknown("Message")
        return message

    def find_guild(self, guild_id: int) -> Guild:
        """The guild with this id."""
        if guild := self.guilds.get(guild_id):
            return guild
        raise unknown("Guild")

    def find_user(self, user_id: int) -> User:
        """The user with this id."""
        if user := self.users.get(user_id):
            return user
        raise unknown("User")
