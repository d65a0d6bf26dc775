"""Everything goes through the proxy, or around it where NO_PROXY says so."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest

from adapters.discord.testing import DiscordSimulator
from adapters.slack.testing import SlackSimulator
from gateway.app.check import check_config
from gateway.app.findings import table
from gateway.app.load import load_config
from gateway.base.proxy_connector import ProxyConnector
from gateway.registry import ToolRule
from tests.adapters.discord.serving import bot_texts, ring, serving, thread_of
from tests.adapters.slack.serving import served
from tests.fakes.openai_script import Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.proxy import FakeProxy
from tests.gateway.scripted import calls, solo

PASSWORD = "canary-of-a-proxy"
NAMES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy")


@pytest.fixture(autouse=True)
def no_proxy_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's own proxies; what a test's config sets goes again, too."""
    for name in NAMES:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


@pytest.fixture(params=["", PASSWORD], ids=["open", "with a password"])
async def proxy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch):
    async with FakeProxy(password=request.param) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        yield proxy


def paths(proxy: FakeProxy) -> str:
    return "\n".join(urlsplit(target).path for target in proxy.targets)


async def test_slack_is_reached_through_the_proxy_alone(
    tmp_path: Path, proxy: FakeProxy, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    answers = (calls("ring", ring='{"bell": "big"}'), "It rang.")
    team = partial(solo, tools=[ring], messages=9)
    rules = {"ring": ToolRule(action="ask")}
    async with (
        SlackSimulator(rates=False) as slack,
        served(slack, tmp_path, team, answers=answers, rules=rules) as run,
    ):
        ann = slack.person("ann")
        asked = await ann.uploads(ann.direct, "a.txt", b"hello", text="read it")
        await run.until(lambda: slack.messages(ann.direct, asked)[1:])
        shown = slack.messages(ann.direct, asked)
        await ann.clicks(next(each.ts for each in shown if each.buttons), "Approve")
        await run.until(lambda: "/response/" in paths(proxy))
        assert proxy.around == []
    sockets = [target for target in proxy.targets if target.startswith("ws:")]
    assert len(sockets) == 2
    for part in ("/api/auth.test", "/api/apps.connections.open", "/files-pri/", "/response/"):
        assert part in paths(proxy)
    assert PASSWORD not in caplog.text


async def test_discord_is_reached_through_the_proxy_alone(
    tmp_path: Path,
    discord: DiscordSimulator,
    proxy: FakeProxy,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    async with serving(discord, tmp_path, lambda: solo("Read.")):
        general, alice = discord.channel("general"), discord.person("alice")
        asked = await alice.mentions(general, "read it", files=[("a.txt", b"hello", "text/plain")])
        await discord.until(lambda: asked.thread and bot_texts(discord, thread_of(asked)))
        assert proxy.around == []
    assert any(target.startswith("ws:") for target in proxy.targets)
    for part in ("/users/@me", "/gateway/bot", "/attachments/", "/messages"):
        assert part in paths(proxy)
    assert PASSWORD not in caplog.text


async def test_hosts_of_no_proxy_are_reached_around_it(
    tmp_path: Path,
    discord: DiscordSimulator,
    proxy: FakeProxy,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path / "slack") as run:
        asked = await slack.person("ann").asks("general", "hello")
        await run.until(lambda: slack.messages("general", asked)[1:])
    async with serving(discord, tmp_path / "discord", lambda: solo("One.")):
        alice = discord.person("alice")
        await alice.says(alice.direct, "hello")
        await discord.until(lambda: bot_texts(discord, alice.direct))
    assert proxy.targets == []
    assert proxy.around


CONFIG = """
[network]
proxy_env = "THE_PROXY"

[models.m]
model = "gpt-4o"
base_url = "{model}"
api_key = "sk-good"

[teams.t]
type = "round_robin"
max_turns = 2
[teams.t.agents.a]
type = "assistant"

[[routes]]
adapter = "slack"
channels = "*"
users = "members"

[[routes]]
adapter = "discord"
guild = "{guild}"
channels = "*"
users = "members"

[health]
port = 0

[adapters.slack]
bot_token = "{slack.bot_token}"
app_token = "{slack.app_token}"
api_url = "{slack.api_url}"

[adapters.discord]
token = "{discord.token}"
api_url = "{discord.api_url}"
gateway_url = "{discord.gateway_url}"
"""


@pytest.mark.parametrize("password", ["", PASSWORD], ids=["open", "with a password"])
async def test_check_asks_models_and_platforms_through_the_proxy_of_the_config(
    tmp_path: Path, discord: DiscordSimulator, monkeypatch: pytest.MonkeyPatch, password: str
) -> None:
    async with (
        FakeProxy(password=password) as proxy,
        FakeOpenAI(Reply(text="ok")) as model,
        SlackSimulator(rates=False) as slack,
    ):
        monkeypatch.setenv("THE_PROXY", proxy.url)
        guild = discord.guild("ours").id
        text = CONFIG.format(model=model.url, slack=slack, discord=discord, guild=guild)
        (tmp_path / "config.toml").write_text(text)
        proxy.around.clear()
        findings = await check_config(load_config(tmp_path / "config.toml"), offline=False)
        assert proxy.around == []
    assert {each.kind for each in findings if each.good} >= {"model", "chat", "team"}
    assert "/chat/completions" in paths(proxy)
    assert "/api/auth.test" in paths(proxy)
    assert "/users/@me" in paths(proxy)
    assert PASSWORD not in table(findings)


async def test_what_a_proxy_refuses_is_said_without_its_password(
    tmp_path: Path, discord: DiscordSimulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FakeProxy(password="another") as proxy, FakeOpenAI() as model:
        wrong = proxy.url.replace("another", PASSWORD)
        monkeypatch.setenv("THE_PROXY", wrong)
        async with SlackSimulator(rates=False) as slack:
            text = CONFIG.format(model=model.url, slack=slack, discord=discord, guild=1)
            (tmp_path / "config.toml").write_text(text)
            findings = await check_config(load_config(tmp_path / "config.toml"), offline=False)
    bad = [each for each in findings if not each.good]
    assert {each.name for each in bad} == {"m", "slack", "discord"}
    assert "407" in table(bad)
    assert PASSWORD not in table(findings)
    assert proxy.targets == []


@pytest.mark.parametrize("url", ["https://slack.invalid/api/", "wss://gateway.invalid/"])
async def test_secure_addresses_are_tunnelled(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    async with FakeProxy(password="another") as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("another", PASSWORD))
        async with aiohttp.ClientSession(connector=ProxyConnector()) as session:
            with pytest.raises(aiohttp.ClientHttpProxyError) as error:
                await (session.ws_connect(url) if url.startswith("wss") else session.get(url))
    assert error.value.status == 407
    assert PASSWORD not in str(error.value)
    assert proxy.refused == 1
