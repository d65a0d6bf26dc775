"""The controller of pages: reads, clicks, fills in, scrolls."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from teams._base.documents import read_document

if TYPE_CHECKING:
    from playwright.async_api import Download, Error, Frame, Locator, Page

BLANK = "about:blank"
FIRST_ID = 10
MOST_FRAMES = 20
MOST_TARGETS = 200
LONGEST_NAME = 100
ID_SECONDS = 5.0
LONGEST_SLEEP = 60.0
SETTLE_SECONDS = 0.25

_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


class InteractiveRegion(TypedDict):
    """An element that can be clicked, filled in or scrolled."""

    tag_name: str
    role: str
    aria_name: str
    v_scrollable: bool
    rects: list[dict[str, float]]
    """Boxes in pixels of the view: x, y, width, height, top, right, bottom, left."""


class PlaywrightController:
    """Reads and works pages of Playwright.

    An element has an id, its attribute `__elementId`, from `get_interactive_rects` on. An id that
    is not there for 5 seconds is a ValueError, a page that does not answer within `patience`
    seconds a TimeoutError.
    """

    patience: float = 10.0

    def __init__(
        self,
        downloads_folder: str | None = None,
        animate_actions: bool = False,
        viewport_width: int = 1440,
        viewport_height: int = 900,
        _download_handler: Callable[[Download], None] | None = None,
        to_resize_viewport: bool = True,
    ) -> None:
        self.downloads_folder = downloads_folder
        self.animate_actions = animate_actions
        self.viewport_width = viewport_width
        self.viewport_height = viewport_height
        self._download_handler = _download_handler
        self.to_resize_viewport = to_resize_viewport
        self._next_ids: WeakKeyDictionary[Page, int] = WeakKeyDictionary()

    async def sleep(self, page: Page, duration: int | float) -> None:
        """Wait, a minute at most."""
        await asyncio.sleep(min(duration, LONGEST_SLEEP))

    async def get_interactive_rects(self, page: Page) -> dict[str, InteractiveRegion]:
        """The elements in the view by their ids, those of frames included."""
        found: dict[str, InteractiveRegion] = {}
        for frame in page.frames[:MOST_FRAMES]:
            if (place := await self._place(frame)) is None:
                continue
            next_id, most = self._next_ids.get(page, FIRST_ID), MOST_TARGETS - len(found)
            read = await self._read(frame, "rects", next=next_id, most=most)
            self._next_ids[page] = max(next_id, int(read["next"]))
            for key, each in list(read["found"].items())[:most]:
                found.setdefault(str(int(key)), _region(each, *place))
        return found

    async def get_visual_viewport(self, page: Page) -> dict[str, float]:
        """The view and the page's size, by the browser's own names."""
        return await self._read(page.main_frame, "viewport")

    async def get_focused_rect_id(self, page: Page) -> str | None:
        """The id of the element with the focus, if it has one."""
        return await self._read(page.main_frame, "focused")

    async def get_page_metadata(self, page: Page) -> dict[str, Any]:
        """The page's meta tags and JSON-LD."""
        return await self._read(page.main_frame, "metadata")

    async def on_new_page(self, page: Page) -> None:
        """Prepare a new page: its downloads and its size."""
        if self._download_handler is not None:
            page.on("download", self._download_handler)
        if self.to_resize_viewport:
            size = {"width": self.viewport_width, "height": self.viewport_height}
            await page.set_viewport_size(cast("Any", size))

    async def back(self, page: Page) -> None:
        """Go back in the page's history."""
        await page.go_back(timeout=self.patience * 1000)

    async def visit_page(self, page: Page, url: str) -> tuple[bool, bool]:
        """Open an address of http or https.

        A page that is still loading after `patience` seconds stays as it is then. Returns whether
        the page is another one, and that the last download is over.
        """
        if urlsplit(url).scheme not in ("http", "https") and url != BLANK:
            raise ValueError(f"{url[:100]!r} is refused: only http and https addresses are opened.")
        begun = asyncio.Event()

        def note(_: Download) -> None:
            begun.set()

        page.on("download", note)
        try:
            await page.goto(url, timeout=self.patience * 1000)
        except page_error() as error:
            if "Timeout" in error.message:
                await self._stop_loading(page)
            elif "Download is starting" in error.message:
                async with asyncio.timeout(self.patience):
                    await begun.wait()
                return False, True
            else:
                raise ConnectionError(error.message.splitlines()[0][:300]) from error
        finally:
            page.remove_listener("download", note)
        return True, True

    async def page_down(self, page: Page) -> None:
        """Scroll down by most of a view."""
        await self._scroll(page, self.viewport_height - 50)

    async def page_up(self, page: Page) -> None:
        """Scroll up by most of a view."""
        await self._scroll(page, 50 - self.viewport_height)

    async def click_id(self, page: Page, identifier: str) -> Page | None:
        """Click an element; the new page, if one opens."""
        opened: list[Page] = []

        def note(new: Page) -> None:
            opened.append(new)

        page.on("popup", note)
        try:
            target = await self._find(page, identifier)
            await self._point_at(page, target)
            await self._work(target.click(timeout=self.patience * 1000))
            # A navigation begins, and a pop-up is told of, within a moment.
            await asyncio.sleep(SETTLE_SECONDS)
            await self._settle(opened[0] if opened else page)
        finally:
            page.remove_listener("popup", note)
        if not opened:
            return None
        await self.on_new_page(opened[0])
        return opened[0]

    async def hover_id(self, page: Page, identifier: str) -> None:
        """Move the mouse over an element."""
        target = await self._find(page, identifier)
        await self._point_at(page, target)
        await self._work(target.hover(timeout=self.patience * 1000))

    async def fill_id(
        self, page: Page, identifier: str, value: str, press_enter: bool = True
    ) -> None:
        """Fill in an element.

        The value is a text, an option's label, or "true" for a check box.
        """
        target, wait = await self._find(page, identifier), self.patience * 1000
        kind = await target.evaluate("element => `${element.tagName} ${element.type}`")
        match str(kind).lower().split():
            case ["select", *_]:
                return await self._work(target.select_option(label=value, timeout=wait))
            case ["input", "checkbox" | "radio"]:
                chosen = value.strip().lower() in ("true", "yes", "on", "1", "checked")
                return await self._work(target.set_checked(chosen, timeout=wait))
            case ["input", "file"]:
                raise ValueError("Files of this machine are not given to a page.")
            case _:
                await self._work(target.fill(value, timeout=wait))
        if press_enter:
            await self._work(target.press("Enter", timeout=wait, no_wait_after=True))
            await asyncio.sleep(SETTLE_SECONDS)
            await self._settle(page)

    async def scroll_id(
        self, page: Page, identifier: str, direction: Literal["up", "down"]
    ) -> None:
        """Scroll inside of an element."""
        target = await self._find(page, identifier)
        sign = -1 if direction == "up" else 1
        await self._work(target.evaluate("(e, s) => e.scrollBy(0, s * e.clientHeight * 0.9)", sign))

    async def get_webpage_text(self, page: Page, n_lines: int = 50) -> str:
        """The first lines of the page's text."""
        return clean(str(await self._read(page.main_frame, "text", lines=n_lines)))

    async def get_visible_text(self, page: Page) -> str:
        """The text in the view, that of frames included."""
        frames = page.frames[:MOST_FRAMES]
        shown = [each for each in frames if await self._place(each) is not None]
        return "\n".join([clean(str(await self._read(each, "visible"))) for each in shown])

    async def get_page_markdown(self, page: Page) -> str:
        """The whole page as Markdown."""
        html = str(await self._read(page.main_frame, "html"))
        return clean(await read_document("html", html.encode("utf-8", "replace")))

    async def _read(self, frame: Frame, task: str, **options: Any) -> Any:
        given = {"task": task, **options}
        with suppress(TimeoutError):
            async with asyncio.timeout(self.patience / 4):
                return await frame.evaluate(_script(), given)
        await self._stop_loading(frame.page)  # a page that does not come holds up the present one
        async with asyncio.timeout(self.patience):
            return await frame.evaluate(_script(), given)

    async def _stop_loading(self, page: Page) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self.patience / 4):
                session: Any = await page.context.new_cdp_session(page)
                await session.send("Page.stopLoading")

    async def _place(self, frame: Frame) -> tuple[float, float] | None:
        """The frame's corner in the view; None if it does not show."""
        if frame.parent_frame is None:
            return 0.0, 0.0
        try:
            async with asyncio.timeout(self.patience):
                box = await (await frame.frame_element()).bounding_box()
        except page_error():  # it has just gone
            return None
        return (box["x"], box["y"]) if box and box["width"] > 1 and box["height"] > 1 else None

    async def _find(self, page: Page, identifier: str) -> Locator:
        number = int(identifier)
        with suppress(TimeoutError):
            async with asyncio.timeout(ID_SECONDS):
                while True:
                    found = [frame.locator(f"[__elementId='{number}']") for frame in page.frames]
                    counts = [(await each.count(), each) for each in found]
                    if sum(count for count, _ in counts) == 1:
                        return next(each for count, each in counts if count)
                    await asyncio.sleep(0.1)
        raise ValueError(f"There is no element {number} on the page.")

    async def _work(self, action: Awaitable[Any]) -> None:
        """Do it to an element. Raises ValueError where that can't be done."""
        try:
            await action
        except page_error() as error:
            why = "it is covered, disabled or gone" if "Timeout" in error.message else error.message
            raise ValueError(f"The element can't be used: {why.splitlines()[0][:300]}") from error

    async def _settle(self, page: Page) -> None:
        """Wait until the page is there, for a while."""
        with suppress(page_error()):
            await page.wait_for_load_state("load", timeout=self.patience * 1000)

    async def _point_at(self, page: Page, target: Locator) -> None:
        box = (
            await target.bounding_box(timeout=self.patience * 1000)
            if self.animate_actions
            else None
        )
        if box is not None:
            x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
            await page.mouse.move(x, y, steps=20)

    async def _scroll(self, page: Page, pixels: int) -> None:
        async with asyncio.timeout(self.patience):
            await page.evaluate("pixels => window.scrollBy(0, pixels)", pixels)


