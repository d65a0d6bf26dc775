"""`parley web` in a real browser: links, keys, tabs, cookies, pastes."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, BrowserContext, Page, WebSocket, async_playwright

from tests.adapters.terminal.web.served import served
from tests.browser.site import Site

PATIENCE = 110.0
WEB = (sys.executable, "-m", "gateway.cli", "web")
REFUSED = """address => new Promise(resolve => {
    const socket = new WebSocket(address);
    socket.onopen = () => resolve("opened");
    socket.onclose = () => resolve("refused");
})"""
ANSI = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")


@asynccontextmanager
async def chromium(*arguments: str) -> AsyncGenerator[Browser]:
    async with asyncio.timeout(PATIENCE), async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=os.environ["PARLEY_CHROMIUM"], args=["--no-sandbox", *arguments]
        )
        yield browser
        await browser.close()


@asynccontextmanager
async def running(folder: Path) -> AsyncGenerator[tuple[asyncio.subprocess.Process, str, str]]:
    """A `parley web`, its first link, and its address."""
    process = await asyncio.create_subprocess_exec(
        *(*WEB, "--port", "0"), cwd=folder, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        greeting = (await process.stdout.readuntil(b"?key=")).decode()
        link = greeting.split()[-1] + (await process.stdout.readline()).decode().strip()
        yield process, link, re.sub(r"enter.*", "", link)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
        assert await process.wait() == 130


async def in_chat(page: Page) -> None:
    await page.wait_for_selector("body.-first-byte", timeout=PATIENCE * 1000)
    await page.wait_for_selector("textarea:focus", timeout=PATIENCE * 1000)


async def is_out(page: Page, home: str) -> bool:
    await page.goto(home)
    return "not signed in" in await page.inner_text("body")


class Shown:
    """Pictures of a page's chat, in their order."""

    def __init__(self, page: Page) -> None:
        self.pictures: list[str] = []
        self._more = asyncio.Event()
        page.on("websocket", lambda socket: self._listen(socket))

    def _listen(self, socket: WebSocket) -> None:
        socket.on("framereceived", self._take)

    def _take(self, picture: str | bytes) -> None:
        if isinstance(picture, bytes):
            self.pictures.append(ANSI.sub(b"", picture).decode(errors="replace"))
            self._more.set()

    async def until(self, text: str, *, without: str = "\0") -> int:
        """Number of the first picture that has a text, and lacks another."""
        looked = 0
        while True:
            for number, picture in enumerate(self.pictures[looked:], looked):
                if text in picture and without not in picture:
                    return number
            looked = len(self.pictures)
            self._more.clear()
            await self._more.wait()


async def with_cookie_of(robbed: BrowserContext, browser: Browser, address: str) -> Page:
    """A page of another browser, with a stolen cookie for an address."""
    thief = await browser.new_context()
    [cookie] = await robbed.cookies()
    name, value = cookie.get("name", ""), cookie.get("value", "")
    await thief.add_cookies([{"name": name, "value": value, "url": address}])
    return await thief.new_page()


@pytest.mark.timeout(120)
async def test_a_link_opens_the_chat_once_and_its_end_is_the_end(tmp_path: Path):
    async with running(tmp_path) as (process, link, home), chromium() as browser:
        mine, stolen = await browser.new_context(), await browser.new_context()
        page, second, thief = await mine.new_page(), await mine.new_page(), await stolen.new_page()
        mistakes: list[str] = []
        page.on("pageerror", lambda error: mistakes.append(str(error)))
        await page.goto(link)
        await in_chat(page)
        assert page.url == home
        await second.goto(home)
        await in_chat(second)
        await thief.goto(link)
        assert "used already" in await thief.inner_text("body")
        assert await is_out(thief, home)
        await page.reload()
        await in_chat(page)
        await page.keyboard.type("hello")
        process.send_signal(signal.SIGINT)
        await page.wait_for_selector("body.-closed #ended", state="visible")
        await second.wait_for_selector("body.-closed")
        assert not mistakes


@pytest.mark.timeout(120)
async def test_an_answer_streams_an_approval_is_decided_and_a_paste_goes_in(tmp_path: Path):
    (tmp_path / "notes.md").write_text("Paprika is red.")
    async with running(tmp_path) as (_, link, home), chromium() as browser:
        context = await browser.new_context()
        page = await context.new_page()
        shown = Shown(page)
        await page.goto(link)
        await in_chat(page)
        await shown.until("Message the team")
        await page.keyboard.type("hello")
        await page.keyboard.press("Enter")
        begun = await shown.until("Hello! You are")
        assert await shown.until("start again") > begun
        await context.grant_permissions(["clipboard-write"], origin=home)
        await page.evaluate("navigator.clipboard.writeText('read notes.md')")
        await page.keyboard.press("Control+Shift+V")
        await shown.until("read notes.md")
        await page.keyboard.press("Enter")
        await shown.until("asks to run read_file", without="to answer")
        assert not any("Paprika" in picture for picture in shown.pictures)
        answered = asyncio.ensure_future(shown.until("Paprika is red."))
        while not answered.done():  # the card's first half second takes no key
            await page.keyboard.press("y")
            await asyncio.wait([answered], timeout=1)


@pytest.mark.timeout(120)
async def test_another_site_reaches_no_socket(tmp_path: Path, site: Site):
    resolved = "--host-resolver-rules=MAP evil.example 127.0.0.1"
    async with running(tmp_path) as (_, link, home), chromium(resolved) as browser:
        context = await browser.new_context()
        page = await context.new_page()
        await page.goto(link)
        await in_chat(page)
        socket = home.replace("http", "ws") + "socket"
        assert await page.evaluate(REFUSED, socket) == "opened"
        await page.goto(site.url())  # another port: its requests come with the cookie
        assert await page.evaluate(REFUSED, socket) == "refused"
        evil = home.replace("127.0.0.1", "evil.example")
        other = await with_cookie_of(context, browser, evil)
        await other.goto(evil)
        assert "not served here" in await other.inner_text("body")
        assert (
            await other.evaluate(REFUSED, socket.replace("127.0.0.1", "evil.example")) == "refused"
        )


@pytest.mark.timeout(120)
async def test_a_stolen_cookie_lets_nobody_in_after_sign_out(tmp_path: Path):
    async with running(tmp_path) as (_, link, home), chromium() as browser:
        context = await browser.new_context()
        page = await context.new_page()
        await page.goto(link)
        await in_chat(page)
        thief = await with_cookie_of(context, browser, home)
        await thief.goto(home)
        await in_chat(thief)
        out = await asyncio.create_subprocess_exec(*WEB, "--sign-out", cwd=tmp_path)
        assert await out.wait() == 0
        for each in (page, thief):
            await each.wait_for_selector("body.-closed")
            assert await is_out(each, home)


@pytest.mark.timeout(120)
async def test_a_cookie_lets_nobody_in_after_its_end(tmp_path: Path):
    async with served(tmp_path) as web, chromium() as browser:
        page = await browser.new_page()
        await page.goto(web.first_link)
        await in_chat(page)
        web.now.at += 12 * 3600
        await page.wait_for_selector("body.-closed")
        assert await page.context.cookies()
        assert await is_out(page, web.address)
