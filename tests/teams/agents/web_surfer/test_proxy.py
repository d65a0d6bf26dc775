"""The browser's proxy: each host judged, a request a connection."""

import asyncio
import base64
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest
from aiohttp import web
from aiohttp.test_utils import BaseTestServer, TestServer

from teams.agents.web_surfer._proxy import USER, JudgingProxy
from teams.kinds import NetworkRules
from tests.fakes.proxy import FakeProxy

HERE = NetworkRules(is_private_allowed=lambda host: host in ("127.0.0.1", "site.example"))


@pytest.fixture
async def site() -> AsyncIterator[BaseTestServer]:
    async def answer(request: web.Request) -> web.Response:
        sent = {key.lower() for key in request.headers}
        assert not {key for key in sent if key.startswith("proxy-")}
        return web.Response(text=f"{request.method} {request.path_qs} {await request.text()}")

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    async with TestServer(app) as server:
        yield server


def basic(user: str, word: str) -> str:
    return f"Basic {base64.b64encode(f'{user}:{word}'.encode()).decode()}"


async def asked(proxy: JudgingProxy, head: str, *pieces: str) -> str:
    """All that a browser gets, which knows the word."""
    line, end, rest = head.partition("\r\n")
    told = f"\r\nProxy-Authorization: {basic(USER, proxy.word)}"
    return await asked_by_somebody(proxy, line + told + end + rest, *pieces)


async def asked_by_somebody(proxy: JudgingProxy, *pieces: str) -> str:
    address = urlsplit(await proxy.start())
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        writer.write("".join(pieces).encode())
        async with asyncio.timeout(5):
            return (await reader.read()).decode()
    finally:
        writer.close()
        await proxy.stop()


async def test_a_request_is_passed_on_as_the_server_wants_it(site: BaseTestServer):
    place = f"127.0.0.1:{site.port}"
    head = f"GET http://{place}/a?b=c HTTP/1.1\r\nHost: {place}\r\n"
    answer = await asked(JudgingProxy(HERE), head, "Proxy-Connection: keep-alive\r\n\r\n")
    assert answer.startswith("HTTP/1.1 200 OK")
    assert answer.endswith("GET /a?b=c ")


async def test_a_connection_carries_one_request_and_its_body_alone(site: BaseTestServer):
    place = f"127.0.0.1:{site.port}"
    post = f"POST http://{place}/one HTTP/1.1\r\nHost: {place}\r\nContent-Length: 4\r\n\r\nbody"
    second = f"GET http://{place}/two HTTP/1.1\r\nHost: {place}\r\n\r\n"
    answer = await asked(JudgingProxy(HERE), post, second)
    assert answer.count("HTTP/1.1 200 OK") == 1
    assert answer.endswith("POST /one body")


async def test_a_tunnel_leads_to_the_judged_host(site: BaseTestServer):
    place = f"127.0.0.1:{site.port}"
    inner = f"GET /inside HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\n\r\n"
    answer = await asked(JudgingProxy(HERE), f"CONNECT {place} HTTP/1.1\r\n\r\n", inner)
    assert answer.startswith("HTTP/1.1 200 Connected\r\n\r\n")
    assert answer.endswith("GET /inside ")


@pytest.mark.parametrize("head", ["GET http://{}/ HTTP/1.1", "CONNECT {} HTTP/1.1"])
@pytest.mark.parametrize("host", ["127.0.0.2:80", "localhost:80", "[::1]:80", "0.0.0.0:80"])
async def test_a_private_address_is_refused(head: str, host: str):
    proxy = JudgingProxy(HERE)
    answer = await asked(proxy, head.format(host), "\r\n\r\n")
    assert answer.startswith("HTTP/1.1 403 Refused")
    assert "private network" in proxy.refusals[0]


async def test_a_host_that_the_rules_do_not_name_is_refused():
    proxy = JudgingProxy(NetworkRules(reaches=lambda host: host == "good.example"))
    answer = await asked(proxy, "GET http://evil.example/ HTTP/1.1\r\n\r\n")
    assert answer.startswith("HTTP/1.1 403 Refused")
    assert list(proxy.refusals) == ["evil.example is not among the hosts that may be reached."]


async def test_a_server_that_does_not_answer_is_no_refusal():
    proxy = JudgingProxy(HERE)
    answer = await asked(proxy, "GET http://127.0.0.1:1/ HTTP/1.1\r\n\r\n")
    assert answer.startswith("HTTP/1.1 502 Unreachable")
    assert not proxy.refusals


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Proxy-Authorization: \r\n",
        "Proxy-Authorization: Basic\r\n",
        "Proxy-Authorization: Basic !!\r\n",
        f"Proxy-Authorization: {basic(USER, '')}\r\n",
        f"Proxy-Authorization: {basic(USER, 'word')}\r\n",
        "Proxy-Authorization: Bearer {word}\r\n",
        "Proxy-Authorization: Basic {word}\r\n",
        "X: {right}\r\nProxy-Authorization: Basic x\r\n",
    ],
)
@pytest.mark.parametrize("line", ["GET http://{place}/ HTTP/1.1", "CONNECT {place} HTTP/1.1"])
async def test_who_does_not_know_the_word_gets_nothing(
    site: BaseTestServer, line: str, header: str
):
    proxy = JudgingProxy(HERE)
    right = basic(USER, proxy.word)
    head = f"{line}\r\n{header}\r\n".format(
        place=f"127.0.0.1:{site.port}", word=proxy.word, right=right
    )
    answer = await asked_by_somebody(proxy, head)
    assert answer.startswith("HTTP/1.1 407 ")
    assert "\r\nProxy-Authenticate: Basic realm=" in answer
    assert proxy.word not in answer
    assert not proxy.refusals


def test_each_browser_has_a_word_of_its_own():
    assert len({JudgingProxy(HERE).word for _ in range(20)}) == 20


@pytest.mark.parametrize("text", ["\r\n\r\n", "GET /\r\n\r\n", "x" * 70_000, ""])
async def test_what_is_no_request_ends_the_connection(text: str):
    answer = await asked(JudgingProxy(HERE), text, "\r\n\r\n")
    assert not answer.startswith("HTTP/1.1 200")


async def test_the_machines_own_proxy_is_asked_where_there_is_one(
    site: BaseTestServer, monkeypatch: pytest.MonkeyPatch
):
    async with FakeProxy(password="secret") as upstream:
        monkeypatch.setenv("http_proxy", upstream.url)
        monkeypatch.setenv("https_proxy", upstream.url)
        place = f"books.example:{site.port}"
        inner = f"GET /inside HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\n\r\n"
        await asked(JudgingProxy(NetworkRules()), f"CONNECT {place} HTTP/1.1\r\n\r\n", inner)
        assert upstream.targets == [place]
        assert not upstream.refused
        for private in ("10.0.0.1", "localhost.", "[64:ff9b::a00:1]"):
            proxy = JudgingProxy(NetworkRules())
            answer = await asked(proxy, f"GET http://{private}/ HTTP/1.1\r\n\r\n")
            assert answer.startswith("HTTP/1.1 403 Refused")
        assert upstream.targets == [place]
