"""The web surfer's tools, each a step and a report."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote_plus

from teams._base.tool_call import FunctionCall, current_tool_call, parse_arguments
from teams._tools.base import NO_TRAITS, ToolTraits
from teams._tools.function import FunctionTool
from teams.agents.web_surfer._controller import (
    InteractiveRegion,
    PlaywrightController,
    clean,
    label_of,
)
from teams.agents.web_surfer._prompts import LOST, SUMMARY, marked
from teams.agents.web_surfer._session import BrowserSession
from teams.models._types import RequestUsage

if TYPE_CHECKING:
    from playwright.async_api import Page

LONGEST_CALL = 180.0
"""Seconds."""
LONGEST_REPORT = 3_000
"""Characters of the visible text in a report."""
LONGEST_PAGE = 60_000
"""Characters of a page that is read as a whole."""

OPEN = "open_browser"
TOOL_NAMES = (
    *(OPEN, "visit_url", "web_search", "history_back", "click", "input_text", "answer_question"),
    *("summarize_page", "sleep", "hover", "scroll_up", "scroll_down"),
)
_CHANGING = frozenset({"visit_url", "web_search", "click", "input_text"})

Reasoning = Annotated[str, "Why this step is taken now, in a sentence."]
Target = Annotated[int, "The element's number."]


@dataclass(slots=True)
class BrowserRecord:
    """State of a browser: its address, and the turn's usage."""

    url: str = ""
    usage: RequestUsage | None = None
    blind: bool = False
    """The model's provider does not take pictures of pages."""
    finish: str = ""
    """The end of the turn's answer about a page, if that left something unsaid."""

    def dump(self, _: object) -> dict[str, Any]:
        """The record as JSON data."""
        used = self.usage
        usage = used and [used.prompt_tokens, used.completion_tokens]
        told = {"blind": self.blind, "finish": self.finish}
        return {"url": self.url, "usage": usage, **{key: it for key, it in told.items() if it}}

    @classmethod
    def load(cls, data: Mapping[str, Any], _: object) -> BrowserRecord:
        """The inverse of `dump`."""
        used = RequestUsage(*data["usage"]) if data["usage"] else None
        blind, finish = bool(data.get("blind")), str(data.get("finish") or "")
        return cls(str(data["url"]), used, blind, finish)

    def use(self, usage: RequestUsage) -> None:
        """Add the tokens of a request."""
        self.usage = usage if self.usage is None else self.usage + usage


