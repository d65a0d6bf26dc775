"""The page about Slack: its settings load, and its commands run, in an empty folder."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from adapters.slack.simulator import SlackSimulator
from adapters.slack.simulator.clock import RealClock
from gateway.config import load_config
from gateway.token_store import new_key

PAGE = (Path(__file__).parents[3] / "docs" / "slack.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)( no-run)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TOML = [found[3] for found in BLOCK.finditer(PAGE) if found[1] == "toml"]
COMMANDS = [
    line
    for found in BLOCK.finditer(PAGE)
    if found[1] == "sh" and not found[2]
    for line in found[3].splitlines()
]


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-1")
    monkeypatch.setenv("SLACK_APP_TOKEN", "xapp-1")
    monkeypatch.setenv("SLACK_SIGNING_SECRET", "s3cret")
    monkeypatch.setenv("SLACK_CLIENT_SECRET", "s3cret")
    monkeypatch.setenv("PARLEY_KEYS", new_key())


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("block", TOML)
def test_every_setting_of_the_page_loads(tmp_path: Path, block: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(block, encoding="utf-8")
    assert "slack" in load_config(path).adapters


@pytest.mark.timeout(120)  # four processes, one after the other
async def test_the_way_from_nothing_to_a_running_bot(tmp_path: Path) -> None:
    assert COMMANDS == ["parley slack manifest --name Parley", "parley check", "parley serve"]
    async with SlackSimulator(clock=RealClock(), installed=False) as slack:
        ann = slack.person("ann")
        environment = {**os.environ, "SLACK_APP_TOKEN": slack.app_token, "SLACK_BOT_TOKEN": ""}

        async def run(command: str) -> asyncio.subprocess.Process:
            program = [sys.executable, "-m", "gateway.cli", *shlex.split(command)[1:]]
            return await asyncio.create_subprocess_exec(
                *program,
                cwd=tmp_path,
                env=environment,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )

        async def output(command: str) -> str:
            process = await run(command)
            written, _ = await process.communicate()
            assert process.returncode == 0, written.decode()
            return written.decode()

        manifest = json.loads(await output(COMMANDS[0]))
        await slack.use_app(slack.world.app.with_manifest(manifest))
        environment["SLACK_BOT_TOKEN"] = slack.install().token
        # The page's own settings, and where Slack is instead of where it really is.
        config = TOML[0].replace(
            "[adapters.slack]", f'[adapters.slack]\napi_url = "{slack.api_url}"'
        )
        config += '\n[logging]\nlevel = "debug"\n'
        (tmp_path / "config.toml").write_text(config, encoding="utf-8")
        assert "Home (T0HOME)" in await output(COMMANDS[1])
        serving = await run(COMMANDS[2])
        try:
            await slack.until(lambda: len(slack.sockets.live) == 2, within=60)
            asked = await ann.asks("general", "hello")
            await slack.until(lambda: slack.messages("general", asked)[1:], within=40)
        finally:
            serving.terminate()
            written, _ = await serving.communicate()
        assert serving.returncode == 0, written.decode()
        log = written.decode()
        assert "serving slack" in log
        tickets = [each.request.query["ticket"] for each in slack.sockets.connections]
        for secret in (slack.app_token, environment["SLACK_BOT_TOKEN"], *tickets):
            assert secret not in log
