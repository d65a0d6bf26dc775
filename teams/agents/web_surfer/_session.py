"""A browser with one page, started when it is needed."""

from __future__ import annotations

import asyncio
import base64
import os
import re
import shutil
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from teams._base.environment import environment_for_code
from teams._base.kinds import NetworkRules
from teams._base.safe_files import write_file
from teams.agents.web_surfer._controller import (
    InteractiveRegion,
    PlaywrightController,
    clean,
    page_error,
)
from teams.agents.web_surfer._proxy import USER, JudgingProxy

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Dialog, Download, Page, Playwright

CHROMIUM = "PARLEY_CHROMIUM"
"""Environment variable with the path of a Chromium."""
MOST_BROWSERS = 4
"""Browsers of this process; the one that was used longest ago gives way."""
MOST_PAGES = 5
MOST_DOWNLOADS = 3
MOST_SENTENCES = 10
LARGEST_DOWNLOAD = 50_000_000
DOWNLOAD_SECONDS = 60.0
OPEN_SECONDS = 60.0
CLOSE_SECONDS = 5.0
SHOT_WIDTH, SHOT_HEIGHT = 1224, 765

_MISSING = (
    "There is no Chromium for the web surfer. Install one (`playwright install chromium`, or your "
    f"system's package), set {CHROMIUM} to the path of its program, or set browser_channel."
)
_NOT_IN_NAMES = re.compile(r"[^\w.-]+")

_open: list[BrowserSession] = []


