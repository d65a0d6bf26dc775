"""Descriptors: many, and calm where there is none left."""

import asyncio
import resource
import socket

import pytest

from gateway.base import descriptors
from gateway.base.descriptors import raise_limit, tell_lack_calmly
from gateway.base.logging import Seldom


@pytest.fixture
def limit():
    """The limits of this process, which the test may change."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield before
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_the_soft_limit_becomes_the_hard_one(limit):
    _, most = limit
    resource.setrlimit(resource.RLIMIT_NOFILE, (most // 2, most))
    raise_limit()
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (most, most)
    raise_limit()


async def test_connections_that_are_not_accepted_cost_one_line(limit, caplog, monkeypatch):
    monkeypatch.setattr(descriptors, "LACK", Seldom(descriptors.LOG))
    monkeypatch.setattr("asyncio.constants.ACCEPT_RETRY_DELAY", 0.02)
    tell_lack_calmly(asyncio.get_running_loop())
    accepted = asyncio.Event()
    refused = asyncio.Event()
    monkeypatch.setattr(descriptors.LACK, "warning", told(descriptors.LACK.warning, refused))

    def accept(_, writer):
        writer.close()
        accepted.set()

    async with await asyncio.start_server(accept, "127.0.0.1", 0) as server:
        with socket.create_connection(server.sockets[0].getsockname()) as client:
            resource.setrlimit(resource.RLIMIT_NOFILE, (client.fileno() + 1, limit[1]))
            await refused.wait()
            resource.setrlimit(resource.RLIMIT_NOFILE, limit)
            await accepted.wait()
    [line] = caplog.records
    assert "Too many open files" in line.getMessage()
    assert line.exc_info is None


def told(warning, happened):
    """The same, which also says that it has happened often."""
    count = 0

    def wrapped(text):
        nonlocal count
        warning(text)
        count += 1
        if count > 150:
            happened.set()

    return wrapped


async def test_other_mistakes_of_the_loop_are_told_as_ever(caplog):
    loop = asyncio.get_running_loop()
    tell_lack_calmly(loop)
    loop.call_exception_handler({"message": "something else", "exception": ValueError("why")})
    assert "ValueError: why" in caplog.text
