"""People, guilds, channels and commands on the wire."""

from __future__ import annotations

from adapters.discord.simulator import payloads
from adapters.discord.simulator.model import Channel, ChannelType, Message, User, Webhook
from adapters.discord.simulator.world import World


def test_people_and_guilds_are_shown() -> None:
    world = World()
    guild = world.guild("home")
    bot = guild.members[world.bot.id]
    assert payloads.user(User(5, "ann"))["global_name"] == "Ann"
    assert payloads.own_user(world.bot)["bot"]
    assert payloads.member(bot)["user"]["username"] == "parley"
    assert payloads.member_of(bot)["roles"] == [str(each.id) for each in bot.roles]
    assert payloads.role(guild.everyone)["name"] == "@everyone"
    assert payloads.guild(guild)["owner_id"] == str(world.owner.id)
    assert payloads.own_guild(guild, world.bot)["owner"] is False
    shown = payloads.application(world.bot, world.owner, 5, public=True)
    assert (shown["bot_public"], shown["flags"]) == (True, 5)


def test_channels_threads_and_conversations_are_shown() -> None:
    world = World()
    guild = world.guild("home")
    channel = world.channel(guild, "general", ChannelType.TEXT)
    channel.messages[9] = Message(9, channel, world.owner, "Hi")
    assert payloads.channel(channel)["name"] == "general"
    assert payloads.last_message(channel) == "9"
    direct = world.direct(world.owner, world.bot)
    assert [each["username"] for each in payloads.channel(direct, world.bot)["recipients"]] == [
        "owner"
    ]
    thread = Channel(
        8, ChannelType.PUBLIC_THREAD, "topic", guild, channel, world.owner, members={5: 1.0}
    )
    assert payloads.channel(thread)["parent_id"] == str(channel.id)
    assert payloads.thread_member(thread, 5)["user_id"] == "5"


def test_a_webhook_is_shown_with_its_address() -> None:
    world = World()
    channel = world.channel(world.guild("home"), "general", ChannelType.TEXT)
    hook = Webhook(3, channel, "writer", "secret", world.bot)
    assert payloads.webhook(hook, "https://x")["url"] == "https://x/webhooks/3/secret"
