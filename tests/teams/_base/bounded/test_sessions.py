"""Sessions of aiohttp, whose answers have bounds."""

from __future__ import annotations

import gzip
import itertools

import aiohttp
import pytest

from teams.bounded import Bounds, http_session, read_most
from tests.fakes.raw_server import answering


async def test_one_packing_is_asked_for_and_unpacked():
    head = "200 OK\r\nContent-Type: application/json; charset=punycode\r\nContent-Encoding: gzip"
    async with (
        answering(head, gzip.compress(b'{"a": 1}')) as address,
        http_session(headers={"X-Own": "1"}) as session,
        session.get(address) as answer,
    ):
        assert await answer.json() == {"a": 1}
        assert answer.request_info.headers["Accept-Encoding"] == "gzip"
        assert answer.request_info.headers["X-Own"] == "1"
        assert answer.get_encoding() == "utf-8"
        assert "Content-Encoding" not in answer.headers


async def test_a_connection_is_used_again():
    connector = aiohttp.TCPConnector()
    async with (
        answering("200 OK", b"hello") as address,
        http_session(connector=connector) as session,
    ):
        for _ in range(2):
            async with session.get(address) as answer:
                assert await answer.text() == "hello"
        assert sum(map(len, connector._conns.values())) == 1  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize(("length", "most"), [(0, 5), (5, 5), (6, 5), (1000, 5)])
async def test_of_a_longer_body_one_byte_more_is_read(length: int, most: int):
    async with (
        answering("200 OK", b"a" * length) as address,
        http_session() as session,
        session.get(address) as answer,
    ):
        assert await read_most(answer, most) == b"a" * min(length, most + 1)


async def test_an_error_s_text_is_cut():
    async with (
        answering("500 Oh", lambda: itertools.repeat(b"a" * 1000)) as address,
        http_session(Bounds(error=3000)) as session,
        session.get(address) as answer,
    ):
        assert await answer.text() == "a" * 3000
