"""Bounds of one answer, bytes in and bytes out."""

from __future__ import annotations

import gzip
import time
import zlib
from collections.abc import Iterable

import pytest

from teams._base.bounded.gate import AnswerRefused, Bounds, Gate

EVENTS = "text/event-stream; charset=utf-8"
FRAMES = "application/vnd.amazon.eventstream"
SMALL = Bounds(body=100, stream=1000, piece=50)


def through(gate: Gate, chunks: Iterable[bytes]) -> list[bytes]:
    """Parts that the gate lets through, chunk by chunk."""
    return [part for chunk in chunks for part in gate.take(chunk)] + [gate.rest()]


def single(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


def test_lines_are_handed_on_whole():
    gate = Gate(SMALL, "", "application/json")
    assert through(gate, [b"on", b"e\ntw", b"o\r", b"\nthree"]) == [
        b"one\n",
        b"two\r",
        b"\n",
        b"three",
    ]


def test_frames_are_handed_on_whole():
    first, second = b"\0\0\0\x06ab", b"\0\0\0\x05c"
    gate = Gate(SMALL, "", FRAMES)
    assert through(gate, single(first + second)) == [first, second, b""]
    gate = Gate(SMALL, "", FRAMES)
    assert through(gate, [first + second[:2], second[2:]]) == [first, second, b""]


@pytest.mark.parametrize(
    ("packing", "pack"),
    [
        ("gzip", gzip.compress),
        ("X-GZip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", lambda data: zlib.compress(data, wbits=-15)),  # pyright: ignore[reportUnknownLambdaType]
        ("identity", bytes),
        ("identity, gzip", gzip.compress),
    ],
)
def test_one_packing_is_unpacked(packing: str, pack: object):
    data = b'{"a": 1}\n' * 10
    packed = pack(data)  # pyright: ignore[reportCallIssue]
    assert b"".join(through(Gate(SMALL, packing, ""), single(packed))) == data


@pytest.mark.parametrize("packing", ["gzip, gzip", "gzip,deflate", "br", "zstd", "compress", "x"])
def test_other_packings_are_refused(packing: str):
    with pytest.raises(AnswerRefused, match="is packed as"):
        Gate(SMALL, packing, "")


@pytest.mark.parametrize(
    ("media_type", "packing", "chunks", "reason"),
    [
        ("", "", [b"a" * 60] * 2, "more than 100 bytes"),
        ("", "gzip", [gzip.compress(bytes(200))], "more than 100 bytes"),
        ("", "gzip", [gzip.compress(b""), b"a" * 101], "more than 100 bytes"),
        ("", "gzip", [b"plain"], "not packed as it says"),
        (EVENTS, "", [b"a" * 30] * 2, "line of more than 50 bytes"),
        (EVENTS, "", [b"data: aaaaaaaaa\n"] * 4, "line of more than 50 bytes"),
        (EVENTS, "", [b"data: aaa\n\n"] * 100, "more than 1,000 bytes"),
        ("application/x-ndjson", "", [b"a" * 30] * 2, "line of more than 50 bytes"),
        (FRAMES, "", [b"\0\1\0\0"], "line of more than 50 bytes"),
    ],
)
def test_what_breaks_a_bound_is_refused(
    media_type: str, packing: str, chunks: list[bytes], reason: str
):
    with pytest.raises(AnswerRefused, match=reason):
        through(Gate(SMALL, packing, media_type), chunks)


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r"])
def test_a_stream_without_a_last_byte_is_bounded_event_by_event(end: bytes):
    gate = Gate(Bounds(stream=None, piece=50), "", EVENTS)
    whole = (b"data: " + b"a" * 30 + end) * 100
    assert b"".join(through(gate, single(whole))) == whole


def test_an_error_is_cut():
    gate = Gate(SMALL, "", "", cut=10)
    assert b"".join(through(gate, [b"a" * 6, b"b" * 6])) == b"a" * 6 + b"b" * 4
    assert gate.is_over
    gate = Gate(SMALL, "gzip", "", cut=10)
    assert b"".join(through(gate, [gzip.compress(bytes(90))])) == bytes(10)


def test_a_long_line_in_small_pieces_takes_time_that_grows_with_its_length():
    def seconds(length: int) -> float:
        since = time.process_time()
        through(Gate(Bounds(), "", EVENTS), [b"a" * 10] * (length // 10))
        return time.process_time() - since

    seconds(100_000)
    assert seconds(2_000_000) < 60 * seconds(100_000)
