"""Kills at the worst moments lose nothing and double nothing silently."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from adapters.discord.simulator import interactions
from adapters.discord.simulator.interactions import DEADLINE
from adapters.discord.testing import (
    Call,
    Channel,
    ConnectionReset,
    Delay,
    DiscordSimulator,
    Message,
)
from tests.adapters.discord.child import WORDS
from tests.adapters.discord.serving import bot_messages, bot_texts, response_of, thread_of
from tests.fakes.forked import ForkedProcess, forked
from tests.fakes.tested_store import is_written, rows_in

ROOT = Path(__file__).parents[4]
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
        self.ahead = 0.0
        self.threads = "public"

    @asynccontextmanager
    async def process(self) -> AsyncGenerator[ForkedProcess]:
        """A process that serves, killed at the end of the block.

        Its adapter's clock is `ahead` by so many seconds.
        """
        environment = {
            **os.environ,
            "TOKEN": self.discord.token,
            "RUNG": str(self.rung),
            "OPERATORS": f"discord:{self.alice.id}",
            "CLOCK_AHEAD": str(self.ahead),
            "THREADS": self.threads,
            "PYTHONPATH": str(ROOT),
        }
        child = await forked(
            *("tests.adapters.discord.child", str(self._folder)),
            *(self.discord.api_url, self.discord.gateway_url, self._team),
            folder=ROOT,
            environment=environment,
            log=self._folder.with_name("log"),
        )
        try:
            await self.discord.connected(seconds=20)
            yield child
        finally:
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
            lambda: next(
                (each for each in bot_messages(self.discord, channel) if each.components), None
            ),
            seconds=25,
        )


def is_post(call: Call) -> bool:
    """True for a request that posts a message."""
    return call.method == "POST" and call.route == POST


def spoken(discord: DiscordSimulator, channel: Channel) -> str:
    """The agent's words in all messages, without names and marks."""
    lines = [line for text in bot_texts(discord, channel) for line in text.splitlines()]
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
        await discord.until(lambda: bot_texts(discord, thread_of(asked)), seconds=25)
        if at == "in mid-stream":
            await discord.until(lambda: "word9 " in spoken(discord, thread_of(asked)), seconds=25)
    never.set()
    async with served.process():
        # The killed one may have said all, too; it is said anew then.
        await discord.until(lambda: is_written(tmp_path / "store"), seconds=30)
    answers = [text for text in bot_texts(discord, thread_of(asked)) if "word0" in text]
    assert len(answers) == 1 or "twice" in answers[-1]
    assert WHOLE in spoken(discord, thread_of(asked))


STEPS_OF_A_FORK = {
    "before the look at its channel": ("GET", "/channels/{channel_id}", False),
    "before its thread is made": ("POST", "/channels/{channel_id}/threads", False),
    "after its thread was made": ("POST", "/channels/{channel_id}/threads", True),
    "before who asked is let in": ("PUT", "/channels/{channel_id}/thread-members/", False),
    "before its first message": ("POST", POST, False),
    "after its first message": ("POST", POST, True),
}


@pytest.mark.parametrize("step", STEPS_OF_A_FORK)
async def test_a_fork_begins_once_wherever_it_was_killed(
    step: str, discord: DiscordSimulator, tmp_path: Path
) -> None:
    method, route, committed = STEPS_OF_A_FORK[step]
    served = ServedGateway(discord, tmp_path, "echoes")
    served.threads = "private"
    alice, general, never = served.alice, served.general, asyncio.Event()
    async with served.process():
        await alice.mentions(general, "first")
        (thread,) = await discord.until(lambda: discord.threads(general), seconds=25)
        await discord.until(lambda: "You said: first" in spoken(discord, thread), seconds=25)
        await discord.until(lambda: is_written(tmp_path / "store"), seconds=25)
        planned = discord.faults.plan(
            Delay(until=never, committed=committed),
            when=lambda call: call.method == method and call.route.startswith(route),
        )
        await alice.slash(thread, "fork")
        await discord.until(lambda: planned.times == 0, seconds=25)
        if committed:
            await discord.until(lambda: len(discord.threads(general)) > 1, seconds=25)
    never.set()

    def roots() -> list[Message]:
        made = [each for each in discord.threads(general) if each is not thread]
        found = [message for each in made for message in bot_messages(discord, each)]
        return [each for each in found if "is a fork of" in each.content]

    async with served.process():
        await discord.until(roots, seconds=40)
        await discord.until(lambda: is_written(tmp_path / "store"), seconds=40)
        (root,) = roots()
        fork = root.channel
        assert len(discord.threads(general)) == 2
        assert alice.id in fork.members
        await alice.says(fork, "second")
        await discord.until(lambda: "You said: second" in spoken(discord, fork), seconds=25)
    assert all("fork" not in text for text in bot_texts(discord, general))


