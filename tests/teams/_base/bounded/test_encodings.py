"""Texts of servers, by the labels of the WHATWG Encoding Standard."""

from __future__ import annotations

import asyncio
import time

import pytest

from teams._base.bounded.encodings import NEAR, decode_text, plain_type


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        ("application/json", "application/json"),
        ("text/plain; charset=UTF-8", "text/plain; charset=utf-8"),
        ('text/plain;charset="Shift_JIS"; x=y', "text/plain; charset=cp932"),
        ("text/plain; charset=ISO-8859-1", "text/plain; charset=cp1252"),
        ("text/plain; charset=latin-1", "text/plain; charset=cp1252"),
        ("text/plain; charset=gb2312", "text/plain; charset=gb18030"),
        ("text/plain; charset=punycode", "text/plain; charset=utf-8"),
        ("text/plain; charset*=utf-8''punycode", "text/plain; charset=utf-8"),
        ("text/plain; charset*0=puny; charset*1=code", "text/plain; charset=utf-8"),
        ("text/plain; CHARSET=idna", "text/plain; charset=utf-8"),
        ("text/plain; charset=utf-7", "text/plain; charset=utf-8"),
        ("text/plain; charset=hz", "text/plain; charset=utf-8"),
        ("text/plain; charset=hz-gb-2312", "text/plain; charset=utf-8"),
        ("text/plain; charset=unicode_escape", "text/plain; charset=utf-8"),
        ("text/plain; charset=", "text/plain; charset=utf-8"),
        ("text/plain; charset=a\r\nb: c", "text/plain; charset=utf-8"),
    ],
)
def test_a_media_type_names_an_encoding_of_the_web(given: str, plain: str):
    assert plain_type(given) == plain


@pytest.mark.parametrize(
    ("data", "codec", "text"),
    [
        ("größer".encode(), None, "größer"),
        ("größer".encode("cp1252"), "cp1252", "größer"),
        (b"\xff", None, "�"),
        ("日本".encode("cp932"), "cp932", "日本"),
        ("日本".encode("utf-16"), "cp932", "日本"),
        ("\ufeffä".encode(), None, "ä"),
        (b"", "gb18030", ""),
    ],
)
async def test_a_text_is_decoded(data: bytes, codec: str | None, text: str):
    assert await decode_text(data, codec) == text


async def test_a_long_text_is_decoded_away_from_the_loop():
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        counting = group.create_task(count())
        await asyncio.sleep(0)
        short, before = await decode_text(b"a" * NEAR, None), turns
        assert before == 1
        long = await decode_text("ä".encode() * NEAR, None)
        counting.cancel()
    assert (len(short), len(long)) == (NEAR, NEAR)
    assert turns > before


async def test_each_encoding_takes_time_that_grows_with_the_text():
    from teams._base.bounded import encodings

    for codec in encodings._LABELS:  # pyright: ignore[reportPrivateUsage]
        since = time.process_time()
        await decode_text(b"a-\xff~{" * 20_000, codec)
        assert time.process_time() - since < 1, codec
