"""HTTP mode: requests that Slack has signed, and nobody else's."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import hmac
import json
import socket
import time
import zlib
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest

from adapters.slack.adapter import SlackAdapter
from adapters.slack.connection import http_mode
from adapters.slack.testing import Refusal, SlackSimulator
from gateway.base.logging import Seldom
from gateway.errors import GatewayError
from gateway.gateway import Gateway
from tests.adapters.slack.process import free_port
from tests.adapters.slack.serving import PATIENCE, ServedSlack, config_of, served
from tests.fakes.new_store import new_store
from tests.gateway.scripted import ScriptedTeams, solo


@asynccontextmanager
async def over_http(folder: Path, **more: Any) -> AsyncGenerator[tuple[ServedSlack, str]]:
    """A workspace that sends its events to a URL of ours."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/slack/events"
    async with SlackSimulator(rates=False) as slack:
        settings = {
            "mode": "http",
            "app_token": None,
            "signing_secret": slack.signing_secret,
            "port": port,
            **more,
        }
        async with served(slack, folder, settings=settings) as run:
            await listening(port)
            assert await slack.use_app(replace(slack.world.app, socket_mode=False, url=url))
            yield run, url


async def listening(port: int) -> None:
    """Wait until somebody listens, however long a busy machine takes."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.01)
            else:
                writer.close()
                return


def signed(body: bytes, secret: str, at: float | None = None) -> dict[str, str]:
    timestamp = str(int(time.time() if at is None else at))
    text = b"v0:" + timestamp.encode() + b":" + body
    digest = hmac.new(secret.encode(), text, hashlib.sha256).hexdigest()
    return {
        "Content-Type": "application/json",
        "X-Slack-Request-Timestamp": timestamp,
        "X-Slack-Signature": f"v0={digest}",
    }


async def posted(url: str, body: bytes, headers: dict[str, str]) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, data=body, headers=headers) as answer,
    ):
        return answer.status, await answer.text()


async def test_events_clicks_and_commands_come_over_http(tmp_path: Path) -> None:
    async with over_http(tmp_path) as (run, _):
        slack, ann = run.slack, run.slack.person("ann")
        asked = await ann.asks("general", "hello")
        await run.until(lambda: slack.messages("general", asked)[1:])
        await run.until(lambda: "Good answer" in str(slack.messages("general", asked)))
        pressed = await ann.clicks(slack.messages("general", asked)[1].ts, "Good answer")
        await run.until(lambda: pressed.acked and slack.private(ann))
        helped = await ann.commands("general", "/parley", "help")
        await run.until(lambda: helped.acked)
        assert helped.response
        assert "!stop" in helped.response["text"]
        await run.settled()
        assert (await run.inbox()) == ["turn", "command"]


async def test_what_is_not_stored_is_answered_500_and_comes_again(tmp_path: Path) -> None:
    async with over_http(tmp_path) as (run, _):
        slack = run.slack
        slack.fail("users.info", Refusal(error="internal_error"))
        await slack.person("ann").tells("hello")
        delivery = slack.deliveries[0]
        await run.until(lambda: delivery.attempts[0].failure)
        assert delivery.attempts[0].failure == "http_error 500"
        slack.clock.advance(61)
        await run.accepted(1)


@pytest.mark.parametrize(
    ("spoil", "status"),
    [
        ({}, 200),
        ({"X-Slack-Signature": "v0=" + "0" * 64}, 401),
        ({"X-Slack-Signature": "\u00e4"}, 401),
        ({"X-Slack-Request-Timestamp": "soon"}, 401),
        ({"X-Slack-Request-Timestamp": str(10**30)}, 401),
        ({"X-Slack-Request-Timestamp": "1" * 5000}, 401),
        ({"X-Slack-Signature": None}, 401),
    ],
)
async def test_only_slacks_signature_opens(
    tmp_path: Path, spoil: dict[str, str | None], status: int
) -> None:
    async with over_http(tmp_path) as (run, url):
        body = json.dumps({"type": "event_callback", "event": {"type": "x"}}).encode()
        headers = {**signed(body, run.slack.signing_secret), **spoil}
        given = {name: value for name, value in headers.items() if value is not None}
        assert (await posted(url, body, given))[0] == status


async def test_an_old_signature_a_changed_body_and_too_much_are_refused(tmp_path: Path) -> None:
    async with over_http(tmp_path) as (run, url):
        secret = run.slack.signing_secret
        body = b'{"type": "event_callback"}'
        assert (await posted(url, body, signed(body, secret, time.time() - 400)))[0] == 401
        assert (await posted(url, body + b" ", signed(body, secret)))[0] == 401
        large = b"x" * 1_000_001
        assert (await posted(url, large, signed(large, secret)))[0] == 413
        assert (await posted(url, b"\xff", signed(b"\xfe", secret)))[0] == 401
        assert (await posted(url.replace("events", "elsewhere"), body, {}))[0] == 404


async def test_a_body_that_is_no_payload_gets_400(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bodies = [b"{", b"[]", b"7", b'"x"', b"\xff", b'{"team": 7}', b'{"a": "b"', b"[" * 100_000]
    async with over_http(tmp_path) as (run, url):
        for body in bodies:
            given = signed(body, run.slack.signing_secret)
            assert (await posted(url, body, given))[0] == 400, body[:9]
        form = b"payload=%7B"
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        given = signed(form, run.slack.signing_secret) | kind
        assert (await posted(url, form, given))[0] == 400
        await run.slack.person("ann").tells("hello")
        await run.accepted(1)
    assert "Traceback" not in caplog.text
    assert not [each for each in caplog.records if each.levelname == "ERROR"]


@pytest.mark.parametrize("body", [b"ssl_check=1&token=x", b"token=x&ssl_check=1&team_id=T0X"])
async def test_a_look_at_the_certificate_is_answered_and_is_nobodys_payload(
    tmp_path: Path, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """A POST with `ssl_check` and `token`: Slack, "Slash commands"."""
    async with over_http(tmp_path) as (run, url):
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        given = signed(body, run.slack.signing_secret) | kind
        assert await posted(url, body, given) == (200, "")
        assert not run.gateway.vitals.ignored
    assert "without the bot" not in caplog.text


async def test_a_port_that_is_taken_is_said_so(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = int(taken.getsockname()[1])
            config = config_of(slack, mode="http", signing_secret="s3cret", port=port)
            async with Gateway(new_store(tmp_path), ScriptedTeams(lambda: solo("x"))) as gateway:
                with pytest.raises(GatewayError, match=f"can't listen at 127.0.0.1:{port}"):
                    await SlackAdapter(config).run(gateway)


BOMB = gzip.compress(b"x" * 10_000_000, 9)
PACKED = {"deflate": b"no deflate", "gzip": BOMB, "gzip, gzip": BOMB, "br": b"?", "x": b"{}"}
CUT = {"cut": gzip.compress(b"{}")[:-5], "empty": b""}


@pytest.mark.parametrize("packed", PACKED)
async def test_an_unsigned_packed_body_gets_400_before_it_is_unpacked(
    tmp_path: Path, packed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with over_http(tmp_path) as (_, url):
        monkeypatch.delattr(zlib, "decompressobj")
        given = {"Content-Encoding": packed, "Content-Type": "application/json"}
        assert (await posted(url, PACKED[packed], given))[0] == 400


@pytest.mark.parametrize(
    ("packed", "pack"),
    [
        ("identity", bytes),
        ("gzip", gzip.compress),
        ("GZIP", gzip.compress),
        ("deflate", zlib.compress),
    ],
)
async def test_a_signed_body_is_unpacked(
    tmp_path: Path, packed: str, pack: Callable[[bytes], bytes]
) -> None:
    async with over_http(tmp_path) as (run, url):
        body = pack(json.dumps({"type": "url_verification", "challenge": "abc"}).encode())
        given = {**signed(body, run.slack.signing_secret), "Content-Encoding": packed}
        assert await posted(url, body, given) == (200, '{"challenge": "abc"}')


@pytest.mark.parametrize("name", [*PACKED, *CUT])
async def test_a_signed_body_that_is_broken_or_grows_too_much_gets_400(
    tmp_path: Path, name: str
) -> None:
    async with over_http(tmp_path) as (run, url):
        body, packed = (CUT[name], "gzip") if name in CUT else (PACKED[name], name)
        given = {**signed(body, run.slack.signing_secret), "Content-Encoding": packed}
        assert (await posted(url, body, given))[0] == 400


async def test_a_request_without_a_host_gets_400_and_no_traceback(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with over_http(tmp_path) as (_, url):
        port = urlsplit(url).port
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST /slack/events HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")
        assert (await reader.readline()).split()[1] == b"400"
        writer.close()
    assert "Traceback" not in caplog.text


async def test_a_flood_of_unsigned_requests_costs_a_line_a_minute(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_mode, "UNSIGNED", Seldom(http_mode.LOG))
    async with over_http(tmp_path) as (_, url):
        for _ in range(5):
            assert (await posted(url, b"{}", {}))[0] == 401
    assert caplog.text.count("has not signed") == 1
