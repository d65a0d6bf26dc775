"""A conversation between people and a bot on discord.py."""

from __future__ import annotations

import discord as sdk
from discord import app_commands

from adapters.discord.testing import DiscordSimulator, MessageType
from tests.adapters.discord.simulator.bot import Bot
from tests.fakes.discord_wire import Connect


async def test_a_mention_is_heard_and_answered_in_a_thread(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    class Answering(Bot):
        async def on_message(self, message: sdk.Message) -> None:
            await super().on_message(message)
            if self.user in message.mentions:
                thread = await message.create_thread(name="hello")
                sent = await thread.send("thinking")
                await sent.edit(content="hello, Alice")

    general, alice = discord.channel("general"), discord.person("alice")
    bot = await discord_client(Answering())
    asked = await alice.mentions(general, "hi")

    thread = await discord.until(lambda: asked.thread)
    await discord.until(lambda: discord.texts(thread) == ["hello, Alice"])

    assert bot.heard[0].author.name == "alice"
    assert bot.heard[0].content == f"{discord.bot.mention} hi"
    assert thread.id == asked.id
    assert discord.messages(thread)[0].type is MessageType.THREAD_STARTER_MESSAGE
    await alice.says(thread, "thanks")
    await discord.until(lambda: "thanks" in bot.texts())


async def test_a_direct_message_is_answered_with_a_reply(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    class Replying(Bot):
        async def on_message(self, message: sdk.Message) -> None:
            if message.author != self.user:
                await message.reply("yes?", mention_author=False)

    alice = discord.person("alice")
    await discord_client(Replying(intents=sdk.Intents.default()))
    written = await alice.says(alice.direct, "hi")

    await discord.until(lambda: discord.texts(alice.direct) == ["yes?"])

    answer = discord.messages(alice.direct)[-1]
    assert answer.referenced is written
    assert answer.pings == []


async def test_a_slash_command_is_deferred_and_followed_up(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    bot = Bot()

    @bot.tree.command(description="Ask the team")
    async def ask(interaction: sdk.Interaction, question: str) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await interaction.followup.send(f"You asked: {question}", ephemeral=True)

    general, alice, bob = (
        discord.channel("general"),
        discord.person("alice"),
        discord.person("bob"),
    )
    await discord_client(bot)
    await bot.tree.sync()
    used = await alice.slash(general, "ask", question="why?")

    await discord.until(lambda: used.response and used.response.content == "You asked: why?")

    assert alice.sees(general) == [used.response]
    assert bob.sees(general) == []
    assert discord.missed_interactions == []


async def test_a_click_updates_the_message(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    class Question(sdk.ui.View):
        @sdk.ui.button(label="Approve", custom_id="ap:1")
        async def approve(self, interaction: sdk.Interaction, button: sdk.ui.Button) -> None:
            await interaction.response.edit_message(content="approved", view=None)

    general, alice = discord.channel("general"), discord.person("alice")
    bot = await discord_client(Bot())
    channel = bot.get_channel(general.id)
    await channel.send("May I?", view=Question(timeout=None))
    card = discord.messages(general)[-1]

    clicked = await discord.answered(await alice.clicks(card, "Approve"))

    assert clicked.acknowledged
    assert card.content == "approved"
    assert card.components == []


async def test_a_form_is_shown_and_submitted(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    class Form(sdk.ui.Modal, title="Why not?"):
        reason = sdk.ui.TextInput(label="Reason", custom_id="reason")

        async def on_submit(self, interaction: sdk.Interaction) -> None:
            await interaction.response.send_message(f"because {self.reason.value}")

    bot = Bot()

    @bot.tree.context_menu(name="Ask the team")
    async def menu(interaction: sdk.Interaction, message: sdk.Message) -> None:
        assert message.content == "a hard question"
        await interaction.response.send_modal(Form())

    general, alice = discord.channel("general"), discord.person("alice")
    await discord_client(bot)
    await bot.tree.sync()
    written = await alice.says(general, "a hard question")

    opened = await discord.answered(await alice.menu(written, "Ask the team"))
    await discord.answered(await alice.submits(opened, reason="of cost"))

    assert discord.texts(general) == ["because of cost"]


async def test_autocomplete_offers_choices(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    bot = Bot()

    @bot.tree.command(description="Choose a team")
    async def team(interaction: sdk.Interaction, name: str) -> None:
        await interaction.response.send_message(name)

    @team.autocomplete("name")
    async def names(interaction: sdk.Interaction, current: str) -> list[app_commands.Choice[str]]:
        return [app_commands.Choice(name=current + "search", value="research")]

    general, alice = discord.channel("general"), discord.person("alice")
    await discord_client(bot)
    await bot.tree.sync()

    typed = await discord.answered(await alice.completes(general, "team", name="re"))

    assert typed.choices == [{"name": "research", "value": "research"}]
