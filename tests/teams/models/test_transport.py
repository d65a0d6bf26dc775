"""Events in bytes, however they are cut, and clients of SDKs."""

import asyncio
from collections.abc import Callable
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from teams.models import BadAnswer
from teams.models._transport import END, EventLines, JsonLines, SdkTransport


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


class Sdk:
    """A client of an SDK, which counts what it is asked for."""

    closed = 0

    @property
    def messages(self) -> Any:
        return SimpleNamespace(with_raw_response=SimpleNamespace(create=self._create))

    async def _create(self) -> Any:
        return SimpleNamespace(http_response=SimpleNamespace(content=b"{}"))

    async def close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize("requests", [0, 1, 2])
async def test_a_given_client_is_closed_whether_it_was_asked_or_not(requests: int):
    given = Sdk()
    transport = SdkTransport(given, "messages", lambda body: body)
    for _ in range(requests):
        assert await transport.whole({}) == {}
    await transport.close()
    assert given.closed == 1


async def test_a_client_that_nobody_needed_is_not_made():
    transport = SdkTransport(None, "messages", lambda body: body, late=lambda: pytest.fail("made"))
    await transport.close()


async def test_requests_at_the_same_time_share_one_late_client():
    made: list[Sdk] = []
    others = Event()

    def late() -> Sdk:
        made.append(Sdk())
        others.wait(0.2)  # as long as an import takes, in which others come
        return made[-1]

    transport = SdkTransport(None, "messages", lambda body: body, late=late)
    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(transport.whole({})) for _ in range(3)]
    assert [each.result() for each in asked] == [{}, {}, {}]
    await transport.close()
    assert [each.closed for each in made] == [1]
