"""`parley check` reports missing permissions, and the guilds."""

from pydantic import SecretStr

import adapters.discord
from adapters.discord import check, people_named
from adapters.discord.settings_check import NO_PROMPTS
from adapters.discord.testing import DiscordSimulator
from gateway.config.routes import Route
from tests.adapters.discord.serving import config_of


def route(**more) -> Route:
    return Route(adapter="discord", users=["members"], **more)


async def test_a_bot_that_may_do_all_it_needs_is_shown_with_its_invite(
    discord: DiscordSimulator,
) -> None:
    general = discord.channel("general")
    routes = [route(channels=[str(general.id)], workspace=str(discord.home.id), dm=True)]
    checked = await check(config_of(discord), routes)
    assert checked.problems == ()
    assert f"client_id={discord.bot.id}&scope=bot+applications.commands" in checked.text


async def test_it_can_be_asked_as_often_as_one_likes(discord: DiscordSimulator) -> None:
    for _ in range(2):
        assert callable(adapters.discord.check)  # no module has taken the name
        assert (await adapters.discord.check(config_of(discord), [])).problems == ()


async def test_what_it_lacks_in_a_channel_is_named(discord: DiscordSimulator) -> None:
    general = discord.channel("general")
    discord.deny(general, discord.bot, "create_public_threads attach_files")
    checked = await check(config_of(discord), [route(channels=[str(general.id)])])
    assert checked.problems[0] == "in #general the bot lacks Attach Files, Create Public Threads"


async def test_places_that_it_does_not_see_are_named(discord: DiscordSimulator) -> None:
    hidden = discord.channel("hidden", hidden=True)
    routes = [
        route(channels=[str(hidden.id), "123456789012345678"], workspace="223456789012345678")
    ]
    checked = await check(config_of(discord), routes)
    assert checked.problems[:3] == (
        "the bot is not in the server 223456789012345678",
        f"the bot can't see the channel {hidden.id}",
        "the bot can't see the channel 123456789012345678",
    )


async def test_servers_that_no_route_names_are_named(discord: DiscordSimulator) -> None:
    discord.world.public_bot = False
    lair, home = discord.guild("lair"), str(discord.home.id)
    config = config_of(discord)
    (warning,) = (await check(config, [route(channels=["*"], workspace=home)])).warnings
    assert warning.startswith(f"the bot is in the server {lair.id}, which no route names")
    both = [home, str(lair.id)]
    assert (await check(config, [route(channels=["*"], workspace=both)])).warnings == ()
    assert (await check(config, [route(channels=["*"])])).warnings == ()


async def test_an_intent_that_is_off_is_named(discord: DiscordSimulator) -> None:
    discord.gateway.granted = 0
    checked = await check(config_of(discord), [])
    assert "Message Content Intent is off" in checked.problems[0]
    assert (await check(config_of(discord, message_content=False), [])).problems == ()


async def test_a_wrong_token_is_named_and_never_shown(discord: DiscordSimulator) -> None:
    config = config_of(discord).model_copy(update={"token": SecretStr("wrong.token.here")})
    checked = await check(config, [])
    assert "Discord refused the bot's token" in checked.problems[0]
    assert "wrong.token" not in str(checked)


async def test_what_it_lacks_is_named_by_server_and_channel_where_a_route_is_for_all(
    discord: DiscordSimulator,
) -> None:
    for name in ("general", "news", "help"):
        discord.channel(name)
    discord.channel("secret", hidden=True)
    routes = [route(channels=["*"], workspace=str(discord.home.id))]
    assert (await check(config_of(discord), routes)).problems == ()
    discord.deny(discord.channel("news"), discord.bot, "attach_files")
    discord.deny(discord.channel("help"), discord.bot, "attach_files create_public_threads")
    checked = await check(config_of(discord), routes)
    name = discord.home.name
    assert checked.problems[:2] == (
        f"in #news, #help of the server {name} the bot lacks Attach Files",
        f"in #help of the server {name} the bot lacks Create Public Threads",
    )
    discord.deny(discord.channel("general"), discord.bot, "attach_files")
    for each in discord.world.channels.values():
        if each.name not in ("general", "news", "help"):
            discord.deny(each, discord.bot, "view_channel")
    checked = await check(config_of(discord), routes)
    assert checked.problems[0] == f"in all channels of the server {name} the bot lacks Attach Files"


async def test_a_route_for_all_servers_is_checked_in_each(discord: DiscordSimulator) -> None:
    lair = discord.guild("lair")
    hall = discord.channel("hall", guild=lair)
    discord.deny(hall, discord.bot, "view_channel")
    checked = await check(config_of(discord), [route(channels=["*"])])
    assert checked.problems[0] == (
        "in the server lair the bot can see no channel: it lacks View Channels"
    )


async def test_an_address_that_takes_all_clicks_is_named(discord: DiscordSimulator) -> None:
    discord.world.portal = {"interactions_endpoint_url": "https://elsewhere.example/discord"}
    (problem, _) = (await check(config_of(discord), [])).problems
    assert problem.startswith("an Interactions Endpoint URL is set, so clicks and commands don't")


async def test_an_install_link_without_the_bot_is_warned_of(discord: DiscordSimulator) -> None:
    discord.world.public_bot = False
    scopes = ["applications.commands"]
    install = {"scopes": scopes, "permissions": "0"}
    discord.world.portal = {
        "integration_types_config": {"0": {"oauth2_install_params": install}, "1": {}}
    }
    (warning,) = (await check(config_of(discord), [])).warnings
    assert warning.startswith("the portal's install link for servers lacks the scope bot")
    scopes.append("bot")
    assert (await check(config_of(discord), [])).warnings == ()


async def test_people_and_roles_that_are_not_there_are_named(discord: DiscordSimulator) -> None:
    ann, staff = discord.person("ann"), discord.role("staff")
    there = Route(
        adapter="discord",
        workspace=[str(discord.home.id)],
        dm=True,
        users=[str(ann.id), f"discord:{ann.id}", "998877665544332211"],
        roles=[str(staff.id), "998877665544332212"],
    )
    checked = await check(config_of(discord), [there])
    assert checked.problems[:2] == (
        "a route lets in 998877665544332211, but Discord knows no such user",
        "a route lets in the role 998877665544332212, which none of its servers has",
    )


async def test_people_are_found_by_their_names_and_nicknames(discord: DiscordSimulator) -> None:
    discord.person("alice")
    bob = discord.person("bob")
    discord.home.members[bob.id].nick = "Alice Two"
    found = await people_named(config_of(discord), ["Alice", "Ann"])
    assert {"alice", "Alice Two", discord.bot.name} <= {*found}
    assert len(discord.calls("GET", "/guilds/{guild_id}/members/search")) == 2


async def test_prompts_are_refused_as_discord_shows_none(discord: DiscordSimulator) -> None:
    named = route(dm=True, suggested_prompts=["What is new?"])
    assert NO_PROMPTS in (await check(config_of(discord), [named])).problems
    assert NO_PROMPTS not in (await check(config_of(discord), [route(dm=True)])).problems
