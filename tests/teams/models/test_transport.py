"""Framings: the events in bytes, however they are cut."""

from collections.abc import Callable
from typing import Any

import pytest

from teams.models import BadAnswer
from teams.models._transport import END, EventLines, JsonLines


def read(framing: Any, body: bytes, size: int) -> list[object]:
    pieces = [body[place : place + size] for place in range(0, len(body), size)]
    return [event for piece in pieces for event in framing(piece)] + [*framing.end()]


SIZES = [1, 2, 7, 1000]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b'data: {"a": 1}\n\ndata: [DONE]\n\n', [{"a": 1}, END]),
        (b'data:{"a": 1}\r\n\r\ndata: [DONE]', [{"a": 1}, END]),
        (b': busy\nevent: x\nid: 1\ndata: {"a": 1}\n', [{"a": 1}]),
        (b'data: {"a": "\xe2\x80\xa8"}\n\ndata:\n\n', [{"a": "\u2028"}]),
        (b'\n  {"a":\n 1}\n', [{"a": 1}, END]),
        (b"", []),
        (b"<html>\ndata\n", []),
    ],
)
def test_events_of_a_server(body: bytes, found: list[object], size: int):
    assert read(EventLines(), body, size) == found


def test_nothing_follows_the_end():
    assert [*EventLines()(b'data: [DONE]\ndata: {"a": 1}\n')] == [END]


@pytest.mark.parametrize("size", SIZES)
def test_json_on_each_line(size: int):
    assert read(JsonLines(), b'{"a": 1}\n\n{"b": 2}', size) == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize("framing", [EventLines, JsonLines])
@pytest.mark.parametrize("deep", [b"{" * 100_000, b'data: {"a":' + b"[" * 100_000 + b"\n"])
def test_what_is_no_json_is_refused(framing: Callable[[], Any], deep: bytes):
    with pytest.raises((ValueError, BadAnswer)):
        read(framing(), deep, 1000)
