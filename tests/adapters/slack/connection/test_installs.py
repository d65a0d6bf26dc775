"""Installed by others: who may, with what tokens, and how it ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
from pydantic import SecretStr

from adapters.slack.config import Config
from adapters.slack.connection.installs import Installations
from adapters.slack.connection.oauth import States
from adapters.slack.connection.web_api import Calls, SlackClients
from adapters.slack.inbound.parse_events import parse_event
from adapters.slack.inbound.parsed import AccessGrant
from adapters.slack.settings_check import check
from adapters.slack.simulator import installs
from adapters.slack.simulator.installs import issue
from adapters.slack.testing import (
    Refusal,
    ServerError,
    SlackSimulator,
)
from adapters.slack.testing.faults import Fault
from gateway.adapter import AuthError
from gateway.store.tokens import TokenStore, new_key
from gateway.surface import CallRejected
from tests.adapters.slack.connection.test_errors import NOT_NOW
from tests.adapters.slack.process import free_port
from tests.adapters.slack.serving import ServedSlack, config_of, served
from tests.fakes.hand_clock import HandClock
from tests.fakes.new_store import new_store
from tests.fakes.proxy import FakeProxy


@asynccontextmanager
async def installable(
    slack: SlackSimulator, folder: Path, keys: dict[str, SecretStr], **more: Any
) -> AsyncGenerator[tuple[ServedSlack, str]]:
    """An app that others can install, and the address of its page."""
    for workspace in list(slack.world.workspaces):
        slack.person(f"admin-{workspace.lower()}", workspace=workspace)  # who agrees
    port = free_port()
    base = f"http://127.0.0.1:{port}/"
    app = replace(slack.world.app, rotation=True)
    await slack.use_app(app)
    settings = {
        "bot_token": None,
        "client_id": app.client_id,
        "client_secret": app.client_secret,
        "public_url": base,
        "port": port,
        "allowed_workspaces": ["T0HOME", "E0ORG"],
        **more,
    }
    async with served(slack, folder, settings=settings, keys=keys) as run:
        yield run, f"{base}slack/install"


@pytest.fixture
def short_lived(monkeypatch: pytest.MonkeyPatch) -> float:
    """The life of tokens, which end before Slack renews the connections."""
    monkeypatch.setattr(installs, "TOKEN_LIFE", 2000.0)
    return 2000.0


def fresh_keys() -> dict[str, SecretStr]:
    name, _, key = new_key().partition(":")
    return {name: SecretStr(key)}


async def install(address: str, proxy: str | None = None, **query: str) -> tuple[int, str]:
    """Somebody opens the page and agrees."""
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(cookie_jar=jar, proxy=proxy) as browser:
        async with browser.get(address, allow_redirects=False) as begun:
            onward = begun.headers["Location"]
        more = "".join(f"&{name}={value}" for name, value in query.items())
        async with browser.get(onward + more) as ended:
            return ended.status, await ended.text()


async def test_a_workspace_that_may_installs_and_is_served_after_a_restart(tmp_path: Path) -> None:
    keys = fresh_keys()
    async with SlackSimulator(rates=False, installed=False) as slack:
        async with installable(slack, tmp_path, keys) as (run, address):
            assert await install(address) == (200, page("The app is installed in Home."))
            asked = await slack.person("ann").asks("general", "hello")
            await run.until(lambda: slack.messages("general", asked)[1:])
            token = next(each for each in slack.world.grants if each.startswith("xoxe."))
        assert token.encode() not in on_disk(tmp_path)
        async with installable(slack, tmp_path, keys) as (run, _):
            again = await slack.person("ann").asks("general", "hello again")
            await run.until(lambda: slack.messages("general", again)[1:])
            answered = again
        slack.clock.advance(60)
        await slack.person("ann").says("general", "are you there?", thread=answered)
        slack.clock.advance(600)
        async with installable(slack, tmp_path, keys) as (run, _):
            await run.until(lambda: len(slack.messages("general", answered)) == 4)
        assert len(slack.calls("auth.test")) == 1  # once, when it was installed


async def test_an_installation_and_its_tokens_go_through_the_proxy_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FakeProxy(password="canary-of-a-proxy") as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        async with SlackSimulator(rates=False, installed=False) as slack:
            slack.add_workspace("T0EVIL", "Evil")
            async with installable(slack, tmp_path, fresh_keys()) as (run, address):
                assert (await install(address, proxy.url))[0] == 200
                assert (await install(address, proxy.url, team="T0EVIL"))[0] == 403
                asked = await slack.person("ann").asks("general", "hello")
                await run.until(lambda: slack.messages("general", asked)[1:])
        assert proxy.around == []
    paths = [urlsplit(target).path for target in proxy.targets]
    assert paths.count("/slack/oauth_redirect") == 2  # the browser's
    assert paths.count("/api/oauth.v2.access") == 2
    assert "/api/auth.revoke" in paths


def on_disk(folder: Path) -> bytes:
    return b"".join(each.read_bytes() for each in folder.iterdir() if each.is_file())


def page(text: str) -> str:
    return f"<!doctype html><title>Parley</title><p>{text}</p>"


async def test_a_workspace_that_may_not_gets_its_token_revoked(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "adapters.slack")
    async with SlackSimulator(rates=False, installed=False) as slack:
        slack.add_workspace("T0EVIL", "Evil")
        async with installable(slack, tmp_path, fresh_keys()) as (run, address):
            status, text = await install(address, team="T0EVIL")
            assert status == 403
            assert "T0EVIL" not in text
            assert "T0EVIL is not among allowed_workspaces" in caplog.text
            grants = [each for each in slack.world.grants.values() if each.kind == "bot"]
            assert [each.revoked for each in grants] == [True]
            assert await run.gateway.tokens.names() == []


async def test_a_state_is_good_for_its_own_browser_whoever_asks_how_often_meanwhile(
    tmp_path: Path,
) -> None:
    async with (
        SlackSimulator(rates=False, installed=False) as slack,
        installable(slack, tmp_path, fresh_keys()) as (_, address),
        aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser,
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as other,
    ):
        async with browser.get(address, allow_redirects=False) as begun:
            onward = begun.headers["Location"]
        async with browser.get(onward, allow_redirects=False) as agreed:
            back = agreed.headers["Location"]
        reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(address).port)
        writer.write(b"GET /slack/install HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1001)
        for _ in range(1001):
            assert b" 302 " in await reader.readuntil(b"\r\n\r\n")
        writer.close()
        for cookie in ("", "parley-slack-state=x", "parley-slack-state=\udcff", "\udcff"):
            async with other.get(back, headers={"Cookie": cookie}) as refused:
                assert refused.status == 400
        assert not slack.calls("oauth.v2.access")
        async with browser.get(back) as used:
            assert used.status == 200
        async with browser.get(back) as again:
            assert again.status == 400


def test_a_state_is_one_that_was_signed_lately() -> None:
    clock = HandClock()
    states = States("secret", clock.time)
    first, second = states.make(), states.make()
    assert first != second
    assert States("secret", clock.time).is_valid(first)  # another node's
    at, nonce, mac = first.split(".")
    for forged in (
        *("", ".", "..", "x", mac, f"{at}.{nonce}", f"{at}.{nonce}.", f"{at}.{nonce}.{mac[:-1]}"),
        *(f"{int(at) + 1}.{nonce}.{mac}", f"{at}.{nonce}x.{mac}", f"{first} ", f"{first}\u00e4"),
        *("\udcff", States("other", clock.time).make(), first.upper()),
    ):
        assert not states.is_valid(forged), forged
    clock.advance(600)
    assert states.is_valid(second)
    clock.advance(1)
    assert not states.is_valid(second)
    clock.advance(-700)
    assert not states.is_valid(second)


async def test_an_organisation_installs_for_all_its_workspaces(tmp_path: Path) -> None:
    keys = fresh_keys()
    async with SlackSimulator(rates=False, installed=False) as slack:
        slack.add_workspace("T0ONE", "One", enterprise="E0ORG")
        slack.add_workspace("T0TWO", "Two", enterprise="E0ORG")
        slack.add_channel("hall", workspace="T0ONE")
        slack.add_channel("yard", workspace="T0TWO")
        async with installable(slack, tmp_path, keys) as (run, address):
            assert (await install(address, team="T0ONE", org_wide="1"))[0] == 200
            for channel, workspace in (("hall", "T0ONE"), ("yard", "T0TWO")):
                person = slack.person(f"ann{channel}", workspace=workspace)
                mention = f"<@{slack.world.bot(workspace).id}>"
                asked = await person.says(channel, f"{mention} hello")
                await run.until(lambda c=channel, a=asked: slack.messages(c, a)[1:])
            assert {each.partition("/")[2][:5] for each in await run.inbox("conversation")} == {
                "T0ONE",
                "T0TWO",
            }
        async with installable(slack, tmp_path, keys) as (run, _):
            assert sorted(await run.gateway.tokens.names()) == [
                "slack:install:E0ORG",
                "slack:install:T0ONE",
                "slack:install:T0TWO",
            ]


async def test_a_token_of_an_organisation_serves_all_its_workspaces(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False, installed=False) as slack:
        token = issue(slack.world, enterprise="E0ORG").token
        slack.add_workspace("T0ONE", "One", enterprise="E0ORG")
        slack.add_channel("hall", workspace="T0ONE")
        slack.add_workspace("T0TWO", "Two", enterprise="E0ORG")
        slack.add_channel("yard", workspace="T0TWO")
        about = await check(config_of(slack, bot_token=token), [])
        assert "One (T0ONE), Two (T0TWO)" in about.text
        assert not about.problems
        async with served(slack, tmp_path, settings={"bot_token": token}) as run:
            slack.add_workspace("T0NEW", "New", enterprise="E0ORG")
            slack.add_channel("roof", workspace="T0NEW")
            for channel, team in (("hall", "T0ONE"), ("yard", "T0TWO"), ("roof", "T0NEW")):
                person = slack.person(f"ann{channel}", workspace=team)
                asked = await person.says(channel, f"<@{slack.world.bot(team).id}> hello")
                await run.until(lambda c=channel, a=asked: slack.messages(c, a)[1:])
            assert [each.split("/")[1] for each in await run.inbox("conversation")] == [
                "T0ONE",
                "T0TWO",
                "T0NEW",
            ]


@pytest.mark.parametrize("first", ["event", "grant"])
async def test_an_organisation_that_grants_a_workspace_later_is_served_there(
    tmp_path: Path, first: str
) -> None:
    async with SlackSimulator(rates=False, installed=False) as slack:
        token = issue(slack.world, enterprise="E0ORG").token
        about = await check(config_of(slack, bot_token=token), [])
        assert about.text.startswith("no workspace yet.")
        async with served(slack, tmp_path, settings={"bot_token": token}) as run:
            slack.add_workspace("T0NEW", "New", enterprise="E0ORG")
            roof = slack.add_channel("roof", workspace="T0NEW")
            if first == "grant":
                slack.grant_access("T0NEW")
                await run.settled()
            person = slack.person("ann", workspace="T0NEW")
            asked = await person.says("roof", f"<@{slack.world.bot('T0NEW').id}> hello")
            await run.until(lambda: slack.messages("roof", asked)[1:])
            assert roof.team == "T0NEW"


async def test_a_workspace_that_is_granted_is_known_before_its_first_event(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False, installed=False) as slack:
        token = issue(slack.world, enterprise="E0ORG").token
        slack.add_workspace("T0NEW", "New", enterprise="E0ORG")
        async with SlackClients(config_of(slack, bot_token=token)) as clients:
            slack.add_workspace("T0TWO", "Two", enterprise="E0ORG")
            slack.grant_access("T0TWO")
            body = slack.deliveries[-1].payload
            found = parse_event(body, clients.me("E0ORG"))
            assert found == AccessGrant(("T0TWO",), "E0ORG")
            await clients.client_of("T0TWO", enterprise="E0ORG")
            assert [each.id for each in clients.workspaces] == ["T0NEW", "T0TWO"]


async def test_a_workspace_that_is_not_granted_any_more_may_be_granted_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with SlackSimulator(rates=False, installed=False) as slack:
        token = issue(slack.world, enterprise="E0ORG").token
        slack.add_workspace("T0NEW", "New", enterprise="E0ORG")
        async with SlackClients(config_of(slack, bot_token=token)) as clients:
            calls = Calls(clients)
            slack.fail("users.info", Refusal("team_access_not_granted"))
            with pytest.raises(CallRejected) as refused:
                await calls.read("T0NEW", "users.info", user="U1")
            assert refused.value.gone
            assert not [*clients.workspaces]
            await clients.client_of("T0NEW", enterprise="E0ORG")
            slack.fail("users.info", Refusal("token_revoked"))
            with pytest.raises(AuthError):
                await calls.read("T0NEW", "users.info", user="U1")


@pytest.mark.chaos
async def test_tokens_are_renewed_before_they_expire_and_kept(tmp_path: Path) -> None:
    keys = fresh_keys()
    async with SlackSimulator(rates=False, installed=False) as slack:
        async with installable(slack, tmp_path, keys) as (run, address):
            await install(address)
            for hours in range(1, 4):
                slack.clock.advance(11.8 * 3600)
                await run.until(lambda: len(slack.sockets.live) == 2)
                asked = await slack.person("ann").asks("general", "hello")
                await run.until(lambda a=asked: slack.messages("general", a)[1:])
                renewals = [
                    each
                    for each in slack.calls("oauth.v2.access")
                    if each.arguments.get("grant_type") == "refresh_token"
                ]
                assert len(renewals) == hours
        newest = [each for each in slack.world.grants.values() if each.refresh][-1]
        store = new_store(tmp_path)
        kept = await TokenStore(store, keys).get("slack:install:T0HOME")
        assert kept is not None
        assert newest.token in kept.get_secret_value()


@pytest.mark.parametrize("fault", NOT_NOW[:6], ids=str)
async def test_an_event_whose_token_can_not_be_renewed_just_now_comes_again(
    tmp_path: Path, short_lived: float, fault: Fault
) -> None:
    async with (
        SlackSimulator(rates=False, installed=False) as slack,
        installable(slack, tmp_path, fresh_keys()) as (run, address),
    ):
        await install(address)
        slack.clock.advance(short_lived)
        slack.fail("oauth.v2.access", fault, times=-1)
        before, renewals = len(slack.deliveries), len(slack.calls("oauth.v2.access")) + 2
        asked = await slack.person("ann").asks("general", "hello")
        await run.until(lambda: len(slack.calls("oauth.v2.access")) >= renewals)
        assert not any(each.acked for each in slack.deliveries[before:])
        slack.faults.clear()
        slack.clock.advance(61)
        await run.until(lambda: slack.messages("general", asked)[1:])
        await run.settled()
        assert await run.inbox() == ["turn"]


async def test_an_event_that_slack_gave_up_while_no_token_could_be_renewed_is_read(
    tmp_path: Path, short_lived: float
) -> None:
    async with (
        SlackSimulator(rates=False, installed=False) as slack,
        installable(slack, tmp_path, fresh_keys()) as (run, address),
    ):
        await install(address)
        slack.clock.advance(short_lived)
        slack.fail("oauth.v2.access", ServerError(503), times=-1)
        slack.world.deliveries.retry_after = ()
        asked = await slack.person("ann").asks("general", "hello")
        await run.noted()
        slack.clock.advance(5)
        await run.until(lambda: all(each.lost for each in slack.deliveries if not each.acked))
        slack.faults.clear()
        await run.until(lambda: slack.clock.advance(1) or slack.messages("general", asked)[1:])
        assert await run.inbox() == ["turn"]


async def rotating(slack: SlackSimulator) -> Config:
    """The config of an app whose tokens rotate; "c" installs it."""
    app = replace(slack.world.app, rotation=True)
    await slack.use_app(app)
    config = config_of(
        slack,
        bot_token=None,
        client_id=app.client_id,
        client_secret=app.client_secret,
        public_url="https://parley.example/",
        allowed_workspaces=["T0HOME"],
    )
    person = slack.person("ann").id
    code = {"workspace": "T0HOME", "enterprise": "", "user": person, "redirect_uri": "r"}
    slack.world.codes["c"] = code
    return config


@pytest.mark.parametrize("when", ["before its end", "after its end", "at once"])
async def test_a_token_that_another_node_renews_is_no_dead_one(tmp_path: Path, when: str) -> None:
    store, keys = new_store(tmp_path), fresh_keys()
    async with SlackSimulator(rates=False, installed=False) as slack, store.own():
        config = await rotating(slack)
        nodes = [
            Installations(config, TokenStore(store, keys), clock=slack.clock.time) for _ in "ab"
        ]
        clients = [SlackClients(config, node) for node in nodes]
        async with clients[0] as first, clients[1] as second:
            await nodes[0].exchange("c", "r", first.new_client)
            await second.client_of("T0HOME")
            slack.clock.advance(12 * 3600 - 1000)
            if when == "at once":
                slack.clock.advance(2000)
                served = await asyncio.gather(*(each.client_of("T0HOME") for each in clients))
            else:
                served = [await first.client_of("T0HOME")]
                slack.clock.advance(2000 * when.startswith("after"))
                served.append(await second.client_of("T0HOME"))
            assert served[0].token == served[1].token
        grants = [each for each in slack.world.grants.values() if each.refresh]
        assert [each.token for each in grants] == [served[0].token]


async def test_a_refused_refresh_token_is_asked_about_once_a_minute(tmp_path: Path) -> None:
    store, keys = new_store(tmp_path), fresh_keys()
    async with SlackSimulator(rates=False, installed=False) as slack, store.own():
        config = await rotating(slack)
        node = Installations(config, TokenStore(store, keys), clock=slack.clock.time)
        async with SlackClients(config, node) as clients:
            await node.exchange("c", "r", clients.new_client)
            slack.fail("oauth.v2.access", Refusal("invalid_refresh_token"), times=-1)
            before = len(slack.calls("oauth.v2.access"))

            def asked() -> int:
                return len(slack.calls("oauth.v2.access")) - before

            slack.clock.advance(12 * 3600 - 1000)
            await asyncio.gather(*(clients.client_of("T0HOME") for _ in range(5)))
            assert asked() == 1
            slack.clock.advance(61)
            await clients.client_of("T0HOME")
            assert asked() == 2
            slack.clock.advance(1000)
            for _ in range(3):
                with pytest.raises(CallRejected) as refused:
                    await clients.client_of("T0HOME")
                assert refused.value.gone
            assert asked() == 3


@pytest.mark.parametrize("how", ["uninstall", "revoke"])
async def test_a_workspace_that_goes_is_forgotten_and_may_come_back(
    tmp_path: Path, how: str
) -> None:
    async with (
        SlackSimulator(rates=False, installed=False) as slack,
        installable(slack, tmp_path, fresh_keys()) as (run, address),
    ):
        await install(address)
        asked = await slack.person("ann").asks("general", "hello")
        await run.until(lambda: slack.messages("general", asked)[1:])
        getattr(slack, how)("T0HOME")
        async with asyncio.timeout(5):
            while await run.gateway.tokens.names():  # noqa: ASYNC110 (a task of the adapter's)
                await asyncio.sleep(0.01)
        assert not run.adapter.done()
        await install(address)
        again = await slack.person("ann").asks("general", "hello again")
        await run.until(lambda: slack.messages("general", again)[1:])