async def test_what_is_said_while_a_killed_process_is_away_comes_by_a_resume(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    served = ServedGateway(discord, tmp_path, "echoes")
    direct = served.alice.direct
    for n in range(3):
        async with served.process():
            await served.alice.says(direct, f"to process {n}")
            await discord.until(lambda: f"to process {n}" in spoken(discord, direct), seconds=25)  # noqa: B023
            [session] = discord.gateway.open_sessions
            await discord.until(lambda: stored_sequence(tmp_path) == session.sequence, seconds=25)  # noqa: B023
        await served.alice.says(direct, f"after process {n}")
    async with served.process():
        await discord.until(lambda: "after process 2" in spoken(discord, direct), seconds=25)
    said = [text for (text,) in rows_in(tmp_path / "store", "SELECT text FROM inbox ORDER BY id")]
    assert said == [f"{when} process {n}" for n in range(3) for when in ("to", "after")]
    assert (discord.gateway.identifies, discord.gateway.resumes) == (1, 3)


def stored_sequence(folder: Path) -> int:
    """The number of the event from which the next process resumes."""
    query = "SELECT value FROM marks WHERE name = 'cursor shard 0 of 1'"
    return sum(
        json.loads(state).get("sequence", 0) for (state,) in rows_in(folder / "store", query)
    )


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
    assert "Approved by" in card.content
    assert served.rung.read_text() == "big\n"


async def test_files_that_were_on_their_way_are_fetched_by_the_next_process_at_a_fresh_address(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    served, never = ServedGateway(discord, tmp_path, "talks"), asyncio.Event()
    direct = served.alice.direct
    async with served.process():
        slow = discord.faults.plan(Delay(until=never), path="/attachments/")
        await served.alice.says(direct, "look", files=[("plan.txt", b"buy bread", "text/plain")])
        await discord.until(lambda: slow.times == 0, seconds=25)
    never.set()
    discord.advance(25 * 3600)
    async with served.process():
        await discord.until(lambda: spoken(discord, direct).endswith("end."), seconds=30)
    assert rows_in(tmp_path / "store", "SELECT name FROM attachments") == [("plan.txt",)]
    assert rows_in(tmp_path / "store", "SELECT outcome FROM inbox") == [("turn",)]
    statuses = [call.status for call in discord.calls("GET", "/attachments/")]
    assert statuses[-2:] == [404, 200]


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
    cards = [text for text in bot_texts(discord, thread_of(asked)) if " to run " in text]
    assert len(cards) == 1
    assert "Approved by" in cards[0]


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
        await discord.until(lambda: "Approved by" in card.content, seconds=25)
    rung = served.rung.read_text() if served.rung.exists() else ""
    told = "".join(bot_texts(discord, thread_of(asked)))
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
        await discord.until(lambda: bot_messages(discord, served.general), seconds=25)
        (root,) = bot_messages(discord, served.general)
        await discord.until(lambda: root.thread, seconds=25)
        await discord.until(lambda: spoken(discord, thread_of(root)).endswith("end."), seconds=30)
        # Discord takes an answer for three seconds: one still under way comes too late by then.
        await discord.until(lambda: discord.world.clock.now() - used.made_at > DEADLINE, seconds=25)
        never.set()
    assert (root is used.response) == answered
    assert "talk to" in root.content
    assert thread_of(root).name == "talk to *me*"
    assert len(bot_messages(discord, served.general)) == 1


async def test_an_answer_that_discord_takes_after_we_came_back_stands_once(
    discord: DiscordSimulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interactions, "DEADLINE", 30.0)  # a process takes its time to begin
    served, on_its_way = ServedGateway(discord, tmp_path, "talks"), asyncio.Event()
    async with served.process():
        await discord.until(lambda: discord.commands.get(0), seconds=25)
        slow = discord.faults.plan(Delay(until=on_its_way), path="/callback")
        used = await served.alice.slash(served.general, "ask", text="talk")
        await discord.until(lambda: slow.times == 0, seconds=25)
    before = len(discord.calls("GET", POST))
    async with served.process():
        await discord.until(lambda: len(discord.calls("GET", POST)) > before, seconds=25)
        on_its_way.set()
        await discord.until(lambda: used.response and used.response.thread, seconds=25)
        root = thread_of(response_of(used))
        await discord.until(lambda: spoken(discord, root).endswith("end."), seconds=30)
    assert bot_messages(discord, served.general) == [used.response]


async def test_an_answer_that_is_filled_in_after_we_came_back_stands_once(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    served, slow, on_its_way = (
        ServedGateway(discord, tmp_path, "talks"),
        asyncio.Event(),
        asyncio.Event(),
    )
    claim = await discord.person("bob").says(served.general, "the moon is cheese")
    async with served.process():
        await discord.until(lambda: discord.commands.get(0), seconds=25)
        discord.faults.plan(Delay(until=slow), path="/members/")
        filling = discord.faults.plan(Delay(until=on_its_way), path="/messages/@original")
        used = await served.alice.menu(claim, "Ask the team")
        await discord.answered(used)
        slow.set()
        await discord.until(lambda: filling.times == 0, seconds=25)
    async with served.process():
        await discord.until(lambda: response_of(used).thread, seconds=25)
        on_its_way.set()
        root = thread_of(response_of(used))
        await discord.until(lambda: spoken(discord, root).endswith("end."), seconds=30)
        await discord.until(lambda: response_of(used).content, seconds=25)
    assert bot_messages(discord, served.general) == [used.response]


async def test_a_question_that_the_bot_repeats_itself_stands_once(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    served, on_its_way = ServedGateway(discord, tmp_path, "talks"), asyncio.Event()
    async with served.process():
        await discord.until(lambda: discord.commands.get(0), seconds=25)
        discord.faults.plan(ConnectionReset(), path="/callback", times=-1)
        used = await served.alice.slash(served.general, "ask", text="talk")
        repeated = discord.faults.plan(Delay(until=on_its_way), when=is_post)
        await discord.until(lambda: repeated.times == 0, seconds=25)
    async with served.process():
        await discord.until(lambda: bot_messages(discord, served.general), seconds=25)
        on_its_way.set()
        (root,) = bot_messages(discord, served.general)
        await discord.until(lambda: root.thread, seconds=25)
        await discord.until(lambda: spoken(discord, thread_of(root)).endswith("end."), seconds=30)
    assert used.response is None
    assert bot_messages(discord, served.general) == [root]
