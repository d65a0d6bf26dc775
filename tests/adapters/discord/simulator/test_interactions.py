"""Deadlines, tokens, buttons, selects and forms of interactions."""

from __future__ import annotations

from typing import Any

import discord as sdk
import pytest
from discord import app_commands

from adapters.discord.testing import DiscordSimulator, ImpossibleAction, Interaction
from tests.adapters.discord.simulator.bot import Bot
from tests.adapters.discord.simulator.rest import Rest
from tests.fakes.discord_wire import Connect

ASK = {
    "name": "ask",
    "description": "Ask the team",
    "options": [{"type": 3, "name": "question", "description": "What", "required": True}],
}
ADMIN = {"name": "stop", "description": "Stop", "default_member_permissions": 32}


async def used(discord: DiscordSimulator, rest: Rest) -> Interaction:
    await register(discord, rest, ASK)
    return await discord.person("alice").slash(discord.channel("general"), "ask", question="why?")


async def register(discord: DiscordSimulator, rest: Rest, *commands: Any) -> None:
    path = f"/applications/{discord.bot.id}/commands"
    status, _ = await rest.call("PUT", path, list(commands))
    assert status == 200


def callback(interaction: Interaction) -> str:
    return f"/interactions/{interaction.id}/{interaction.token}/callback"


def webhook(discord: DiscordSimulator, interaction: Interaction) -> str:
    return f"/webhooks/{discord.bot.id}/{interaction.token}"


async def test_an_answer_after_three_seconds_is_too_late(
    discord: DiscordSimulator, rest: Rest
) -> None:
    interaction = await used(discord, rest)
    discord.advance(3.1)
    assert await rest.code("POST", callback(interaction), {"type": 5}) == (404, 10062)
    assert interaction.late
    assert discord.missed_interactions == [interaction]


async def test_an_interaction_is_answered_once(discord: DiscordSimulator, rest: Rest) -> None:
    interaction = await used(discord, rest)
    assert (await rest.call("POST", callback(interaction), {"type": 5}))[0] == 204
    assert await rest.code("POST", callback(interaction), {"type": 5}) == (400, 40060)


async def test_what_is_being_thought_about_is_filled_in(
    discord: DiscordSimulator, rest: Rest
) -> None:
    interaction = await used(discord, rest)
    await rest.call("POST", callback(interaction), {"type": 5, "data": {"flags": 64}})
    assert interaction.thinking
    original = f"{webhook(discord, interaction)}/messages/@original"
    status, message = await rest.call("PATCH", original, {"content": "42"})
    assert (status, message["content"]) == (200, "42")
    assert not interaction.thinking
    _, more = await rest.call("POST", webhook(discord, interaction), {"content": "more"})
    assert [each.content for each in interaction.followups] == ["more"]
    one = f"{webhook(discord, interaction)}/messages/{more['id']}"
    assert (await rest.call("PATCH", one, {"content": "changed"}))[0] == 200
    assert (await rest.call("DELETE", original))[0] == 204
    assert await rest.code("GET", original) == (404, 10008)


async def test_the_token_is_good_for_fifteen_minutes(discord: DiscordSimulator, rest: Rest) -> None:
    interaction = await used(discord, rest)
    await rest.call("POST", callback(interaction), {"type": 4, "data": {"content": "42"}})
    discord.advance(15 * 60 + 1)
    original = f"{webhook(discord, interaction)}/messages/@original"
    assert await rest.code("PATCH", original, {"content": "43"}) == (401, 50027)
    assert await rest.code("POST", webhook(discord, interaction), {"content": "x"}) == (401, 50027)


@pytest.mark.parametrize(
    "body",
    [
        {"type": 4, "data": {"content": "x" * 2001}},
        {"type": 6},
        {"type": 7, "data": {"content": "x"}},
        {"type": 8, "data": {"choices": []}},
        {"type": 9, "data": {"custom_id": "form", "title": "t" * 46, "components": []}},
        {"type": 99},
    ],
)
async def test_answers_that_do_not_fit_a_command(
    body: Any, discord: DiscordSimulator, rest: Rest
) -> None:
    interaction = await used(discord, rest)
    assert await rest.code("POST", callback(interaction), body) == (400, 50035)
    assert not interaction.acknowledged


async def test_commands_keep_their_ids_when_they_are_registered_again(
    discord: DiscordSimulator, rest: Rest
) -> None:
    await register(discord, rest, ASK, ADMIN)
    before = {each["name"]: each["id"] for each in discord.commands[0]}
    await register(discord, rest, ASK)
    assert [each["id"] for each in discord.commands[0]] == [before["ask"]]
    path = f"/applications/{discord.bot.id}/guilds/{discord.home.id}/commands"
    assert (await rest.call("PUT", path, [ADMIN]))[0] == 200
    assert [each["name"] for each in discord.commands[discord.home.id]] == ["stop"]
    twice = f"/applications/{discord.bot.id}/commands"
    assert await rest.code("PUT", twice, [ASK, ASK]) == (400, 50035)
    long = {**ASK, "description": "d" * 101}
    assert await rest.code("PUT", twice, [long]) == (400, 50035)


