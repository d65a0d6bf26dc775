"""The Slack page: its settings are served, and its commands run."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from adapters.slack.simulator.clock import RealClock
from adapters.slack.testing import SlackSimulator
from gateway.app.load import load_config
from gateway.store.tokens import new_key
from tests.adapters.slack.process import BLOCK, PAGE, TOML, Shell, free_port, settings, write

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
    monkeypatch.setenv("CRITIC_BOT_TOKEN", "xoxb-2")
    monkeypatch.setenv("CRITIC_APP_TOKEN", "xapp-2")
    monkeypatch.setenv("SLACK_SIGNING_SECRET", "s3cret")
    monkeypatch.setenv("SLACK_CLIENT_SECRET", "s3cret")
    monkeypatch.setenv("PARLEY_KEYS", new_key())


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("block", TOML)
def test_every_setting_of_the_page_loads(tmp_path: Path, block: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(block.replace("0123ABCD", "0HOME"), encoding="utf-8")
    assert "slack" in load_config(path).adapters


def printed(output: str) -> dict[str, Any]:
    """The manifest, above its link."""
    return json.loads(output.partition("\nOr create")[0])


async def answered(slack: SlackSimulator, text: str) -> None:
    """Somebody asks, and the team answers in the thread."""
    asked = await slack.person("ann").asks("general", text)
    await slack.until(lambda: slack.messages("general", asked)[1:], within=40)
    assert slack.messages("general", asked)[1].author == slack.bot.id


@pytest.mark.chaos
@pytest.mark.timeout(120)  # four processes, one after the other
async def test_the_way_from_nothing_to_a_running_bot(tmp_path: Path) -> None:
    assert COMMANDS == ["parley slack manifest --name Parley", "parley check", "parley serve"]
    async with SlackSimulator(clock=RealClock(), installed=False) as slack:
        shell = Shell(tmp_path, {"SLACK_APP_TOKEN": slack.app_token, "SLACK_BOT_TOKEN": ""})
        manifest = printed(await shell.output(COMMANDS[0]))
        await slack.use_app(slack.world.app.with_manifest(manifest))
        token = shell.environment["SLACK_BOT_TOKEN"] = slack.install().token
        shell.secrets += [slack.app_token, token]
        write(tmp_path, settings(TOML[0], slack, free_port()))
        assert "Home (T0HOME)" in await shell.output(COMMANDS[1])
        async with shell.serving():
            await slack.until(lambda: len(slack.sockets.live) == 2, within=60)
            await answered(slack, "hello")
            shell.secrets += [each.request.query["ticket"] for each in slack.sockets.connections]


@pytest.mark.chaos
@pytest.mark.timeout(120)  # three processes, one after the other
async def test_slack_calls_the_address_of_the_page(tmp_path: Path) -> None:
    port = free_port()
    async with SlackSimulator(clock=RealClock()) as slack:
        shell = Shell(
            tmp_path,
            {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_SIGNING_SECRET": slack.signing_secret},
            [slack.bot_token, slack.signing_secret],
        )
        write(tmp_path, settings(TOML[1], slack, port))
        manifest = printed(await shell.output("parley slack manifest"))
        app = slack.world.app.with_manifest(manifest)
        assert (app.socket_mode, app.url) == (False, "https://parley.example.com/slack/events")
        assert "Home (T0HOME)" in await shell.output("parley check")
        async with shell.serving():
            await up(f"http://127.0.0.1:{port}/")
            # What stands between them, and ends TLS, is left out.
            url = f"http://127.0.0.1:{port}/slack/events"
            assert await slack.use_app(replace(app, url=url))
            await answered(slack, "hello")
            assert {each.attempts[0].via for each in slack.deliveries} == {url}


@pytest.mark.chaos
@pytest.mark.timeout(120)  # three processes, one after the other
async def test_somebody_installs_the_app_at_the_address_of_the_page(tmp_path: Path) -> None:
    port = free_port()
    public, here = "https://parley.example.com/", f"http://127.0.0.1:{port}/"
    async with SlackSimulator(clock=RealClock(), installed=False) as slack:
        slack.person("admin")
        key = new_key()
        shell = Shell(
            tmp_path,
            {
                "SLACK_APP_TOKEN": slack.app_token,
                "SLACK_CLIENT_SECRET": slack.world.app.client_secret,
                "PARLEY_KEYS": key,
            },
            [slack.app_token, slack.world.app.client_secret, key],
        )
        write(tmp_path, settings(TOML[2], slack, port))
        manifest = printed(await shell.output("parley slack manifest"))
        await slack.use_app(slack.world.app.with_manifest(manifest))
        async with shell.serving():
            await up(here)
            async with aiohttp.ClientSession() as browser:
                begun = await browser.get(f"{here}slack/install", allow_redirects=False)
                agreed = await browser.get(begun.headers["Location"], allow_redirects=False)
                assert agreed.status == 302, await agreed.text()
                back = agreed.headers["Location"]
                assert back.startswith(f"{public}slack/oauth_redirect?code=")
                cookie = begun.headers["Set-Cookie"].partition(";")[0]
                ended = await browser.get(back.replace(public, here), headers={"Cookie": cookie})
                assert "The app is installed in Home." in await ended.text()
            await answered(slack, "hello")
            shell.secrets += [each for each in slack.world.grants if each.startswith("xox")]
        async with shell.serving():  # its token is kept
            await slack.until(lambda: len(slack.sockets.live) == 2, within=60)
            await answered(slack, "hello again")
        assert len([each for each in slack.world.grants if each.startswith("xox")]) == 1


async def up(address: str) -> None:
    """Wait until something listens there."""
    async with asyncio.timeout(60), aiohttp.ClientSession() as session:
        while True:
            try:
                await session.get(address)
            except aiohttp.ClientError:
                await asyncio.sleep(0.05)
            else:
                return
