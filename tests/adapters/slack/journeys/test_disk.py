"""A disk full for longer than Slack retries loses nothing silently."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from adapters.slack.testing import SlackSimulator
from gateway.backfill import pauses
from gateway.registry import ToolRule
from gateway.store.units import counts
from teams import RoundRobinGroupChat
from teams.models.replay import ReplayChatCompletionClient
from tests.adapters.slack.journeys.test_answers import card
from tests.adapters.slack.serving import served
from tests.chaos.sqlite_layer import OK, dynamic, watched
from tests.chaos.test_disk import FULL, MOODS, FailingDisk
from tests.gateway.scripted import calls, solo

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.timeout(60),
    pytest.mark.skipif(
        not dynamic() and "CI" not in os.environ, reason="this Python's SQLite is linked statically"
    ),
]


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """That the app is connected is noted all the time."""
    monkeypatch.setattr(pauses, "MARK_EVERY", 0.02)


def sender(client: ReplayChatCompletionClient) -> RoundRobinGroupChat:
    async def send() -> str:
        return "sent"

    return solo(client, tools=[send])  # pyright: ignore[reportReturnType]


@MOODS
async def test_what_a_disk_did_not_take_for_longer_than_slack_tries_is_taken_once_it_does(
    tmp_path: Path, mood: int, caplog: pytest.LogCaptureFixture
) -> None:
    disk = FailingDisk(tmp_path)
    async with SlackSimulator(rates=False) as slack:
        ann, bob = slack.person("ann"), slack.person("bob")
        with watched(disk):
            async with served(slack, tmp_path) as run:
                asked = await ann.asks("general", "hello")
                await run.until(lambda: slack.messages("general", asked)[1:])
                before = len(slack.deliveries)

                disk.mood = mood
                await ann.says("general", "still there?", thread=asked)
                other = await bob.asks("general", "a new one")
                missed = slack.deliveries[before:]

                def refused() -> bool:
                    attempts = sum(len(delivery.attempts) for delivery in missed)
                    return caplog.text.count("not accepted, Slack delivers it again") >= attempts

                for wait in (1, 61, 301):  # Slack waits 3 s, and tries again after 1 and 5 minutes
                    slack.clock.advance(wait)
                    await run.until(refused)
                    slack.clock.advance(4)
                assert all(delivery.lost and not delivery.acked for delivery in missed)
                assert (await run.gateway.store.run(counts.counts)).inbox == {"turn": 1}

                disk.mood = OK
                await run.accepted(3)
                await run.until(lambda: slack.messages("general", other)[1:])
                for delivery in missed:
                    slack.repeat(delivery)
                repeated = slack.deliveries[before + len(missed) :]
                await run.until(lambda: all(delivery.acked for delivery in repeated))
                said = Counter(filter(None, await run.inbox("text")))
                assert said == Counter(["hello", "still there?", "a new one"])


@MOODS
async def test_whoever_uses_the_slash_command_is_told_that_nothing_can_be_stored(
    tmp_path: Path, mood: int
) -> None:
    disk = FailingDisk(tmp_path)
    async with SlackSimulator(rates=False) as slack:
        ann = slack.person("ann")
        with watched(disk):
            async with served(slack, tmp_path) as run:
                disk.mood = mood
                for typed in ("who is on call?", "usage"):
                    asked = await ann.commands("general", "/parley", typed)
                    assert "I can't store it" in (await asked.answered())["text"]
                assert slack.messages("general") == []
                disk.mood = OK
                await ann.commands("general", "/parley", "who is on call?")
                await run.accepted(1)
                await run.until(lambda: slack.messages("general")[1:])


async def test_whoever_clicks_or_fills_in_a_form_is_told_that_nothing_can_be_stored(
    tmp_path: Path,
) -> None:
    disk, answers = FailingDisk(tmp_path), [calls("send"), "done"]
    rules = {"send": ToolRule(action="ask")}
    async with SlackSimulator(rates=False) as slack:
        boss = slack.person("boss")
        with watched(disk):
            async with served(slack, tmp_path, sender, answers=answers, rules=rules) as run:
                await boss.asks("general", "send it")
                shown = await card(run, "general", "Approve")
                await boss.clicks(shown, "Deny with a note")
                await run.until(lambda: boss.modal and boss.modal.body.get("submit"))
                disk.mood = FULL
                await boss.submits({"answer": "no"})
                await run.until(lambda: boss.modal and boss.modal.errors)
                assert "I can't store it" in str(boss.modal and boss.modal.errors)
                await boss.clicks(shown, "Approve")
                await run.until(lambda: slack.private(boss))
                assert "I can't store it" in slack.private(boss)[0].text
                disk.mood = OK
                await boss.clicks(shown, "Approve")
                await run.until(lambda: run.asked == 2)
