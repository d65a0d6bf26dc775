"""HTTP ports against whoever can reach them, over real sockets."""

import asyncio
import gzip
import logging
import socket
import time
from contextlib import ExitStack, asynccontextmanager

import pytest
from aiohttp import web

from gateway.base import http_port
from gateway.base.http_port import MOST, Page, page_of, serving

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST /echo HTTP/1.1\r\nHost: localhost\r\n"


class Port:
    """A served port, and what came to its pages."""

    def __init__(self):
        self.place: tuple[str, int] = ("", 0)
        self.bodies = []
        self.came = asyncio.Queue()
        self.held = asyncio.Event()
        self.held.set()

    async def answer(self, request):
        self.bodies.append(await request.read())
        self.came.put_nowait(None)
        await self.held.wait()
        return web.Response(text="here")

    async def broken(self, request):
        raise RuntimeError("our own mistake")

    async def connect(self, sent=b""):
        reader, writer = await asyncio.open_connection(*self.place)
        writer.write(sent)
        return reader, writer

    async def ask(self, request):
        """The status of the answer; "" if it was cut."""
        reader, writer = await self.connect(request)
        try:
            return (await reader.readline()).split()[1].decode()
        except (IndexError, ConnectionError):
            return ""
        finally:
            writer.close()


@asynccontextmanager
async def a_port():
    port = Port()
    pages = {
        "/": Page(port.answer),
        "/echo": Page(port.answer, ("POST",)),
        "/broken": Page(port.broken),
    }
    async with serving(lambda request: page_of(pages, request), "127.0.0.1", 0) as port.place:
        yield port


@pytest.fixture(autouse=True)
def quiet(caplog):
    """No request of an outsider is worth a line above debug."""
    caplog.set_level(logging.INFO)
    yield
    assert [line for line in caplog.records if "our own" not in caplog.text] == []


HALF = {
    "nothing": b"",
    "a byte": b"G",
    "half a line": b"GET / HT",
    "half a head": b"GET / HTTP/1.1\r\nHost: localhost\r\n",
    "half a body": POST + b"Content-Length: 10\r\n\r\nhalf",
    "half a chunk": POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhal",
    "idle after an answer": GET,
}


@pytest.mark.parametrize("sent", HALF.values(), ids=HALF)
async def test_half_open_connections_keep_nobody_out(sent):
    async with a_port() as port:
        half = [await port.connect(sent) for _ in range(3 * MOST)]
        for _ in range(3):
            assert await port.ask(GET) == "200"
        ended = 0
        for reader, writer in half[: 2 * MOST]:
            # Those that had to make room are closed: nothing is left of them.
            while await reader.read(1000):
                pass
            ended += 1
            writer.close()
        for _, writer in half:
            writer.close()
        assert ended == 2 * MOST


async def test_requests_beyond_those_at_work_wait_for_their_turn():
    async with a_port() as port:
        port.held.clear()
        asked = [asyncio.ensure_future(port.ask(GET)) for _ in range(3 * MOST)]
        for _ in range(MOST):
            await port.came.get()
        half = [await port.connect() for _ in range(3 * MOST)]  # which make room, not they
        for reader, _ in half[: 2 * MOST]:
            assert await reader.read() == b""
        assert port.came.empty()
        port.held.set()
        assert await asyncio.gather(*asked) == ["200"] * 3 * MOST
        for _, writer in half:
            writer.close()


async def test_requests_at_work_do_not_make_room_and_one_too_many_is_cut(monkeypatch):
    monkeypatch.setattr(http_port, "MOST_AT_ONCE", MOST)
    async with a_port() as port:
        port.held.clear()
        asked = [asyncio.ensure_future(port.ask(GET)) for _ in range(MOST)]
        for _ in range(MOST):
            await port.came.get()
        assert await port.ask(GET) == ""
        port.held.set()
        assert await asyncio.gather(*asked) == ["200"] * MOST