class BrowserSession:
    """A browser's page, and news of it."""

    def __init__(
        self,
        controller: PlaywrightController,
        rules: NetworkRules,
        *,
        headless: bool,
        channel: str | None,
        data_dir: str | None,
        playwright: Playwright | None,
        context: BrowserContext | None,
    ) -> None:
        self._controller = controller
        self._headless = headless
        self._channel = channel
        self._data_dir = data_dir
        self._playwright = playwright
        self._context = context
        self._proxy = JudgingProxy(rules)
        self._stack: AsyncExitStack | None = None
        self._page: Page | None = None
        self._board: Page | None = None
        self._theirs: list[Page] = []
        self._said: list[str] = []
        self._downloads: list[Download] = []

    @property
    def is_open(self) -> bool:
        """True while the page is there."""
        return self._page is not None and not self._page.is_closed()

    @property
    def page(self) -> Page:
        """The page. Raises ValueError if the browser is closed."""
        if self._page is None or self._page.is_closed():
            raise ValueError("No page is open: the browser was closed. Open an address first.")
        if self in _open:
            _open.append(_open.pop(_open.index(self)))
        return self._page

    async def open(self) -> None:
        """Start the browser. Raises RuntimeError where there is none."""
        await self.close()
        while len(_open) >= MOST_BROWSERS:
            await _open[0].close()
        _open.append(self)
        self._stack = AsyncExitStack()
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                context = self._context or await self._start(self._stack)
                context.on("dialog", self._dismiss)
                self._theirs = [*context.pages]
                context.on("page", self._take_page)
                self._stack.push_async_callback(self._leave, context)
                self._board = await context.new_page()
                await self._board.set_viewport_size({"width": SHOT_WIDTH, "height": SHOT_HEIGHT})
                await self.show(await context.new_page())
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Close the browser, if it was started here."""
        stack, self._stack, self._page = self._stack, None, None
        if self in _open:
            _open.remove(self)
        if stack is not None:
            with suppress(Exception):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await stack.aclose()

    async def show(self, page: Page) -> None:
        """Make this the page that is worked on; close all others."""
        if page is not self._page:
            self._page = page
            await self._controller.on_new_page(page)
        for other in page.context.pages:
            if other not in (page, self._board, *self._theirs):
                await other.close()

    async def _note_download(self, download: Download) -> None:
        if self._controller.downloads_folder is not None and len(self._downloads) < MOST_DOWNLOADS:
            self._downloads.append(download)
            return
        why = "too many at once" if self._downloads else "there is no folder for downloads"
        self._say(f"The download {_name_of(download)!r} was refused: {why}.")
        with suppress(Exception):  # its page may have gone
            await download.cancel()

    def _say(self, sentence: str) -> None:
        if len(self._said) < MOST_SENTENCES:
            self._said.append(sentence)

    async def news(self) -> list[str]:
        """Sentences on dialogs, downloads and refusals since the last time."""
        downloads, self._downloads = self._downloads, []
        for download in downloads:
            self._said.append(await self._keep(download))
        said, self._said = self._said, []
        refused = dict.fromkeys(self._proxy.refusals)
        self._proxy.refusals.clear()
        return [*said, *(f"Refused by the rules for the network: {each}" for each in refused)]

    async def picture(self, regions: Mapping[str, InteractiveRegion]) -> bytes:
        """The view as JPEG, with a numbered box around each element."""
        page, board = self.page, self._board
        assert board is not None
        wait = self._controller.patience * 1000
        shot = await page.screenshot(type="jpeg", quality=80, timeout=wait, animations="disabled")
        width = (page.viewport_size or {"width": SHOT_WIDTH})["width"]
        boxes = "".join(
            f'<div style="left:{box["x"]}px;top:{box["y"]}px;width:{box["width"]}px;'
            f'height:{box["height"]}px"><b>{number}</b></div>'
            for number, region in regions.items()
            for box in region["rects"][:1]
        )
        data = base64.b64encode(shot).decode("ascii")
        await board.set_content(
            f"<style>{_BOARD}body{{zoom:{SHOT_WIDTH / width}}}</style>"
            f'<img width="{width}" src="data:image/jpeg;base64,{data}">{boxes}',
            timeout=wait,
        )
        return await board.screenshot(type="jpeg", quality=80, timeout=wait)

    async def _start(self, stack: AsyncExitStack) -> BrowserContext:
        await asyncio.to_thread(import_module, "playwright.async_api")  # it takes a while
        from playwright.async_api import async_playwright  # for a quick start

        address = await self._proxy.start()
        stack.push_async_callback(self._proxy.stop)
        playwright = self._playwright
        if playwright is None:
            playwright = await async_playwright().start()
            stack.push_async_callback(playwright.stop)
        options: dict[str, Any] = {
            "headless": self._headless,
            "channel": self._channel,
            "executable_path": None if self._channel else _program(playwright),
            # Chromium refuses its sandbox to root alone.
            "chromium_sandbox": os.geteuid() != 0,
            "env": environment_for_code(),
            "args": ["--force-webrtc-ip-handling-policy=disable_non_proxied_udp"],
        }
        # Chromium sends them when it is asked; they are in no command line.
        proxy = {"server": address, "username": USER, "password": self._proxy.word}
        page: dict[str, Any] = {"proxy": proxy, "service_workers": "block"}
        folder = self._data_dir
        if folder is not None:
            context = await playwright.chromium.launch_persistent_context(folder, **options, **page)
            stack.push_async_callback(context.close)
            return context
        browser = await playwright.chromium.launch(**options)
        stack.push_async_callback(browser.close)
        return await browser.new_context(**page)

    async def _take_page(self, page: Page) -> None:
        page.on("download", self._note_download)
        if len(page.context.pages) - len(self._theirs) > MOST_PAGES:
            with suppress(page_error()):
                await page.close()

    async def _leave(self, context: BrowserContext) -> None:
        """Leave a context as it was found."""
        context.remove_listener("dialog", self._dismiss)
        context.remove_listener("page", self._take_page)
        for page in context.pages:
            if page not in self._theirs:
                await page.close()

    async def _dismiss(self, dialog: Dialog) -> None:
        leaving = dialog.type == "beforeunload"
        if not leaving:
            words = " ".join(clean(dialog.message).split())[:200]
            self._say(f"The page showed a dialog ({dialog.type}), dismissed: {words!r}.")
        with suppress(page_error()):
            await (dialog.accept() if leaving else dialog.dismiss())

    async def _keep(self, download: Download) -> str:
        """Put a download into its folder; a sentence on it."""
        name, folder = _name_of(download), Path(self._controller.downloads_folder or "")
        try:
            async with asyncio.timeout(DOWNLOAD_SECONDS):
                saved = await asyncio.to_thread(_save, await download.path(), folder, name)
                await download.delete()
        except Exception as error:  # whatever has broken it
            with suppress(Exception):
                await download.cancel()
            return f"The download {name!r} was refused: {error or type(error).__name__}"
        return f"Downloaded {saved!r}."


def _name_of(download: Download) -> str:
    """A file's name that stays in its folder, and is seen there."""
    return _NOT_IN_NAMES.sub("_", download.suggested_filename).lstrip(".")[-100:] or "file"


def _save(found: Path, folder: Path, name: str) -> str:
    if (size := found.stat().st_size) > LARGEST_DOWNLOAD:
        raise ValueError(f"it has {size:,} bytes, {LARGEST_DOWNLOAD:,} are allowed.")
    folder.mkdir(parents=True, exist_ok=True)
    number = 1
    while os.path.lexists(folder / (saved := f"{number}-{name}" if number > 1 else name)):
        number += 1
    write_file(folder, saved, found.read_bytes())
    return saved


def _program(playwright: Playwright) -> str:
    """The Chromium to start. Raises RuntimeError if there is none."""
    own = playwright.chromium.executable_path
    named = os.environ.get(CHROMIUM) or (own if os.path.exists(own) else shutil.which("chromium"))
    if not named or not os.path.exists(named):
        raise RuntimeError(_MISSING)
    return named


_BOARD = (
    "body{margin:0;position:relative}img{display:block}"
    "div{position:absolute;box-sizing:border-box;outline:2px solid #c00}"
    "b{position:absolute;right:0;top:0;font:bold 13px sans-serif;color:#fff;background:#c00;"
    "padding:0 3px}"
)
