"""Clients of both HTTP libraries, whose answers have bounds."""

from __future__ import annotations

import asyncio
import gzip
import itertools
from importlib import import_module
from typing import Any

import pytest

from teams._base.bounded.clients import http_client
from teams._base.bounded.gate import Bounds
from tests.fakes.raw_server import answering

EVENTS = "200 OK\r\nContent-Type: text/event-stream"


@pytest.fixture(params=["httpx", "httpx2"])
def http(request: pytest.FixtureRequest) -> Any:
    return import_module(request.param)


async def test_one_packing_is_asked_for_and_unpacked(http: Any):
    head = "200 OK\r\nContent-Type: text/plain; charset=punycode\r\nContent-Encoding: gzip"
    async with (
        answering(head, gzip.compress(b"hello")) as address,
        http_client(http.AsyncClient) as web,
    ):
        answer = await web.get(address, headers={"Accept-Encoding": "br"})
    assert answer.request.headers["accept-encoding"] == "gzip"
    assert (answer.text, answer.encoding) == ("hello", "utf-8")
    assert "content-encoding" not in answer.headers


async def test_an_sdk_s_class_is_made_with_its_own_settings():
    openai = import_module("openai")
    async with http_client(openai.DefaultAsyncHttpxClient, timeout=3) as web:
        assert web.follow_redirects
        assert web.timeout.read == 3


async def test_a_proxy_of_the_environment_is_heeded(http: Any, monkeypatch: pytest.MonkeyPatch):
    async with answering("200 OK", b"the proxy") as address:
        monkeypatch.setenv("HTTP_PROXY", address)
        monkeypatch.setenv("NO_PROXY", "")
        async with http_client(http.AsyncClient) as web:
            assert (await web.get("http://example.com/")).text == "the proxy"


@pytest.mark.parametrize("head", ["200 OK", EVENTS])
async def test_an_answer_that_trickles_has_an_end(http: Any, head: str):
    bounds = Bounds(seconds=0.05, stream_seconds=0.05)
    async with (
        answering(head, lambda: itertools.repeat(b"a")) as address,
        http_client(http.AsyncClient, bounds) as web,
    ):
        with pytest.raises(http.ReadTimeout, match=r"takes more than 0\.05 s"):
            await web.get(address)


async def test_a_reader_s_own_time_is_not_counted(http: Any):
    lines = [b"one\n", b"two\n"]
    async with (
        answering(EVENTS, lambda: lines) as address,
        http_client(http.AsyncClient, Bounds(stream_seconds=0.5)) as web,
        web.stream("GET", address) as answer,
    ):
        found: list[bytes] = []
        async for part in answer.aiter_bytes():
            found.append(part)
            await asyncio.sleep(0.3)
            await asyncio.sleep(0.3)
    assert b"".join(found) == b"one\ntwo\n"


async def test_a_redirect_s_body_is_bounded(http: Any):
    head = "302 Found\r\nLocation: /"
    async with (
        answering(head, lambda: itertools.repeat(bytes(100_000))) as address,
        http_client(http.AsyncClient, Bounds(error=None), follow_redirects=True) as web,
    ):
        with pytest.raises(http.DecodingError, match="more than 16,000,000 bytes"):
            await web.get(address)


async def test_a_client_of_a_thread_has_the_same_bounds(http: Any):
    errors: list[Exception] = []

    def ask(address: str, bounds: Bounds) -> None:
        with http_client(http.Client, bounds) as web:
            try:
                web.get(address)
            except http.HTTPError as error:
                errors.append(error)

    for head, bounds in (
        ("200 OK\r\nContent-Encoding: gzip, gzip", Bounds()),
        ("200 OK", Bounds(body=1_000_000)),
        ("200 OK", Bounds(body=10**12, seconds=0.01)),
    ):
        async with answering(head, lambda: itertools.repeat(bytes(100_000))) as address:
            await asyncio.to_thread(ask, address, bounds)
    assert [type(error).__name__ for error in errors] == [
        "DecodingError",
        "DecodingError",
        "ReadTimeout",
    ]