async def test_who_hung_up_while_it_waited_is_not_worked_on():
    async with a_port() as port:
        port.held.clear()
        asked = [asyncio.ensure_future(port.ask(GET)) for _ in range(MOST)]
        for _ in range(MOST):
            await port.came.get()
        waiting = [await port.connect(GET) for _ in range(3)]
        for _, writer in waiting[:2]:
            writer.transport.abort()
        assert await port.ask(BROKEN["no host"]) == "400"  # it has seen what came before
        port.held.set()
        assert await asyncio.gather(*asked) == ["200"] * MOST
        assert b" 200 " in await waiting[2][0].readuntil(b"here")
        assert len(port.bodies) == MOST + 1
        waiting[2][1].close()


async def test_a_request_waits_for_its_turn_for_seconds(monkeypatch):
    monkeypatch.setattr(http_port, "TURN_SECONDS", 0.05)
    async with a_port() as port:
        port.held.clear()
        asked = [asyncio.ensure_future(port.ask(GET)) for _ in range(MOST)]
        for _ in range(MOST):
            await port.came.get()
        assert [await port.ask(GET) for _ in range(3)] == ["503"] * 3
        port.held.set()
        assert await asyncio.gather(*asked) == ["200"] * MOST
        assert await asyncio.gather(*(port.ask(GET) for _ in range(MOST))) == ["200"] * MOST


async def test_requests_whose_clients_hang_up_do_not_pile_up(monkeypatch):
    async with a_port() as port:
        port.held.clear()
        asked = [asyncio.ensure_future(port.ask(GET)) for _ in range(MOST)]
        for _ in range(MOST):
            await port.came.get()
        gone = [await port.connect(GET) for _ in range(3)]
        assert await port.ask(BROKEN["no host"]) == "400"  # it has seen what came before
        for _, writer in gone:
            writer.transport.abort()
        assert await port.ask(BROKEN["no host"]) == "400"
        monkeypatch.setattr(http_port, "MOST_AT_ONCE", MOST + 3)
        assert await port.ask(GET) == "503"  # not even read: there are enough
        port.held.set()
        assert await asyncio.gather(*asked) == ["200"] * MOST
        assert await port.ask(GET) == "200"


async def test_half_open_connections_make_room_before_who_asked():
    async with a_port() as port:
        reader, writer = await port.connect(GET)
        await reader.readuntil(b"here")
        half = [await port.connect() for _ in range(3 * MOST)]
        for each, _ in half[: 2 * MOST]:
            assert await each.read() == b""
        writer.write(GET)
        assert b" 200 " in await reader.readuntil(b"here")
        for _, other in (*half, (reader, writer)):
            other.close()


async def test_a_loop_that_stood_pushes_out_nobody_whose_request_has_come():
    async with a_port() as port:
        with ExitStack() as stack:
            asking = [stack.enter_context(socket.create_connection(port.place)) for _ in "ab"]
            for _ in range(2 * MOST):
                stack.enter_context(socket.create_connection(port.place))
            assert await port.ask(GET) == "200"  # all are there: their grace has begun
            time.sleep(1.5 * http_port.GRACE)  # noqa: ASYNC251 (the loop stands)
            answers = []
            for each in asking:
                each.sendall(GET)
            time.sleep(0.05)  # noqa: ASYNC251 (the loop stands)
            for each in asking:
                each.setblocking(False)
                answers.append(await asyncio.get_running_loop().sock_recv(each, 100))
    assert [each[:12] for each in answers] == [b"HTTP/1.1 200"] * 2


@pytest.mark.parametrize("behind", [MOST, 2 * MOST])
async def test_a_flood_in_one_go_pushes_out_no_request_before_it(behind):
    async with a_port() as port:
        with ExitStack() as stack:  # nothing of it is seen before all of it is there
            asking = stack.enter_context(socket.create_connection(port.place))
            asking.sendall(GET)
            for _ in range(behind):
                stack.enter_context(socket.create_connection(port.place))
            asking.setblocking(False)
            answer = await asyncio.get_running_loop().sock_recv(asking, 100)
    assert answer.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "sent",
    [
        HALF[name]
        for name in HALF
        if name not in ("half a body", "half a chunk", "idle after an answer")
    ],
)
async def test_a_head_has_seconds(sent, monkeypatch):
    monkeypatch.setattr(http_port, "HEAD_SECONDS", 0.05)
    async with a_port() as port:
        reader, writer = await port.connect(sent)
        assert await reader.read() == b""
        writer.close()


