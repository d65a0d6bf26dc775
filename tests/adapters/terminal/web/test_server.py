"""The page and the socket: for whom, and with what headers."""

import asyncio
import stat
from http.cookies import SimpleCookie
from ipaddress import ip_network
from typing import Any

import aiohttp
import pytest

from adapters.terminal.web.links import sign_out
from adapters.terminal.web.server import WebSettings, serve_web
from gateway.errors import CantListen, GatewayError
from tests.adapters.terminal.web.served import SMALL, served, shown, status_of

LOCAL: dict[str, Any] = {"proxies": (ip_network("127.0.0.0/8"),)}


async def test_a_link_lets_one_browser_in_once(tmp_path):
    folder = tmp_path / "web"
    async with (
        served(folder) as web,
        web.browser(signed_in=False) as browser,
        web.browser(signed_in=False) as other,
    ):
        assert await status_of(browser, "/") == 403
        async with browser.get(web.first_link) as response:
            assert response.status == 200
            assert 'content="0; url=/"' in await response.text()
            cookie = next(iter(SimpleCookie(response.headers["Set-Cookie"]).values()))
        assert cookie["httponly"]
        assert (cookie["samesite"], cookie["path"]) == ("Strict", "/")
        assert (cookie["max-age"], cookie["secure"]) == ("43200", "")
        assert await status_of(browser, "/") == 200
        async with other.get(web.first_link) as response:
            assert response.status == 403
            assert "used already" in await response.text()
            assert "Set-Cookie" not in response.headers
        assert await status_of(other, "/") == 403
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not [*folder.glob("*.link")]


async def test_a_link_lets_nobody_in_after_ten_minutes(tmp_path):
    async with served(tmp_path) as web, web.browser(signed_in=False) as browser:
        web.now.at += 601
        assert await status_of(browser, web.first_link.removeprefix(web.address)) == 403
        assert await status_of(browser, "/") == 403
        web.now.at -= 601  # it is used up all the same
        assert await status_of(browser, web.first_link.removeprefix(web.address)) == 403


@pytest.mark.parametrize("key", ["", "?key=", "?key=x", "?key=..%2Faddress", "?key=%00%ff", "?k=1"])
async def test_no_other_key_lets_anybody_in(tmp_path, key):
    async with served(tmp_path) as web, web.browser(signed_in=False) as browser:
        assert await status_of(browser, f"/enter{key}") == 403
        async with browser.head(web.first_link) as response:  # a program that looks at links
            assert response.status == 405
        assert await status_of(browser, web.first_link.removeprefix(web.address)) == 200


async def test_a_cookie_ends_after_twelve_hours_with_its_tab(tmp_path, monkeypatch):
    monkeypatch.setattr("adapters.terminal.web.server.LOOK", 0.01)
    async with served(tmp_path) as web, web.browser() as browser:
        async with web.tab(browser) as tab:
            await shown(tab, "started")
            web.now.at += 12 * 3600 - 1
            assert await status_of(browser, "/") == 200
            web.now.at += 1
            assert await status_of(browser, "/") == 403
            await shown(tab)
        with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
            await web.tab(browser)


async def test_a_stolen_cookie_is_worth_nothing_after_sign_out(tmp_path, monkeypatch):
    monkeypatch.setattr("adapters.terminal.web.server.LOOK", 0.01)
    async with served(tmp_path) as web, web.browser() as browser:
        async with browser.get("/") as response:
            stolen = response.request_info.headers["Cookie"]
        unused = web.link()
        async with web.browser(signed_in=False) as thief, web.tab(browser) as tab:
            await shown(tab, "started")
            assert await status_of(thief, "/", Cookie=stolen) == 200
            assert "All browsers are signed out" in sign_out(tmp_path)
            assert await status_of(thief, "/", Cookie=stolen) == 403
            assert await status_of(thief, unused.removeprefix(web.address)) == 403
            await shown(tab)
            with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
                await web.tab(thief, Cookie=stolen)
            assert await status_of(thief, web.link().removeprefix(web.address)) == 200


async def test_a_cookie_ends_with_the_process(tmp_path):
    async with served(tmp_path) as web, web.browser() as browser:
        async with browser.get("/") as response:
            kept = response.request_info.headers["Cookie"].partition("=")[2]
        async with web.tab(browser) as tab:
            await shown(tab, "started")
    assert "no browser is signed in" in sign_out(tmp_path)
    async with served(tmp_path) as web, web.browser(signed_in=False) as browser:
        port = web.address.rpartition(":")[2]
        assert await status_of(browser, "/", Cookie=f"parley-{port}={kept}") == 403


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "evil.example:80",
        "localhost@evil.example",
        "",
        "127.0.0.1:1:2",
    ],
)
async def test_a_foreign_host_gets_nothing(tmp_path, host):
    async with served(tmp_path) as web, web.browser() as browser:
        assert await status_of(browser, "/", Host=host) == 421
        with pytest.raises(aiohttp.WSServerHandshakeError, match="421"):
            await web.tab(browser, Host=host)


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:1", "https://{}", "http://{}.evil"]
)
async def test_a_foreign_origin_opens_no_socket(tmp_path, origin):
    async with served(tmp_path) as web, web.browser() as browser:
        origin = origin.format(web.address.removeprefix("http://"))
        assert await status_of(browser, "/", Origin=origin) == 403
        with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
            await web.tab(browser, Origin=origin)
        with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
            await browser.ws_connect("/socket")  # it says none