async def test_people_use_only_commands_that_are_there_for_them(
    discord: DiscordSimulator, rest: Rest
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    await register(discord, rest, ASK, ADMIN)
    for deed in (
        alice.slash(general, "nothing"),
        alice.slash(general, "ask"),
        alice.slash(general, "ask", answer="42", question="?"),
        alice.slash(general, "stop"),
    ):
        with pytest.raises(ImpossibleAction):
            await deed
    boss = discord.person("boss", roles=[discord.role("boss", "manage_guild")])
    assert (await boss.slash(general, "stop")).command == "stop"
    assert (await alice.slash(alice.direct, "ask", question="?")).channel is alice.direct


async def test_options_of_all_kinds_reach_discord_py(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    bot = Bot()
    got: list[Any] = []
    group = app_commands.Group(name="team", description="The team")

    @group.command(description="Give work")
    async def give(
        interaction: sdk.Interaction,
        text: str,
        times: int,
        who: sdk.Member,
        file: sdk.Attachment,
        role: sdk.Role,
    ) -> None:
        got.extend([text, times, who.name, await file.read(), role.name])
        await interaction.response.send_message("taken")

    bot.tree.add_command(group)
    general, alice, bob = (
        discord.channel("general"),
        discord.person("alice"),
        discord.person("bob"),
    )
    staff = discord.role("staff")
    await discord_client(bot)
    await bot.tree.sync()

    given = await alice.slash(
        general,
        "team give",
        text="now",
        times=3,
        who=bob,
        file=("a.txt", b"work", "text/plain"),
        role=staff,
    )

    await discord.answered(given)
    assert got == ["now", 3, "bob", b"work", "staff"]


async def test_a_select_tells_what_was_chosen(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    class Choice(sdk.ui.View):
        @sdk.ui.select(
            custom_id="dish",
            options=[sdk.SelectOption(label="Soup", value="s"), sdk.SelectOption(label="Rice")],
        )
        async def dish(self, interaction: sdk.Interaction, select: sdk.ui.Select[Any]) -> None:
            await interaction.response.send_message(f"{select.values[0]}!", ephemeral=True)

        @sdk.ui.select(cls=sdk.ui.UserSelect, custom_id="who")
        async def who(self, interaction: sdk.Interaction, select: sdk.ui.UserSelect[Any]) -> None:
            await interaction.response.send_message(f"{select.values[0].name}!")

    general, alice = discord.channel("general"), discord.person("alice")
    bot = await discord_client(Bot())
    await bot.get_channel(general.id).send("choose", view=Choice(timeout=None))
    card = discord.messages(general)[-1]

    chosen = await discord.answered(await alice.selects(card, "dish", "Soup"))
    assert chosen.response
    assert chosen.response.content == "s!"
    named = await discord.answered(await alice.selects(card, "who", alice))
    assert named.response
    assert named.response.content == "alice!"
    with pytest.raises(ImpossibleAction):
        await alice.selects(card, "dish", "Cake")


async def test_a_click_on_what_is_gone_still_comes(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    bot = await discord_client(Bot())
    await bot.get_channel(general.id).send("settled")

    clicked = await alice.clicks_gone(discord.messages(general)[-1], "ap:a:1")

    (heard,) = await discord.until(lambda: bot.events_named("interaction"))
    assert heard.data["custom_id"] == "ap:a:1"
    await heard.response.send_message("That is settled.", ephemeral=True)
    assert clicked.response
    assert clicked.response.visible_to is alice.user


async def test_a_button_of_new_components_is_clicked(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    class Card(sdk.ui.LayoutView):
        text = sdk.ui.TextDisplay("May I?")
        row: sdk.ui.ActionRow[Any] = sdk.ui.ActionRow()

        @row.button(label="Yes", custom_id="yes")
        async def yes(self, interaction: sdk.Interaction, button: sdk.ui.Button[Any]) -> None:
            self.text.content = "I may."
            await interaction.response.edit_message(view=self)

    general, alice = discord.channel("general"), discord.person("alice")
    bot = await discord_client(Bot())
    await bot.get_channel(general.id).send(view=Card(timeout=None))
    card = discord.messages(general)[-1]

    await discord.answered(await alice.clicks(card, "Yes"))

    assert card.components[0]["content"] == "I may."
