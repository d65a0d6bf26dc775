"""kill -9 during file downloads: the message keeps its files."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from adapters.slack.simulator.clock import RealClock
from adapters.slack.testing import SlackSimulator
from tests.adapters.slack.process import TOML, Shell, free_port, settings, write

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(120)]


async def test_files_that_were_on_their_way_when_it_was_killed_are_fetched_by_the_next(
    tmp_path: Path,
) -> None:
    async with SlackSimulator(clock=RealClock()) as slack:
        ann = slack.person("ann")
        tokens = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}
        shell = Shell(tmp_path, tokens, [*tokens.values()])
        write(tmp_path, settings(TOML[0], slack, free_port()))
        slack.files.hold()
        async with shell.serving() as process:
            await slack.until(lambda: len(slack.sockets.live) == 2, within=60)
            shared = await ann.uploads(ann.direct, "plan.txt", b"buy bread", text="see")
            await slack.until(lambda: slack.files.seen and not slack.unacknowledged, within=40)
            process.kill()
        slack.files.release()
        async with shell.serving():
            await slack.until(lambda: slack.messages(ann.direct, shared)[1:], within=60)
        assert len(slack.files.seen) == 2
        store = sqlite3.connect(tmp_path / "parley" / "parley.db")
        assert store.execute("SELECT name FROM attachments").fetchall() == [("plan.txt",)]
        assert store.execute("SELECT outcome FROM inbox").fetchall() == [("turn",)]
        store.close()