FORGED = {"X-Forwarded-Host": "chat.example.com", "X-Forwarded-Proto": "https"}


async def test_only_a_listed_proxy_says_the_address(tmp_path):
    async with served(tmp_path) as web, web.browser(signed_in=False) as browser:
        async with browser.get(web.first_link, headers=FORGED) as response:
            assert "secure" not in response.headers["Set-Cookie"].lower()
        with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
            await web.tab(browser, Origin="https://chat.example.com", **FORGED)


async def test_behind_a_listed_proxy_the_cookie_is_for_https_alone(tmp_path):
    async with served(tmp_path, **LOCAL) as web, web.browser(signed_in=False) as browser:
        headers = {**FORGED, "Host": "inner.example"}
        async with browser.get(web.first_link, headers=headers) as response:
            assert response.status == 200
            cookie = response.headers["Set-Cookie"]
        assert "secure" in cookie.lower()
        sent = {"Cookie": cookie.partition(";")[0], **headers}
        assert await status_of(browser, "/", **sent) == 200
        async with web.tab(browser, Origin="https://chat.example.com", **sent) as tab:
            await shown(tab, "started")
        for origin in ("http://chat.example.com", "https://inner.example", web.address):
            with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
                await web.tab(browser, Origin=origin, **sent)
        for odd in ({"X-Forwarded-Proto": "ftp"}, {"X-Forwarded-Host": "a, b:1:2"}):
            assert await status_of(browser, "/", **(sent | odd)) == 421


async def test_a_query_does_not_reach_the_page(tmp_path):
    async with (
        served(tmp_path) as web,
        web.browser() as browser,
        browser.get("/?ping=https://evil.example&delay=9", allow_redirects=False) as response,
    ):
        assert (response.status, response.headers["Location"]) == (303, "/")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html"),
        ("/page.css", "text/css"),
        ("/page.js", "text/javascript"),
        ("/xterm.css", "text/css"),
        ("/textual.js", "text/javascript"),
    ],
)
async def test_all_that_the_page_needs_is_served_from_here(tmp_path, path, kind):
    async with served(tmp_path) as web, web.browser() as browser:
        async with browser.get(path) as response:
            assert (response.status, response.content_type) == (200, kind)
            policy = response.headers["Content-Security-Policy"]
            text = await response.text()
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert response.headers["Server"] == "parley"
        if path == "/":
            assert "//" not in text.replace("<!doctype", "")
            assert not any(word in text for word in ("<style", "style=", " on"))


@pytest.mark.parametrize("path", ["/ws", "/static/", "/download/x", "/../pyproject.toml", "/links"])
async def test_there_is_no_other_page(tmp_path, path):
    async with served(tmp_path) as web, web.browser() as browser:
        assert await status_of(browser, path) == 404
        async with browser.post(path) as response:
            assert response.status == 405
        assert await status_of(browser, "/socket", Origin=web.address) == 400


async def test_a_second_one_prints_a_link_for_the_first(tmp_path):
    config = "/a/config.toml"
    async with (
        served(tmp_path, config=config) as web,
        web.browser(signed_in=False) as browser,
    ):
        said: list[str] = []
        second = WebSettings(folder=tmp_path, command="x", config="/a/config.toml")
        assert await serve_web(second, said.append, web.now) == 0
        assert f"{web.address}/enter?key=" in said[0]
        link = said[0].split()[-1].removeprefix(web.address)
        assert await status_of(browser, link) == 200


@pytest.mark.parametrize("config", ["", "/b/config.toml", "/a/config.toml x"])
async def test_a_second_one_with_another_config_is_refused(tmp_path, config):
    async with served(tmp_path, config="/a/config.toml"):
        second = WebSettings(folder=tmp_path, command="x", config=config)
        said: list[str] = []
        with pytest.raises(GatewayError, match=r"runs already, with /a/config\.toml\. End it with"):
            await serve_web(second, said.append)
        assert said == []


async def test_a_port_that_is_taken_gets_a_sentence(tmp_path):
    async with served(tmp_path / "a") as web:
        port = int(web.address.rpartition(":")[2])
        other = WebSettings(folder=tmp_path / "b", command=SMALL, port=port)
        with pytest.raises(CantListen, match=r"in use\. Name another port with --port"):
            await serve_web(other, print)


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1", "localhost"])
async def test_an_address_for_others_comes_with_a_warning(tmp_path, host):
    async with served(tmp_path, host=host) as web:
        assert ("without a proxy for https" in web.said[0]) == (host == "0.0.0.0")
        assert "0.0.0.0" not in web.address
        assert ("this machine's IP address" in web.said[0]) == (host == "0.0.0.0")
        async with web.browser() as browser, web.tab(browser) as tab:
            await asyncio.wait_for(shown(tab, "started"), 30)
