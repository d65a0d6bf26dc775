"""Being people from a terminal."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import discord as sdk
import pytest

from adapters.discord.console.command import simulate
from adapters.discord.console.console import Console
from adapters.discord.testing import DiscordSimulator
from tests.adapters.discord.simulator.bot import Bot
from tests.adapters.discord.simulator.sockets import Socket
from tests.fakes.discord_wire import Connect


class Terminal:
    """A console and what it wrote."""

    def __init__(self, discord: DiscordSimulator) -> None:
        self.lines: list[str] = []
        self.console = Console(discord, self.lines.append)

    async def types(self, *lines: str) -> list[str]:
        """Type these, and return what was written since the last time."""
        for line in lines:
            await self.console.run_line(line)
        self.console.screen.refresh()
        written, self.lines[:] = list(self.lines), []
        return written


@pytest.fixture
async def terminal(discord: DiscordSimulator) -> AsyncIterator[Terminal]:
    """A terminal at a Discord to which an application is connected."""
    async with Socket(discord) as socket:
        await socket.identify()
        yield Terminal(discord)


class AnsweringBot(Bot):
    """Answers with a button, which opens a form, which ends it."""

    async def on_message(self, message: sdk.Message) -> None:
        if self.user in message.mentions:
            thread = await message.create_thread(name="talk")
            await thread.send("May I?", view=ReasonView(timeout=None))


class ReasonView(sdk.ui.View):
    @sdk.ui.button(label="Deny")
    async def deny(self, interaction: sdk.Interaction, button: sdk.ui.Button[Any]) -> None:
        await interaction.response.send_modal(ReasonModal())


class ReasonModal(sdk.ui.Modal, title="Why not?"):
    reason = sdk.ui.Label(text="Reason", component=sdk.ui.TextInput(required=True))

    async def on_submit(self, interaction: sdk.Interaction) -> None:
        field = self.reason.component
        assert isinstance(field, sdk.ui.TextInput)
        await interaction.response.send_message(f"Denied: {field.value}", ephemeral=True)


async def test_a_whole_conversation_is_typed(
    discord: DiscordSimulator, discord_client: Connect, terminal: Terminal
) -> None:
    await discord_client(AnsweringBot())
    assert await terminal.types("@parley clean up") == [
        "#general [1] alice",
        "      @parley clean up",
    ]
    await discord.until(lambda: discord.threads(discord.channel("general")))
    thread = discord.threads(discord.channel("general"))[0]
    await discord.until(lambda: discord.texts(thread))
    assert await terminal.types() == ["#general / talk [2] parley", "      May I?", "      <Deny>"]

    await terminal.types("/as bob", "/click 2 Deny")
    await discord.answered(discord.interactions[-1])
    form = await terminal.types()
    assert form == ["--- Why not? ---", "    Reason = ...", "    /fill FIELD = TEXT, and /submit"]
    await terminal.types("/fill Reason = too dear", "/submit")
    await discord.answered(discord.interactions[-1])
    assert await terminal.types() == [
        "#general / talk [3] parley (only bob sees this)",
        "      Denied: too dear",
    ]
    assert terminal.console.prompt == "bob #general> "
    await terminal.types("/thread 2", "well")
    assert terminal.console.prompt == "bob #general / talk> "
    assert discord.messages(thread)[-1].content == "well"


async def test_slash_commands_take_text_or_named_options(
    discord: DiscordSimulator, discord_client: Connect, terminal: Terminal
) -> None:
    bot = Bot()

    @bot.tree.command(description="Ask")
    async def ask(interaction: sdk.Interaction, question: str, times: int = 1) -> None:
        await interaction.response.send_message(f"{question} x {times}")

    await discord_client(bot)
    await bot.tree.sync()
    await terminal.types("//ask why is it so")
    await discord.answered(discord.interactions[-1])
    assert await terminal.types() == ["#general [1] parley", "      why is it so x 1"]
    await terminal.types("//ask question:what times:3")
    await discord.answered(discord.interactions[-1])
    assert await terminal.types() == ["#general [2] parley", "      what x 3"]


async def test_lists_and_menus_are_used(
    discord: DiscordSimulator, discord_client: Connect, terminal: Terminal
) -> None:
    class Choice(sdk.ui.View):
        @sdk.ui.select(
            placeholder="Dish",
            options=[sdk.SelectOption(label="Soup"), sdk.SelectOption(label="Rice")],
        )
        async def dish(self, interaction: sdk.Interaction, select: sdk.ui.Select[Any]) -> None:
            await interaction.response.edit_message(content=f"{select.values[0]}!", view=None)

    bot = Bot()

    @bot.tree.context_menu(name="Ask the team")
    async def menu(interaction: sdk.Interaction, message: sdk.Message) -> None:
        await interaction.response.send_message("What to eat?", view=Choice(timeout=None))

    await discord_client(bot)
    await bot.tree.sync()
    await terminal.types("/in dm", "hungry", "/menu 1 Ask the team")
    await discord.answered(discord.interactions[-1])
    assert await terminal.types() == [
        "direct [2] parley",
        "      What to eat?",
        "      <Dish: Soup | Rice>",
    ]
    await terminal.types("/select 2 Rice")
    await discord.answered(discord.interactions[-1])
    assert await terminal.types("/as bob") == ["      Rice!"]
    assert terminal.console.prompt == "bob direct> "
    assert "/click N BUTTON" in (await terminal.types("/help"))[0]


async def test_messages_are_changed_deleted_and_answered(
    discord: DiscordSimulator, terminal: Terminal, tmp_path: Path
) -> None:
    file = tmp_path / "a.txt"
    file.write_text("text")
    await terminal.types("one", "/edit 1 two", "/react 1 👍", "/reply 1 three", f"/upload {file}")
    first, reply, upload = discord.messages(discord.channel("general"))
    assert (first.content, first.reactions) == ("two", {"👍": [first.author]})
    assert reply.referenced is first
    assert upload.attachments[0].content == b"text"
    written = await terminal.types("/delete 1")
    assert written == ["  [1] was deleted"]


async def test_what_does_not_work_is_said(discord: DiscordSimulator, terminal: Terminal) -> None:
    for line, error in {
        "/dance": "there is no command /dance",
        "/in nowhere": "there is no channel",
        "/click 9 Yes": "there is no message",
        "//ask why": "takes no text",
        "/submit": "there is no form",
        "/as b@b": "a name may contain only",
    }.items():
        (written,) = await terminal.types(line)
        assert error in written


async def test_an_unanswered_command_is_told_of(
    discord: DiscordSimulator, discord_client: Connect, terminal: Terminal
) -> None:
    bot = await discord_client(Bot())

    @bot.tree.command(description="Sleep")
    async def sleep(interaction: sdk.Interaction) -> None:
        """Say nothing."""

    await bot.tree.sync()
    await terminal.types("//sleep")
    discord.advance(4)
    assert await terminal.types() == ["  (the application did not respond)"]


async def test_somebody_who_types_to_nobody_is_told_so(discord: DiscordSimulator) -> None:
    written = await Terminal(discord).types("hello?")
    assert written[-1] == "  (the application is not connected)"


async def test_the_gateway_is_told_how_to_reach_it() -> None:
    async with simulate() as simulation:
        assert set(simulation.table) == {"token", "api_url", "gateway_url"}
        assert simulation.table["api_url"].startswith("http://127.0.0.1:")
        assert re.fullmatch(r"discord:\d+", simulation.operators[0])
        assert simulation.room("Research_Team") == simulation.room("research-team")
