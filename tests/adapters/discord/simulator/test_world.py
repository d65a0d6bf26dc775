"""The simulated Discord's state and everything that can happen to it."""

from __future__ import annotations

import pytest

from adapters.discord.simulator.errors import ApiError
from adapters.discord.simulator.intents import Intent
from adapters.discord.simulator.model import Channel, ChannelType, Message, MessageFlag
from adapters.discord.simulator.permissions import Permission
from adapters.discord.simulator.world import Event, World


class Told:
    """A world, and the events that it tells of."""

    def __init__(self) -> None:
        self.world = World()
        self.guild = self.world.guild("home")
        self.events: list[Event] = []
        self.world.on_event.append(self.events.append)

    def names(self) -> list[str]:
        names = [event.name for event in self.events]
        self.events.clear()
        return names


def test_people_come_get_roles_and_go() -> None:
    told = Told()
    world, guild = told.world, told.guild
    ann = world.user("ann")
    member = world.join(guild, ann)
    role = world.role(guild, "staff")
    world.give(guild, ann, role)
    assert member.roles == [role]
    world.remove_member(guild, ann)
    world.remove_member(guild, world.bot)
    assert told.names() == [
        "GUILD_MEMBER_ADD",
        "GUILD_ROLE_CREATE",
        "GUILD_MEMBER_UPDATE",
        "GUILD_MEMBER_REMOVE",
        "GUILD_DELETE",
    ]


def test_channels_are_made_changed_and_deleted_with_their_threads() -> None:
    told = Told()
    world, guild = told.world, told.guild
    channel = world.channel(guild, "general", ChannelType.TEXT)
    thread = Channel(
        world.ids.new(), ChannelType.PUBLIC_THREAD, "topic", guild, channel, world.owner
    )
    world.channels[thread.id] = thread
    world.emit_channel("THREAD_CREATE", thread)
    world.overwrite(channel, guild.everyone, deny=Permission.SEND_MESSAGES)
    assert channel.overwrites[guild.id].deny == Permission.SEND_MESSAGES
    assert len(world.guild_create(guild)["threads"]) == 1
    world.delete_channel(channel)
    assert thread.deleted
    assert told.names() == [
        "CHANNEL_CREATE",
        "THREAD_CREATE",
        "CHANNEL_UPDATE",
        "THREAD_DELETE",
        "CHANNEL_DELETE",
    ]


def test_what_the_application_may_not_see_is_not_told() -> None:
    told = Told()
    world = told.world
    channel = world.channel(told.guild, "secret", ChannelType.TEXT)
    world.emit("TYPING_START", {}, channel, Intent.MESSAGES)
    world.overwrite(channel, told.guild.everyone, deny=Permission.VIEW_CHANNEL)
    told.names()
    world.emit("TYPING_START", {}, channel, Intent.MESSAGES)
    assert told.names() == []
    world.publish(Event(name="RESUMED", data={}))
    assert told.names() == ["RESUMED"]


def test_two_people_have_one_conversation() -> None:
    world = World()
    ann = world.user("ann")
    direct = world.direct(ann, world.bot)
    assert direct is world.direct(world.bot, ann)
    assert {*direct.recipients} == {ann, world.bot}


def test_what_is_not_there_is_refused() -> None:
    told = Told()
    world = told.world
    channel = world.channel(told.guild, "general", ChannelType.TEXT)
    channel.messages[9] = Message(9, channel, world.owner, "Hi")
    channel.messages[10] = Message(10, channel, world.owner, "", flags=MessageFlag.EPHEMERAL)
    assert world.find_channel(channel.id) is channel
    assert world.find_message(channel, 9).content == "Hi"
    assert world.find_guild(told.guild.id) is told.guild
    assert world.find_user(world.owner.id) is world.owner
    for refused in (
        lambda: world.find_channel(1),
        lambda: world.find_message(channel, 10),
        lambda: world.find_guild(1),
        lambda: world.find_user(1),
    ):
        with pytest.raises(ApiError):
            refused()


def test_another_application_is_beside_in_each_guild() -> None:
    told = Told()
    other = told.world.beside("other")
    assert other.bot.id in told.guild.members
    assert other.channels is told.world.channels
