"""Kills at the worst moments lose nothing and double nothing silently."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from adapters.discord.simulator.interactions import DEADLINE
from adapters.discord.testing import Call, Channel, Delay, DiscordSimulator, Message
from tests.adapters.discord.child import WORDS
from tests.adapters.discord.serving import own, said, thread_of

ROOT = Path(__file__).parents[3]
POST = "/channels/{channel_id}/messages"
WHOLE = "".join(WORDS) + "end."

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(60)]


class ServedGateway:
    """A Discord that one process after the other serves."""

    def __init__(self, discord: DiscordSimulator, folder: Path, team: str) -> None:
        self.discord = discord
        self.alice = discord.person("alice")
        self.general = discord.channel("general")
        self.rung = folder / "rung"
        self._folder = folder / "store"
        self._team = team

    @asynccontextmanager
    async def process(self) -> AsyncGenerator[asyncio.subprocess.Process]:
        """A process that serves, killed at the end of the block."""
        environment = {
            **os.environ,
            "TOKEN": self.discord.token,
            "RUNG": str(self.rung),
            "OPERATORS": f"discord:{self.alice.id}",
            "PYTHONPATH": str(ROOT),
        }
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.adapters.discord.child",
            str(self._folder),
            self.discord.api_url,
            self.discord.gateway_url,
            self._team,
            cwd=ROOT,
            env=environment,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            await self.discord.connected(seconds=20)
            yield child
        finally:
            if child.returncode is None:
                child.kill()
            await child.wait()
            await self.discord.until(lambda: not self.discord.gateway.open_sessions)

    async def ask(self, text: str) -> Message:
        """Ask the team, and wait for the thread."""
        asked = await self.alice.mentions(self.general, text)
        await self.discord.until(lambda: asked.thread, seconds=25)
        return asked

    async def card(self, channel: Channel) -> Message:
        """The card in a channel."""
        return await self.discord.until(
            lambda: next((each for each in own(self.discord, channel) if each.components), None),
            seconds=25,
        )


def is_post(call: Call) -> bool:
    """True for a request that posts a message."""
    return call.method == "POST" and call.route == POST


def spoken(discord: DiscordSimulator, channel: Channel) -> str:
    """The agent's words in all messages, without names and marks."""
    lines = [line for text in said(discord, channel) for line in text.splitlines()]
    return " ".join(line for line in lines if not line.startswith(("**", "-#", "\u26a0")))


@pytest.mark.parametrize("at", ["in mid-stream", "after a post that nobody heard of"])
async def test_a_killed_process_says_everything_once(
    at: str, discord: DiscordSimulator, tmp_path: Path
) -> None:
    served = ServedGateway(discord, tmp_path, "talks")
    never = asyncio.Event()
    async with served.process():
        if at != "in mid-stream":
            discord.faults.plan(Delay(until=never, committed=True), when=is_post)
        asked = await served.ask("talk")
        await discord.until(lambda: said(discord, thread_of(asked)), seconds=25)
        if at == "in mid-stream":
            await discord.until(lambda: "word9 " in spoken(discord, thread_of(asked)), seconds=25)
    never.set()
    async with served.process():
        await discord.until(lambda: spoken(discord, thread_of(asked)).endswith("end."), seconds=30)
    answers = [text for text in said(discord, thread_of(asked)) if "word0" in text]
    assert len(answers) == 1 or "twice" in answers[-1]
    assert WHOLE in spoken(discord, thread_of(asked))


async def test_an_approval_is_clicked_after_a_restart_in_another_process(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    served = ServedGateway(discord, tmp_path, "rings")
    async with served.process():
        asked = await served.ask("ring")
        card = await served.card(thread_of(asked))
    async with served.process():
        clicked = await discord.answered(await served.alice.clicks(card, "Approve"))
        await discord.until(lambda: "It rang." in spoken(discord, thread_of(asked)), seconds=25)
    assert clicked.acknowledged
    assert "approved" in card.content
    assert served.rung.read_text() == "big\n"


async def test_a_card_that_nobody_heard_of_stands_there_once(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    served = ServedGateway(discord, tmp_path, "rings")
    never = asyncio.Event()
    async with served.process():
        discord.faults.plan(Delay(until=never, committed=True), when=is_post)
        asked = await served.ask("ring")
        card = await served.card(thread_of(asked))
    never.set()
    async with served.process():
        await discord.answered(await served.alice.clicks(card, "Approve"))
        await discord.until(lambda: "It rang." in spoken(discord, thread_of(asked)), seconds=25)
    cards = [text for text in said(discord, thread_of(asked)) if "asks to run" in text]
    assert len(cards) == 1
    assert "approved" in cards[0]


async def test_a_click_that_was_acknowledged_is_not_lost(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    served = ServedGateway(discord, tmp_path, "rings")
    async with served.process():
        asked = await served.ask("ring")
        card = await served.card(thread_of(asked))
        await discord.answered(await served.alice.clicks(card, "Approve"))
    async with served.process():
        await discord.until(lambda: "It rang." in spoken(discord, thread_of(asked)), seconds=25)
        await discord.until(lambda: "approved" in card.content, seconds=25)
    rung = served.rung.read_text() if served.rung.exists() else ""
    told = "".join(said(discord, thread_of(asked)))
    assert rung == "big\n" or (rung == "" and "? ring" in told)


@pytest.mark.parametrize("answered", [True, False])
async def test_a_question_asked_with_a_command_is_stored_before_the_command_is_answered(
    answered: bool, discord: DiscordSimulator, tmp_path: Path
) -> None:
    served = ServedGateway(discord, tmp_path, "talks")
    never = asyncio.Event()
    async with served.process():
        await discord.until(lambda: discord.commands.get(0), seconds=25)
        answer = Delay(until=never, committed=answered)
        plan = discord.faults.plan(answer, path="/callback")
        used = await served.alice.slash(served.general, "ask", text="talk to *me*")
        await discord.until(lambda: plan.times == 0, seconds=25)
    async with served.process():
        await discord.until(lambda: own(discord, served.general), seconds=25)
        (root,) = own(discord, served.general)
        await discord.until(lambda: root.thread, seconds=25)
        await discord.until(lambda: spoken(discord, thread_of(root)).endswith("end."), seconds=30)
        # Discord takes an answer for three seconds: one still under way comes too late by then.
        await discord.until(lambda: discord.world.clock.now() - used.made_at > DEADLINE, seconds=25)
        never.set()
    assert (root is used.response) == answered
    assert "talk to" in root.content
    assert thread_of(root).name == "talk to *me*"
    assert len(own(discord, served.general)) == 1