class BrowserTools:
    """Tools over one session; `ask` asks the model about a page."""

    def __init__(
        self,
        session: BrowserSession,
        controller: PlaywrightController,
        ask: Callable[[str], Awaitable[str]],
    ) -> None:
        self.record = BrowserRecord()
        self._session = session
        self._controller = controller
        self._ask = ask
        self._regions: dict[str, InteractiveRegion] = {}

    def tools(self) -> list[FunctionTool]:
        """The tools, with their promises."""
        reads = ToolTraits(read_only=True, idempotent=True)
        opens = replace(reads, fatal_errors=True)
        traits = {OPEN: opens} | dict.fromkeys(_CHANGING, NO_TRAITS)
        return [
            FunctionTool(_bounded(function), function.__doc__, name, traits=traits.get(name, reads))
            for name in TOOL_NAMES
            for function in [getattr(self, name)]
        ]

    async def look(self, *, words: bool) -> tuple[str, bytes, set[str]]:
        """The page in words, its picture, and the useless tools.

        With `words`, the visible text is among them.
        """
        page, control = self._session.page, self._controller
        self._regions = await control.get_interactive_rects(page)
        view = await control.get_visual_viewport(page)
        text = await control.get_visible_text(page) if words else ""
        top, below = view["pageTop"], view["scrollHeight"] - view["pageTop"] - view["height"]
        elements = "\n".join(f"{key}: {label_of(each)}" for key, each in self._regions.items())
        useless = {name for name, left in (("scroll_up", top), ("scroll_down", below)) if left <= 1}
        shown = await self._marked(f"Elements in view:\n{elements}\n{text[:LONGEST_REPORT]}")
        place = f"Pixels above the view: {top:.0f}; below it: {max(below, 0):.0f}."
        picture = await self._session.picture(self._regions)
        return f"The page as it is now. {place}\n{shown}", picture, {OPEN, *useless}

    def aim(self, call: FunctionCall) -> FunctionCall:
        """The call with its element's name, which people approve."""
        try:
            arguments = parse_arguments(call.arguments)
        except ValueError:
            return call
        number = arguments.get("target_id", arguments.get("input_field_id"))
        if number is None:
            return call
        region = self._regions.get(str(number))
        arguments["target"] = label_of(region) if region else "an unknown element"
        return replace(call, arguments=json.dumps(arguments, ensure_ascii=False))

    async def give_up(self, error: Exception) -> str:
        """Close a browser whose page can't be read."""
        await self._session.close()
        self.record.url = ""
        return f"The page can't be read ({type(error).__name__}); the browser was closed."

    async def open_browser(self, url: str) -> str:
        """Open the browser."""
        done = LOST if self.record.url else "The browser is open."
        await self._session.open()
        try:
            await self._controller.visit_page(self._session.page, url)
        except (ValueError, ConnectionError) as error:
            done += f" {url[:500]} could not be opened: {error}"
        return await self._report(done)

    async def visit_url(
        self, reasoning: Reasoning, url: Annotated[str, "An address of http or https."]
    ) -> str:
        """Open an address."""
        return await self._go(url, f"I opened {url[:500]}.")

    async def web_search(self, reasoning: Reasoning, query: Annotated[str, "The words."]) -> str:
        """Search the web, with Bing."""
        address = f"https://www.bing.com/search?q={quote_plus(query)}&FORM=QBLH"
        return await self._go(address, f"I searched the web for {query[:500]!r}.")

    async def history_back(self, reasoning: Reasoning) -> str:
        """Go back to the page before."""
        return await self._do("I went back.", self._controller.back)

    async def click(self, reasoning: Reasoning, target_id: Target) -> str:
        """Click an element of the page."""
        name = await self._check_target(target_id)
        opened = await self._controller.click_id(self._session.page, str(target_id))
        if opened is not None:
            await self._session.show(opened)
        return await self._report(f"I clicked {name}{', which opened a window' if opened else ''}.")

    async def input_text(
        self,
        reasoning: Reasoning,
        input_field_id: Target,
        text_value: Annotated[str, "The text, an option, or true or false."],
    ) -> str:
        """Fill in a field and press Enter, or choose an option."""
        name = await self._check_target(input_field_id)
        page = self._session.page
        await self._controller.fill_id(page, str(input_field_id), text_value)
        return await self._report(f"I entered {text_value[:500]!r} into {name}.")

    async def hover(self, reasoning: Reasoning, target_id: Target) -> str:
        """Move the mouse over an element, for menus that open then."""
        name = await self._check_target(target_id)
        await self._controller.hover_id(self._session.page, str(target_id))
        return await self._report(f"I moved the mouse over {name}.")

    async def scroll_up(self, reasoning: Reasoning) -> str:
        """Scroll up by one view."""
        return await self._do("I scrolled up.", self._controller.page_up)

    async def scroll_down(self, reasoning: Reasoning) -> str:
        """Scroll down by one view."""
        return await self._do("I scrolled down.", self._controller.page_down)

    async def sleep(
        self, reasoning: Reasoning, duration: Annotated[float, "Seconds, at most 60."] = 3
    ) -> str:
        """Wait some seconds, for a page that is still loading."""
        await self._controller.sleep(self._session.page, duration)
        return await self._report("I waited.")

    async def answer_question(
        self, reasoning: Reasoning, question: Annotated[str, "A question about the page."]
    ) -> str:
        """Have the whole page read, and a question about it answered."""
        page = self._session.page
        text = (await self._controller.get_page_markdown(page))[:LONGEST_PAGE]
        return await self._ask(f"{marked(text, page.url)}\n\n{question}")

    async def summarize_page(self, reasoning: Reasoning) -> str:
        """Have the whole page summarised."""
        return await self.answer_question(reasoning, SUMMARY)

    async def _check_target(self, number: int) -> str:
        """The element's name. Raises ValueError if it has changed."""
        call = current_tool_call()
        wanted = ((call and call.parsed_arguments()) or {}).get("target")
        regions = await self._controller.get_interactive_rects(self._session.page)
        if (region := regions.get(str(number))) is None:
            raise ValueError(f"Element {number} is not in view: nothing was done.")
        if (found := label_of(region)) != wanted:
            raise ValueError(f"Element {number} was {wanted}, now is {found}: nothing was done.")
        return found

    async def _go(self, url: str, done: str) -> str:
        if not self._session.is_open:
            await self._session.open()
        await self._controller.visit_page(self._session.page, url)
        return await self._report(done)

    async def _do(self, done: str, action: Callable[[Page], Awaitable[None]]) -> str:
        await action(self._session.page)
        return await self._report(done)

    async def _report(self, done: str) -> str:
        """The deed, what happened besides, and the page as it is now."""
        session, news = self._session, await self._session.news()
        try:
            await session.show(session.page)
            self.record.url = session.page.url
            text = (await self._controller.get_visible_text(session.page))[:LONGEST_REPORT]
            shown = await self._marked(f"\n{text}")
        except Exception as error:  # whatever a page has made of itself
            shown = await self.give_up(error)
        return f"{' '.join([done, *news])}\n\n{shown}"

    async def _marked(self, text: str) -> str:
        """The page's title, address and text, between marks."""
        page = self._session.page
        async with asyncio.timeout(self._controller.patience):
            title = clean(await page.title())[:200]
        return marked(f"{title}\n{page.url[:1000]}\n{text}", page.url)


def _bounded(function: Callable[..., Awaitable[str]]) -> Callable[..., Awaitable[str]]:
    """The function, which ends even if a browser does not answer."""

    @wraps(function)
    async def bounded(*args: Any, **given: Any) -> str:
        async with asyncio.timeout(LONGEST_CALL):
            return await function(*args, **given)

    return bounded