def page_error() -> type[Error]:
    """Playwright's error, imported when a page is there."""
    from playwright.async_api import Error

    return Error


def clean(text: str) -> str:
    """Text of a page without what can't be seen."""
    return _UNSEEN.sub("", text)


def label_of(region: InteractiveRegion) -> str:
    """An element's role and name, in one line."""
    kind = region["role"] or region["tag_name"]
    return f'{kind} "{region["aria_name"]}"'


def _region(read: Mapping[str, Any], left: float, top: float) -> InteractiveRegion:
    """A page's words on an element, in the promised types."""

    def box(given: Mapping[str, Any]) -> dict[str, float]:
        x, y = float(given["x"]) + left, float(given["y"]) + top
        width, height = float(given["width"]), float(given["height"])
        right, bottom = x + width, y + height
        size = {"x": x, "y": y, "width": width, "height": height}
        return {**size, "top": y, "right": right, "bottom": bottom, "left": x}

    def words(name: str) -> str:
        return " ".join(clean(str(read[name])).split())[:LONGEST_NAME]

    return InteractiveRegion(
        tag_name=words("tag_name"),
        role=words("role"),
        aria_name=words("aria_name"),
        v_scrollable=bool(read["v_scrollable"]),
        rects=[box(each) for each in read["rects"][:5]],
    )


@cache
def _script() -> str:
    return Path(__file__).with_name("page.js").read_text(encoding="utf-8")
