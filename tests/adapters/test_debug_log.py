"""The debug log while a platform is served."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.discord.testing import DiscordSimulator
from adapters.slack.testing import SlackSimulator
from gateway.base.logging import OWN, log_to
from tests.adapters.discord.serving import bot_texts, serving, wait_delivered
from tests.adapters.slack.serving import served
from tests.gateway.scripted import solo

QUESTION, ANSWER = "canary question of a person", "canary answer of a team"


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Path]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers = []
    log_to(tmp_path / "parley.log", "debug")
    logging.getLogger("gateway").debug("debug is on")
    yield tmp_path / "parley.log"
    for handler in root.handlers:
        handler.close()
    root.handlers[:] = handlers
    root.setLevel(level)
    for name in OWN:
        logging.getLogger(name).setLevel(logging.NOTSET)
    logging.captureWarnings(False)


def is_silent(log: Path, token: str) -> None:
    written = log.read_text("utf-8")
    assert "debug is on" in written
    for text in (QUESTION, ANSWER, token):
        assert text not in written


async def test_slack_s_sdk_writes_nothing_of_what_is_said(tmp_path: Path, log: Path) -> None:
    async with SlackSimulator(rates=False) as slack:
        ann = slack.person("ann")
        async with served(slack, tmp_path / "store", answers=[ANSWER]) as run:
            asked = await ann.asks("general", QUESTION)
            await run.until(lambda: ANSWER in str(slack.messages("general", asked)[1:]))
            await run.settled()
        token = slack.bot_token
    is_silent(log, token)


async def test_discord_s_library_writes_nothing_of_what_is_said(tmp_path: Path, log: Path) -> None:
    async with DiscordSimulator() as discord:
        alice = discord.person("alice")
        async with serving(discord, tmp_path / "store", lambda: solo(ANSWER)) as gateway:
            await alice.says(alice.direct, QUESTION)
            await discord.until(lambda: bot_texts(discord, alice.direct))
            await wait_delivered(gateway)
        token = discord.token
    is_silent(log, token)
