"""The hostile HTTP server: encodings that cost, bodies without end, redirects away."""

from __future__ import annotations

import asyncio
import gzip
from contextlib import suppress
from typing import Self

from aiohttp import web

from tests.security.redteam.moved import Moved
from tests.security.redteam.scripts import Say, Scripts, Use
from tests.security.redteam.words import HOSTILE

PAGES = ("punycode", "bomb", "endless", "away", "drip", "line")
SCRIPTS: Scripts = {
    f"page-{page}": [Use(f"read_{page}", {}), Say(f"{HOSTILE} read")] for page in PAGES
}
BOMB = 1 << 30
"""Bytes that a few kilobytes unpack to."""
DRIPS = 600


class WebServer:
    """Pages of an HTTP tool's service; nobody may be led to `/inside`."""

    def __init__(self, moved: Moved) -> None:
        self._moved = moved
        self._packed = b""
        self.url = ""

    async def __aenter__(self) -> Self:
        self._packed = _packed()
        app = web.Application()
        for page in (*PAGES, "inside"):
            app.router.add_get(f"/{page}", getattr(self, f"_{page}"))
        self._runner = web.AppRunner(app, shutdown_timeout=1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "0.0.0.0", 0).start()
        self.port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _punycode(self, _: web.Request) -> web.Response:
        headers = {"Content-Type": "text/plain; charset=punycode"}
        return web.Response(body=b"a-" + b"b" * 100_000, headers=headers)

    async def _bomb(self, _: web.Request) -> web.Response:
        headers = {"Content-Type": "text/plain", "Content-Encoding": "gzip, gzip"}
        return web.Response(body=self._packed, headers=headers)

    async def _away(self, request: web.Request) -> web.Response:
        raise web.HTTPFound(f"http://127.0.0.2:{self.port}/inside")

    async def _inside(self, _: web.Request) -> web.Response:
        self._moved.note("web", "a redirect led to another host")
        return web.Response(text=HOSTILE)

    async def _endless(self, request: web.Request) -> web.StreamResponse:
        return await self._stream(request, b"x" * 1_000_000, 0.0, 1_000)

    async def _drip(self, request: web.Request) -> web.StreamResponse:
        return await self._stream(request, b"x", 0.5, DRIPS)

    async def _line(self, request: web.Request) -> web.StreamResponse:
        return await self._stream(request, "\u00e4".encode() * 500_000, 0.0, 200)

    async def _stream(
        self, request: web.Request, piece: bytes, pause: float, times: int
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        with suppress(ConnectionError):
            await response.prepare(request)
            for _ in range(times):
                await response.write(piece)
                await asyncio.sleep(pause)
        return response


def _packed() -> bytes:
    """A body of two layers that unpacks to a gigabyte."""
    return gzip.compress(gzip.compress(bytes(1 << 20)) * (BOMB >> 20))
