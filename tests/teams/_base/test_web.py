"""Tools that reach public addresses alone."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import teams._base.web as web_module
import teams.tools.http._tool as http_tool
from teams._base.addresses import Nat64
from teams._base.web import is_named, public_addresses
from teams.core import CancellationToken
from teams.tools.http import HttpTool
from tests.fakes.certificate import certificate

HOST = "books.example"


class Names:
    """A resolver of this process: the addresses of a host."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.known: dict[str, list[str]] = {}
        self.asked: list[str] = []
        monkeypatch.setattr(socket, "getaddrinfo", self.resolve)
        monkeypatch.setattr(web_module, "NAT64", Nat64())

    def resolve(self, host: Any, port: Any, *_: Any, **__: Any) -> list[Any]:
        self.asked.append(str(host))
        if host not in self.known:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        kind = socket.AF_INET
        return [(kind, socket.SOCK_STREAM, 6, "", (each, port)) for each in self.known[host]]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    for variable in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(variable, raising=False)
        monkeypatch.delenv(variable.upper(), raising=False)
    return Names(monkeypatch)


@pytest.fixture
def as_public(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server of these tests counts as one of the internet."""
    monkeypatch.setattr(web_module, "is_public", lambda address, _: address == "127.0.0.1")


@pytest.fixture
async def port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[int]:
    server, client = certificate(tmp_path, HOST)
    monkeypatch.setattr(http_tool, "tls", {"httpx": client}.__getitem__)

    async def book(request: web.Request) -> web.Response:
        if request.path == "/old":
            return web.Response(status=302, headers={"Location": f"https://{request.host}/new"})
        return web.Response(text=f"{request.path} at {request.host}")

    app = web.Application()
    app.router.add_get("/{rest:.*}", book)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=server)
    await site.start()
    yield runner.addresses[0][1]
    await runner.cleanup()


def tool(host: str, port: int, path: str = "/x", scheme: Any = "https") -> HttpTool:
    made = HttpTool("get", host, port, {"type": "object"}, path=path, scheme=scheme, method="GET")
    made.public_only = True
    return made


async def call(tool: HttpTool) -> Any:
    return await tool.run_json({}, CancellationToken())


@pytest.mark.parametrize("private", ["10.0.0.5", "127.0.0.1", "169.254.169.254", "192.168.1.1"])
async def test_a_name_that_leads_to_a_private_address_is_refused(names: Names, private: str):
    names.known[HOST] = ["93.184.216.34", private]
    with pytest.raises(ValueError, match=f"{HOST} leads to an address of a private network") as no:
        await call(tool(HOST, 443))
    assert private not in str(no.value)
    names.known.clear()
    with pytest.raises(ConnectionError, match=f"There is no address of {HOST}"):
        await call(tool(HOST, 443))


async def test_the_networks_own_nat64_prefix_is_asked_for_once(names: Names):
    names.known["ipv4only.arpa"] = ["2606:4700:64::c000:aa", "2606:4700:64::c000:ab"]
    names.known[HOST] = ["2606:4700:64::a9fe:a9fe"]
    for _ in range(2):
        with pytest.raises(ValueError, match="private network"):
            await public_addresses(HOST, 443)
    assert names.asked.count("ipv4only.arpa") == 1
    names.known[HOST] = ["2606:4700:64::808:808"]
    assert await public_addresses(HOST, 443) == names.known[HOST]


@pytest.mark.usefixtures("as_public")
async def test_the_request_goes_to_the_address_that_was_checked(names: Names, port: int):
    names.known[HOST] = ["127.0.0.1"]
    assert await call(tool(HOST, port)) == f"/x at {HOST}:{port}"  # and its certificate is checked
    assert set(names.asked) == {HOST, "127.0.0.1"} or names.asked == [HOST]


@pytest.mark.usefixtures("as_public")
async def test_a_redirect_on_the_same_server_is_followed_by_its_name(names: Names, port: int):
    names.known[HOST] = ["127.0.0.1"]
    assert await call(tool(HOST, port, "/old")) == f"/new at {HOST}:{port}"


@pytest.mark.usefixtures("as_public")
async def test_a_certificate_for_another_name_is_refused(names: Names, port: int):
    names.known["other.example"] = ["127.0.0.1"]
    with pytest.raises(ConnectionError, match="CERTIFICATE_VERIFY_FAILED"):
        await call(tool("other.example", port))


async def test_a_proxy_finds_the_address_itself(names: Names, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    with pytest.raises(ConnectionError):
        await call(tool(HOST, 443))
    assert HOST not in names.asked


def test_a_host_that_is_an_address_is_taken_as_it_is():
    for host in ("127.0.0.1", "[::1]", "10.0.0.1", "localhost", "a.localhost"):
        assert is_named(host)
    assert not is_named(HOST)
