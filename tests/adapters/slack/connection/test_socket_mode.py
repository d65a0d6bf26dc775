"""Socket Mode failures: nothing acknowledged is lost, nothing is taken twice."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from pathlib import Path

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack import Config, adapter
from adapters.slack.adapter import SlackAdapter
from adapters.slack.connection import socket_mode as sockets
from adapters.slack.inbound import handler
from adapters.slack.testing import (
    ConnectionReset,
    Delay,
    Fault,
    MalformedAnswer,
    Refusal,
    ServerError,
    SlackSimulator,
    TooManyRequests,
    TruncatedAnswer,
)
from gateway.adapter import AuthError
from gateway.gateway import Gateway
from gateway.missed import DAY
from tests.adapters.slack.serving import config_of, connected, served
from tests.fakes.new_store import new_store
from tests.fakes.proxy import FakeProxy
from tests.gateway.scripted import ScriptedTeams, solo


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reconnects wait hardly at all."""
    monkeypatch.setattr(sockets, "FIRST_WAIT", 0.05)
    monkeypatch.setattr(sockets, "LONGEST_WAIT", 0.2)


async def test_two_connections_stand_and_an_event_of_both_is_taken_once(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        assert len(slack.sockets.live) == 2
        slack.sockets.duplicate = 2
        asked = await slack.person("ann").asks("general", "hello")
        await run.settled()
        assert await run.inbox() == ["turn"]
        await run.until(lambda: slack.messages("general", asked)[1:])
        assert run.gateway.vitals.platforms.ready


async def test_both_connections_cut_at_once_come_back_and_miss_nothing(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        slack.sockets.abort()
        ann = slack.person("ann")
        await ann.tells("while nobody is there")
        await run.until(connected(slack))
        slack.clock.advance(61)  # Slack tries again after a minute
        await run.accepted(1)
        await ann.tells("and after that")
        await run.accepted(2)
        await run.until(lambda: run.asked == 2)
        assert await run.inbox() == ["turn", "turn"]


async def test_a_refresh_leaves_no_moment_without_a_connection(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        before = list(slack.sockets.live)
        fewest = 2
        slack.sockets.disconnect("refresh_requested")

        def renewed() -> bool:
            nonlocal fewest
            fewest = min(fewest, len(slack.sockets.live))
            return not any(each in slack.sockets.live for each in before)

        await run.until(renewed)
        assert fewest >= 1
        assert len(slack.sockets.live) == 2


@pytest.mark.parametrize("kind", ["mute", "server closes", "too many"])
async def test_other_ways_to_lose_a_connection(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "STALE", 3.0)
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        before = list(slack.sockets.live)
        match kind:
            case "mute":
                for connection in before:
                    connection.mute = True
            case "server closes":
                await slack.sockets.close()
            case _:
                for connection in before:
                    connection.send({"type": "disconnect", "reason": "too_many_websockets"})
        await run.until(lambda: len([c for c in slack.sockets.live if c not in before]) == 2)
        for connection in before:
            connection.open = False
        asked = await slack.person("ann").asks("general", "hello")
        await run.until(lambda: slack.messages("general", asked)[1:])


async def test_half_open_sockets_are_replaced_and_the_platform_is_shown_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "STALE", 1.0)
    async with FakeProxy() as proxy, SlackSimulator(rates=False) as slack:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        async with served(slack, tmp_path) as run:
            state = run.gateway.vitals.platforms.states
            await run.until(lambda: state().get("slack", ("",))[0] == "connected")
            before = list(slack.sockets.live)
            slack.fail("apps.connections.open", Refusal("internal_error"), times=6)
            proxy.freeze()
            await run.until(lambda: state().get("slack", ("",))[0] == "connecting")
            await run.until(lambda: state().get("slack", ("",))[0] == "connected")
            assert any(each not in before for each in slack.sockets.live)
            for connection in before:
                connection.open = False
            asked = await slack.person("ann").asks("general", "hello")
            await run.until(lambda: slack.messages("general", asked)[1:])


class Ending(logging.Handler):
    """Ends whoever has just opened a connection."""

    def emit(self, record: logging.LogRecord) -> None:
        task = asyncio.current_task()
        if record.getMessage().endswith("is open") and task is not None:
            task.cancel()


async def test_a_connection_whose_keeper_ends_as_it_closes_it_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, sockets.LOG.name)
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        old = slack.sockets.live[0]
        monkeypatch.setattr(sockets.LOG, "handlers", [Ending()])
        slack.sockets.disconnect("refresh_requested", old)
        await run.until(lambda: not old.open)


async def test_a_deaf_connection_is_replaced_in_less_than_twenty_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Measured with a short STALE: nothing else may make it late."""
    stale, short = sockets.STALE, 1.0
    monkeypatch.setattr(sockets, "STALE", short)
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        before, begun = {*slack.sockets.live}, time.monotonic()
        for connection in before:
            connection.mute = True
        await run.until(lambda: len({*slack.sockets.live} - before) == 2)
        late = time.monotonic() - begun - short
        for connection in before:
            connection.open = False
    assert max(stale, sockets.CONNECT_SECONDS) + late < 20


async def test_an_end_waits_no_longer_than_a_moment_for_an_unwilling_peer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "CLOSE_SECONDS", 0.1)
    async with SlackSimulator(rates=False) as slack:
        slack.sockets.stubborn = True
        async with served(slack, tmp_path) as run:
            assert run
            started = asyncio.get_running_loop().time()
        assert asyncio.get_running_loop().time() - started < 2


@pytest.mark.parametrize(
    "fault",
    [
        Refusal("internal_error"),
        TooManyRequests(),
        ServerError(),
        ConnectionReset(),
        TruncatedAnswer(),
        MalformedAnswer(),
    ],
    ids=lambda fault: type(fault).__name__,
)
async def test_what_is_not_stored_is_not_acknowledged_and_comes_again(
    tmp_path: Path, fault: Fault
) -> None:
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        slack.fail("users.info", fault, times=1)
        ann = slack.person("ann")
        await ann.tells("hello")
        await run.until(lambda: slack.calls("users.info"))
        delivery = slack.deliveries[0]
        assert not delivery.acked
        slack.clock.advance(3.5)
        slack.clock.advance(61)
        await run.until(lambda: delivery.acked)
        assert len(delivery.attempts) > 1
        assert len(await run.inbox()) == 1  # its thread was read at once, and it came again


async def test_a_crowd_is_acknowledged_within_the_seconds_that_slack_waits(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        ann = slack.person("ann")
        for n in range(30):
            await ann.asks("general", f"question {n}")
        await ann.commands("general", "/parley", "help")
        await ann.opens_app("home")
        await run.accepted(31)
        await run.settled()
        assert max(each.latency or 9 for each in slack.deliveries) < 3
        assert len(slack.calls("auth.test")) == 1  # at the start, and never for an event


@pytest.mark.parametrize("wrong", ["bot_token", "app_token"])
async def test_a_token_that_slack_refuses_ends_the_adapter_with_a_sentence(
    tmp_path: Path, wrong: str
) -> None:
    async with SlackSimulator(rates=False) as slack:
        prefix = "xoxb-" if wrong == "bot_token" else "xapp-"
        config = config_of(slack, **{wrong: f"{prefix}nobody-CANARY"})
        async with Gateway(new_store(tmp_path), ScriptedTeams(lambda: solo("x"))) as gateway:
            with pytest.raises(AuthError) as caught:
                await SlackAdapter(config).run(gateway)
        assert wrong in str(caught.value)
        assert "CANARY" not in str(caught.value)


async def test_a_token_that_is_revoked_ends_the_adapter_and_one_of_two_does_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "adapters.slack")
    async with SlackSimulator(rates=False) as slack:
        slack.add_workspace("T0TWO", "Two")
        slack.add_channel("lounge", workspace="T0TWO")
        tokens = f"{slack.bot_token},{slack.install('T0TWO').token}"
        async with served(slack, tmp_path, settings={"bot_token": tokens}) as run:
            slack.revoke("T0TWO")
            await slack.person("zoe", workspace="T0TWO").asks("lounge", "hello?")
            await run.until(lambda: "workspace T0TWO" in caplog.text)
            asked = await slack.person("ann").asks("general", "hello")
            await run.until(lambda: slack.messages("general", asked)[1:])
            assert not run.adapter.done()
            slack.revoke("T0HOME")
            await slack.person("bob").asks("general", "hello?")
            with pytest.raises(AuthError, match="bot_token"):
                await asyncio.wait_for(run.adapter, 40)
        assert slack.bot_token not in caplog.text


async def test_a_crowd_that_waits_keeps_no_ping_and_no_farewell_from_being_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "AT_ONCE", 1)
    monkeypatch.setattr(handler, "ACCEPT_SECONDS", 300)
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        slack.fail("users.info", Delay(DAY), times=-1)
        for n in range(20):
            await slack.person(f"ann{n}").asks("general", "hello?")
        await run.until(lambda: slack.calls("users.info"))
        before = {*slack.sockets.live}
        slack.sockets.disconnect("refresh_requested")
        await run.until(lambda: len({*slack.sockets.live} - before) == 2)


async def test_more_than_may_wait_is_read_once_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "AT_ONCE", 1)
    monkeypatch.setattr(sockets, "MOST_WAITING", 2)
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        for n in range(8):
            await slack.person(f"ann{n}").asks("general", "hello?")
        await run.until(lambda: all(each.acked for each in slack.deliveries))
        assert len(slack.deliveries) >= 8


async def test_several_refusals_at_once_end_the_adapter_without_a_traceback(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, recwarn: pytest.WarningsRecorder
) -> None:
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        slack.fail("users.info", Refusal("token_revoked"), times=-1)
        slack.hold()
        for n in range(20):
            await slack.person(f"ann{n}").asks("general", "hello?")
        slack.release()
        with pytest.raises(AuthError, match="bot_token"):
            await asyncio.wait_for(run.adapter, 40)
    assert "Traceback" not in caplog.text
    assert not [each for each in recwarn if "never awaited" in str(each.message)]


async def test_a_slack_that_is_down_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(adapter, "FIRST_WAIT", 0.05)
    async with SlackSimulator(rates=False) as slack:
        slack.fail("auth.test", ServerError(500), times=1)
        slack.fail("auth.test", ConnectionReset())
        slack.fail("apps.connections.open", ServerError(503), times=2)
        slack.fail("apps.connections.open", TooManyRequests(retry_after=0))
        async with served(slack, tmp_path) as run:
            asked = await slack.person("ann").asks("general", "hello")
            await run.until(lambda: slack.messages("general", asked)[1:])
    assert "Slack did not answer auth.test (HTTP 500)." in caplog.text


async def test_slacks_own_settings_in_the_environment_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CLIENT_ID", "CLIENT_SECRET", "SIGNING_SECRET", "BOT_TOKEN", "APP_TOKEN"):
        monkeypatch.setenv(f"SLACK_{name}", "somebody-else's")
    monkeypatch.chdir(tmp_path)
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path / "store") as run:
        asked = await slack.person("ann").asks("general", "hello")
        await run.until(lambda: slack.messages("general", asked)[1:])
    assert os.listdir(tmp_path) == ["store"]


def test_building_the_adapter_connects_nothing() -> None:
    from adapters.slack import build

    config = Config.model_validate({"bot_token": "xoxb-1", "app_token": "xapp-1"})
    assert build(config).name == "slack"


async def test_slack_renews_the_connections_every_hour_and_nothing_is_lost(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        ann = slack.person("ann")
        for hour in range(1, 4):
            before = list(slack.sockets.live)
            slack.clock.advance(3600)
            asked = await ann.asks("general", f"hour {hour}")
            await run.until(lambda before=before: not set(before) & set(slack.sockets.live))
            await run.until(connected(slack))
            await run.accepted(hour)
            await run.until(lambda asked=asked: slack.messages("general", asked)[1:])
        assert not [each for each in slack.deliveries if each.lost]
        assert await run.inbox() == ["turn"] * 3


async def test_another_process_with_the_token_is_noticed_after_a_minute(tmp_path: Path) -> None:
    async with (
        SlackSimulator(rates=False) as slack,
        served(slack, tmp_path) as run,
        aiohttp.ClientSession() as session,
    ):
        platforms, web = run.gateway.vitals.platforms, AsyncWebClient(base_url=slack.api_url)
        address = await web.apps_connections_open(app_token=slack.app_token)
        async with session.ws_connect(str(address["url"])):
            first = slack.sockets.live[0]
            slack.sockets.disconnect("refresh_requested", first)
            await run.until(lambda: first not in slack.sockets.live)
            await run.until(connected(slack, 3))
            before = list(slack.sockets.live)
            slack.clock.advance(sockets.COUNT_SECONDS)
            await run.until(lambda: {*before} - {*slack.sockets.live})
            assert not platforms.strangers["slack"]  # one look is none: a dead one may count yet
            slack.clock.advance(sockets.COUNT_SECONDS)
            await run.until(lambda: platforms.strangers["slack"] == 1)
            assert any("another process" in each for each in run.gateway.vitals.remarks)
        slack.clock.advance(sockets.COUNT_AGAIN)
        await run.until(lambda: (slack.clock.advance(10), not platforms.strangers["slack"])[1])


async def test_nodes_of_one_store_and_renewed_connections_are_no_strangers(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        for _ in range(4):
            before = list(slack.sockets.live)
            slack.sockets.disconnect("refresh_requested")
            await run.until(lambda before=before: not {*before} & {*slack.sockets.live})
            await run.until(connected(slack))
            slack.clock.advance(sockets.COUNT_SECONDS)
        assert not run.gateway.vitals.platforms.strangers["slack"]
        assert not run.gateway.vitals.remarks