async def test_a_second_head_has_seconds_too_and_dripping_gains_none(monkeypatch):
    monkeypatch.setattr(http_port, "HEAD_SECONDS", 0.1)
    async with a_port() as port:
        reader, writer = await port.connect(GET)
        assert b"here" in await reader.readuntil(b"here")
        async with asyncio.timeout(5):
            for byte in iter(lambda: b"x", None):
                if reader.at_eof():
                    break
                writer.write(byte)
                await asyncio.sleep(0.01)
                if writer.transport.is_closing():
                    break
        writer.close()


@pytest.mark.parametrize("name", ["half a body", "half a chunk"])
async def test_a_body_has_seconds(name, monkeypatch):
    monkeypatch.setattr(http_port, "BODY_SECONDS", 0.05)
    async with a_port() as port:
        assert await port.ask(HALF[name]) == "408"


async def test_a_connection_is_kept_for_the_next_request():
    async with a_port() as port:
        reader, writer = await port.connect()
        for _ in range(3):
            writer.write(GET)
            assert b" 200 " in await reader.readuntil(b"here")
        writer.close()


@pytest.mark.parametrize("packed", ["deflate", "gzip", "gzip, gzip", "br", "zstd", "none such"])
async def test_a_body_stays_as_it_was_sent(packed):
    body = gzip.compress(b"x" * 100_000)
    head = POST + f"Content-Encoding: {packed}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    async with a_port() as port:
        assert await port.ask(head + body) == "200"
        assert port.bodies == [body]


BROKEN = {
    "no host": b"POST /echo HTTP/1.1\r\n\r\n",
    "two hosts": b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "no http": b"\x16\x03\x01\x02\x00\x01\r\n\r\n",
    "no length": POST + b"Content-Length: many\r\n\r\n",
    "broken chunk": POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    "long head": b"GET / HTTP/1.1\r\nHost: " + b"x" * 100_000 + b"\r\n\r\n",
    "odd address": b"GET http://[ HTTP/1.1\r\nHost: a\r\n\r\n",
}


@pytest.mark.parametrize("request_", BROKEN.values(), ids=BROKEN)
async def test_a_broken_request_gets_400_and_no_traceback(request_):
    async with a_port() as port:
        assert await port.ask(request_) == "400"


async def test_too_much_is_not_read():
    async with a_port() as port:
        head = POST + b"Content-Length: 1000001\r\n\r\n"
        assert await port.ask(head + b"x" * 1_000_001) == "413"
        assert port.bodies == []


async def test_who_hangs_up_within_a_body_costs_no_line():
    async with a_port() as port:
        for name in ("half a body", "half a chunk"):
            _, writer = await port.connect(HALF[name])
            await writer.drain()
            writer.transport.abort()
        assert await port.ask(GET) == "200"


async def test_pages_are_asked_by_their_methods():
    async with a_port() as port:
        assert await port.ask(b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n") == "200"
        assert await port.ask(POST.replace(b"/echo", b"/") + b"\r\n") == "405"
        assert await port.ask(GET.replace(b"/", b"/none", 1)) == "404"


async def test_our_own_mistake_is_told_with_its_traceback(caplog):
    async with a_port() as port:
        assert await port.ask(GET.replace(b"/", b"/broken", 1)) == "500"
    assert "RuntimeError: our own mistake" in caplog.text


async def test_who_has_to_make_room_before_the_body_is_read_costs_no_line(monkeypatch):
    monkeypatch.setattr(http_port._Connection, "has_head", http_port._Connection.force_close)
    async with a_port() as port:
        for name in ("half a body", "half a chunk"):
            assert await port.ask(HALF[name]) == ""
