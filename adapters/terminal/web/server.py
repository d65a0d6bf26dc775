"""The page and the socket, for who came by a link."""

from __future__ import annotations

import asyncio
import io
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, ExitStack, redirect_stdout
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from ipaddress import ip_address
from pathlib import Path
from typing import TextIO

from aiohttp import web

from adapters.terminal.web.links import (
    COOKIE_SECONDS,
    AlreadyRuns,
    Cookies,
    Links,
    only_one,
)
from adapters.terminal.web.tabs import CHAT_SECONDS, Tabs
from adapters.terminal.web.visits import Network, Visit, asked_size, is_foreign, visit_of
from gateway.base.http_port import serving
from gateway.base.redaction import REDACTION
from gateway.errors import CantListen, GatewayError
from gateway.render.sanitize import sanitize

LOOK = 1.0
"""Seconds after which a tab whose cookie has ended is closed."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), clipboard-read=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
OTHER_PORT = "Name another port with --port; with 0 it is a free one."
OTHER = (
    "`parley web` runs already, with {config}. End it with ctrl+c there first, or give this config "
    "a store of its own."
)

_SOCKET = "/socket"
_SAID = "<!doctype html><html lang=en><meta charset=utf-8><title>Parley</title>{head}<p>{text}</p>"
_NOT_IN = (
    "This browser is not signed in. Open the link that parley web has printed; "
    "run parley web again for another one."
)
_NO_LINK = (
    "This link does not sign you in: it was used already, is older than ten minutes, or was taken "
    "back. Run parley web again for another one."
)
_NOT_OURS = "This address is not served here. Use an IP address, localhost, or the name of --host."
_FOREIGN = "Another site may not ask for this."


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSettings:
    """Settings of `parley web`."""

    folder: Path
    """Folder of its links, for nobody else."""
    command: str
    """The command line of a chat."""
    config: str = ""
    """The path of its config."""
    host: str = "127.0.0.1"
    port: int = 0
    proxies: tuple[Network, ...] = ()
    """The only addresses whose X-Forwarded headers count."""


async def serve_web(
    settings: WebSettings, say: Callable[[str], None], now: Callable[[], float] = time.time
) -> int:
    """Let browsers in until cancelled; the exit code.

    If it runs already, only a new link for that one is told. Raises GatewayError.
    """
    links = Links(settings.folder, now)
    with ExitStack() as stack:
        try:
            tell = stack.enter_context(only_one(settings.folder))
        except AlreadyRuns as other:
            if not other.address:
                raise
            if other.config != settings.config:
                raise GatewayError(OTHER.format(config=other.config or "no config")) from None
            say(f"`parley web` runs already. Another link for it:\n\n{_link(other.address, links)}")
            return 0
        links.drop()  # of one that was killed
        stack.callback(links.drop)
        stack.enter_context(redirect_stdout(_Clean(sys.stdout)))
        await _serve(settings, links, tell, say, now)
    return 0


async def _serve(
    settings: WebSettings,
    links: Links,
    tell: Callable[[str], None],
    say: Callable[[str], None],
    now: Callable[[], float],
) -> None:
    site = _Site(settings, links, Cookies(links, now), Tabs(settings.command))
    host, port = settings.host, settings.port
    async with AsyncExitStack() as stack:
        try:
            served = serving(site.answer, host, port, shutdown=CHAT_SECONDS + 1)
            _, port = await stack.enter_async_context(served)
        except OSError as error:
            raise CantListen(host, port, error, OTHER_PORT) from error
        stack.push_async_callback(site.tabs.end, lambda _: True)
        address = f"http://{_shown_host(host)}:{port}"
        tell(f"{address} {settings.config}")
        say(_greeting(host, _link(address, links)))
        await site.watch()


@dataclass(frozen=True, slots=True)
class _Site:
    """Answers requests, and ends tabs with their cookies."""

    settings: WebSettings
    links: Links
    cookies: Cookies
    tabs: Tabs

    async def watch(self) -> None:
        """Close the tabs whose cookies have ended, until cancelled."""
        while True:
            await asyncio.sleep(LOOK)
            await self.tabs.end(lambda tab: not self.cookies.counts(tab.cookie))

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """The answer to a request."""
        visit = visit_of(request, {self.settings.host.lower()}, self.settings.proxies)
        if visit is None:
            return _said(_NOT_OURS, 421)
        if is_foreign(request, visit, must_say=request.path == _SOCKET):
            return _said(_FOREIGN, 403)
        if request.method != "GET":
            return _said("Only GET requests are answered here.", 405)
        if request.path == "/enter":
            return self._enter(request, visit)
        cookie = request.cookies.get(_cookie_name(request), "")
        if self.cookies.counts(cookie):
            return await self._show(request, cookie)
        return _said(_NOT_IN, 403)

    async def _show(self, request: web.BaseRequest, cookie: str) -> web.StreamResponse:
        if request.path != _SOCKET:
            return _file(request)
        if not web.WebSocketResponse().can_prepare(request):
            return _said("Here is a socket.", 400)
        return await self.tabs.serve(request, cookie, asked_size(request))

    def _enter(self, request: web.BaseRequest, visit: Visit) -> web.Response:
        """Use a link up.

        The page goes on by itself: a redirection would come without the cookie where another site
        had the link.
        """
        if not self.links.take(request.query.get("key", "")):
            return _said(_NO_LINK, 403)
        answer = _said("", 200, '<meta http-equiv="refresh" content="0; url=/">')
        answer.set_cookie(
            _cookie_name(request),
            self.cookies.make(),
            max_age=COOKIE_SECONDS,
            secure=visit.scheme == "https",
            httponly=True,
            samesite="Strict",
        )
        return answer


class _Clean(io.TextIOBase):
    """Standard output, where textual-serve writes the errors of chats, and some twice."""

    def __init__(self, under: TextIO) -> None:
        self._under = under
        self._last = ""

    def write(self, text: str) -> int:
        """Write a text that steers no terminal. Raises TypeError for bytes."""
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] (click tries)
            raise TypeError
        if text != self._last:
            self._under.write(REDACTION.known(sanitize(text)))
        self._last = text
        return len(text)

    def flush(self) -> None:
        """Write what waits."""
        self._under.flush()


def _cookie_name(request: web.BaseRequest) -> str:
    """A name for each port: cookies reach all of a host."""
    return f"parley-{request.get_extra_info('sockname', ('', 0))[1]}"


def _file(request: web.BaseRequest) -> web.Response:
    """The page, or a file that it names."""
    of_page = files("adapters.terminal.web") / "page"
    of_script = files("textual_serve") / "static"
    match request.path:
        case "/" if request.query_string:  # the script would read it
            return web.Response(status=303, headers={**HEADERS, "Location": "/"})
        case "/":
            file, kind = of_page / "page.html", "text/html"
        case "/page.css" | "/page.js":
            kind = "text/css" if request.path.endswith("css") else "text/javascript"
            file = of_page / request.path[1:]
        case "/xterm.css":
            file, kind = of_script / "css" / "xterm.css", "text/css"
        case "/textual.js":
            file, kind = of_script / "js" / "textual.js", "text/javascript"
        case _:
            return _said("There is no such page.", 404)
    return web.Response(text=file.read_text("utf-8"), content_type=kind, headers=HEADERS)


def _said(text: str, status: int, head: str = "") -> web.Response:
    page = _SAID.format(head=head, text=escape(text))
    return web.Response(status=status, text=page, content_type="text/html", headers=HEADERS)


def _link(address: str, links: Links) -> str:
    return f"  {address}/enter?key={links.make()}\n"


def _shown_host(host: str) -> str:
    """The host for a link on this machine."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if address.is_unspecified:
        return "127.0.0.1" if address.version == 4 else "[::1]"  # noqa: PLR2004
    return str(address) if address.version == 4 else f"[{address}]"  # noqa: PLR2004


def _greeting(host: str, link: str) -> str:
    told = f"Open your chat in a browser, within ten minutes. The link works once:\n\n{link}\n"
    told += (
        "`parley web` in another terminal prints another link, `parley web --sign-out` signs all "
        "browsers out.\nSo does ctrl+c here, which ends it."
    )
    if _is_loopback(host):
        return told
    return (
        f"{told}\nOthers on this network can reach it, and without a proxy for https they can read "
        "along. From another machine, put this machine's IP address in the link. Another name is "
        "answered only as that of --host, or from a proxy in [web] proxies."
    )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
