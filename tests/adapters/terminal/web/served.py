"""A `parley web` in this process, and browsers that visit it."""

import asyncio
import contextlib
import re
import shlex
import sys
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import WSMsgType

from adapters.terminal.web.links import Links
from adapters.terminal.web.server import WebSettings, serve_web

SMALL = f"exec {shlex.join([sys.executable, str(Path(__file__).with_name('small_chat.py'))])}"


@dataclass(slots=True)
class Now:
    """A clock that stands."""

    at: float = 1_000_000.0

    def __call__(self) -> float:
        return self.at


@dataclass(slots=True)
class Served:
    """Where it is served, and how to get in."""

    folder: Path
    address: str
    first_link: str
    now: Now
    said: list[str] = field(default_factory=list[str])

    def link(self) -> str:
        return f"{self.address}/enter?key={Links(self.folder, self.now).make()}"

    @contextlib.asynccontextmanager
    async def browser(self, *, signed_in: bool = True) -> AsyncGenerator[aiohttp.ClientSession]:
        jar = aiohttp.CookieJar(unsafe=True)  # of an IP address
        async with aiohttp.ClientSession(self.address, cookie_jar=jar) as browser:
            if signed_in:
                async with browser.get(self.link()) as response:
                    assert response.status == 200
            yield browser

    async def cookie(self, browser: aiohttp.ClientSession) -> str:
        """The header of a browser that is in."""
        async with browser.get("/") as response:
            return response.request_info.headers["Cookie"]

    def tab(self, browser: aiohttp.ClientSession, query: str = "?width=80&height=24", **headers):
        headers = {"Origin": self.address, **headers}
        return browser.ws_connect(f"/socket{query}", headers=headers, autoclose=True)


@contextlib.asynccontextmanager
async def served(folder: Path, command: str = SMALL, **settings: Any) -> AsyncGenerator[Served]:
    said: asyncio.Queue[str] = asyncio.Queue()
    now = Now()
    web = WebSettings(folder=folder, command=command, **settings)
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(serve_web(web, said.put_nowait, now))
        greeting = await said.get()
        found = re.search(r"(http://\S+)/enter\?key=\S+", greeting)
        assert found is not None
        try:
            yield Served(folder, found[1], found[0], now, [greeting])
        finally:
            serving.cancel()


async def shown(tab: aiohttp.ClientWebSocketResponse, text: str = "") -> str:
    """Output of a tab until a text; without one, to its end."""
    output = ""
    async with asyncio.timeout(30):
        while not (text and text in output):
            message = await tab.receive()
            if message.type != WSMsgType.BINARY:
                assert not text, f"{text!r} was not shown: {output!r}"
                break
            output += message.data.decode()
    return output


async def stalled(tab: aiohttp.ClientWebSocketResponse, folder: Path) -> None:
    """Let the chat of a tab write until nothing takes it."""
    await shown(tab, "started")
    await tab.send_json(["stdin", f"flood {folder / 'full'}"])
    async with asyncio.timeout(30):
        while not (folder / "full").exists():  # noqa: ASYNC110 (another process's doing)
            await asyncio.sleep(0.01)


async def status_of(browser: aiohttp.ClientSession, path: str, **headers: str) -> int:
    async with browser.get(path, headers=headers, allow_redirects=False) as response:
        return response.status
