"""Guilds, members and what the application may see of them."""

from __future__ import annotations

import discord as sdk
import pytest

from adapters.discord.testing import DiscordSimulator
from tests.adapters.discord.simulator.bot import Bot
from tests.adapters.discord.simulator.rest import Rest
from tests.fakes.discord_wire import Connect


async def test_the_application_knows_its_guilds_channels_roles_and_people(
    discord: DiscordSimulator, discord_client: Connect, rest: Rest
) -> None:
    discord.channel("general")
    forum = discord.forum("help", tags=["bug"])
    staff = discord.role("staff", "manage_threads")
    alice = discord.person("alice", roles=[staff])
    bot = await discord_client(Bot())

    guild = bot.get_guild(discord.home.id)
    assert {each.name for each in guild.channels} == {"general", "help"}
    assert guild.get_channel(forum.id).available_tags[0].name == "bug"
    member = guild.get_member(alice.id)
    assert staff.id in [each.id for each in member.roles]
    assert guild.get_channel(forum.id).permissions_for(member).manage_threads
    found = await guild.query_members("ali")
    assert [each.id for each in found] == [alice.id]
    for path in (
        f"/guilds/{guild.id}",
        f"/guilds/{guild.id}/channels",
        f"/guilds/{guild.id}/roles",
        f"/guilds/{guild.id}/members/{alice.id}",
        "/users/@me/guilds",
        f"/users/{alice.id}",
        f"/channels/{forum.id}",
    ):
        assert (await rest.call("GET", path))[0] == 200
    _, members = await rest.call("GET", f"/guilds/{guild.id}/members", limit="100")
    assert [each["user"]["username"] for each in members] == ["parley", "owner", "alice"]


async def test_who_comes_later_is_told(discord: DiscordSimulator, discord_client: Connect) -> None:
    bot = await discord_client(Bot())
    alice = discord.person("alice")
    boss = discord.role("boss", "administrator")
    discord.give(alice, boss)
    guild = bot.get_guild(discord.home.id)
    await discord.until(lambda: (found := guild.get_member(alice.id)) and len(found.roles) == 2)
    discord.kick(alice)
    await discord.until(lambda: guild.get_member(alice.id) is None)
    away = discord.guild("away")
    await discord.until(lambda: bot.get_guild(away.id))


async def test_an_application_that_was_removed_may_do_nothing(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    general = discord.channel("general")
    bot = await discord_client(Bot())
    channel = bot.get_channel(general.id)
    discord.kick(discord.bot)
    await discord.until(lambda: bot.events_named("removed"))
    with pytest.raises(sdk.Forbidden) as refused:
        await channel.send("still here")
    assert refused.value.code == 50001


async def test_channels_are_hidden_by_role_and_shown_to_one(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    staff = discord.role("staff")
    room = discord.channel("room", hidden=True)
    discord.allow(room, staff, "view_channel")
    alice, bob = discord.person("alice", roles=[staff]), discord.person("bob")
    bot = await discord_client(Bot())
    await alice.says(room, "secret")
    assert len(alice.sees(room)) == 1
    assert bob.sees(room) == []
    discord.allow(room, discord.bot, "view_channel")
    await alice.says(room, "for you, too")
    await discord.until(lambda: bot.texts() == ["for you, too"])
