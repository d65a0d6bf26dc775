"""MultimodalWebSurfer: an agent that finds and does things in a browser."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self
from urllib.parse import quote_plus

from pydantic import BaseModel

from teams._base.cancellation import CancellationToken
from teams._base.construct import new_id
from teams._base.image import Image
from teams._base.safe_files import write_file
from teams._base.tool_call import FunctionCall, current_tool_call, parse_arguments
from teams._components.component import ComponentModel
from teams._contract.state import AssistantAgentState
from teams._contract.turn_record import TurnRecord
from teams._messages.base import BaseChatMessage
from teams._messages.chat import MultiModalMessage, TextMessage
from teams._messages.events import (
    ModelClientStreamingChunkEvent,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
)
from teams._run.run import run_in_path
from teams._snapshot.description import RecordField
from teams._tools.base import ToolTraits
from teams._tools.function import FunctionTool
from teams.agents._assistant import AssistantAgent
from teams.agents.web_surfer import _prompts as prompts
from teams.agents.web_surfer._controller import (
    InteractiveRegion,
    PlaywrightController,
    clean,
    label_of,
)
from teams.agents.web_surfer._proxy import NetworkRules
from teams.agents.web_surfer._session import BrowserSession
from teams.models._client import ChatCompletionClient
from teams.models._types import (
    CreateResult,
    FunctionExecutionResultMessage,
    RequestUsage,
    SystemMessage,
    UserMessage,
)

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page, Playwright

LONGEST_REPORT = 3_000
"""Characters of the visible text in a report."""
LONGEST_PAGE = 60_000
"""Characters of a page that is read as a whole."""

_OPEN = "open_browser"
_READS = ToolTraits(read_only=True, idempotent=True)
_TRAITS: Mapping[str, ToolTraits] = {
    **dict.fromkeys(("answer_question", "summarize_page", "sleep"), _READS),
    **dict.fromkeys(("scroll_up", "scroll_down", "hover", "history_back"), _READS),
    _OPEN: ToolTraits(read_only=True, idempotent=True, fatal_errors=True),
}
Reasoning = Annotated[str, prompts.REASONING]


class MultimodalWebSurferConfig(BaseModel, defer_build=True):
    """See `MultimodalWebSurfer`."""

    name: str
    model_client: Annotated[ComponentModel, ChatCompletionClient]
    downloads_folder: str | None = None
    description: str | None = None
    debug_dir: str | None = None
    headless: bool = True
    start_page: str | None = "https://www.bing.com/"
    animate_actions: bool = False
    to_save_screenshots: bool = False
    use_ocr: bool = False
    browser_channel: str | None = None
    browser_data_dir: str | None = None
    to_resize_viewport: bool = True
    allow: list[str] | None = None


class WebSurferState(AssistantAgentState):
    """State of a MultimodalWebSurfer."""

    type: str = "WebSurferState"
    turn: dict[str, Any] | None = None
    browser: dict[str, Any] | None = None


@dataclass(slots=True)
class BrowserRecord:
    """What is kept of a browser: its address, and the turn's usage."""

    url: str = ""
    usage: RequestUsage | None = None

    def dump(self, _: object) -> dict[str, Any]:
        """The record as JSON data."""
        used = self.usage
        return {"url": self.url, "usage": used and [used.prompt_tokens, used.completion_tokens]}

    @classmethod
    def load(cls, data: Mapping[str, Any], _: object) -> BrowserRecord:
        """The inverse of `dump`."""
        return cls(str(data["url"]), RequestUsage(*data["usage"]) if data["usage"] else None)

    def use(self, usage: RequestUsage) -> None:
        """Add the tokens of a request."""
        self.usage = usage if self.usage is None else self.usage + usage


class MultimodalWebSurfer(AssistantAgent):
    """An agent that works in a Chromium: one step a turn, each a tool call.

    The browser starts with the first turn, by the call `open_browser`. A turn ends with an answer,
    or with one call's result and a picture of the page. The agent has to be closed.

    Requests go to public addresses; `allow` names hosts that may be private. They leave through a
    proxy that judges each; the network of a `context` that is given is its maker's business. State
    keeps the conversation and the page's address: in another process, the page is opened anew, and
    the model is told that cookies and forms are gone.

    Args:
        downloads_folder: where downloads go, of 50 MB at most; refused if not given.
        debug_dir: where screenshots are saved, with `to_save_screenshots`.
        start_page: the first page.
        animate_actions: move the mouse visibly.
        use_ocr: not used.
        browser_channel: an installed browser, such as "chrome". Otherwise it is the program in the
            environment variable PARLEY_CHROMIUM, Playwright's own, or `chromium`.
        browser_data_dir: a profile that outlives the browser.
        to_resize_viewport: give each page 1440x900 pixels.

    Raises ImportError without Playwright, ValueError for a model without function calling, and for
    screenshots without `debug_dir`.
    """

    component_config_schema = MultimodalWebSurferConfig
    component_provider_override: ClassVar[str | None] = (
        "teams.agents.web_surfer.MultimodalWebSurfer"
    )
    component_version: ClassVar[int] = 1
    DEFAULT_DESCRIPTION = "An agent that finds information on the web and works with web pages."
    DEFAULT_START_PAGE = "https://www.bing.com/"
    TOOL_NAMES: ClassVar[frozenset[str]] = frozenset(prompts.TOOLS)

    def __init__(
        self,
        name: str,
        model_client: ChatCompletionClient,
        downloads_folder: str | None = None,
        description: str | None = None,
        debug_dir: str | None = None,
        headless: bool = True,
        start_page: str | None = DEFAULT_START_PAGE,
        animate_actions: bool = False,
        to_save_screenshots: bool = False,
        use_ocr: bool = False,
        browser_channel: str | None = None,
        browser_data_dir: str | None = None,
        to_resize_viewport: bool = True,
        playwright: Playwright | None = None,
        context: BrowserContext | None = None,
        *,
        allow: Sequence[str] | None = None,
    ) -> None:
        given = {**locals()}
        if importlib.util.find_spec("playwright") is None:
            raise ImportError(
                "The web surfer needs the extra 'web-surfer': "
                'pip install "parley-gateway[web-surfer]".'
            )
        if to_save_screenshots and debug_dir is None:
            raise ValueError("to_save_screenshots needs a debug_dir to save them in.")
        super().__init__(
            name,
            model_client,
            tools=[self._tool(each) for each in prompts.TOOLS],
            description=description or self.DEFAULT_DESCRIPTION,
            system_message=prompts.SYSTEM,
        )
        fields = MultimodalWebSurferConfig.model_fields.keys() - {"model_client"}
        self._config = MultimodalWebSurferConfig.model_construct(
            **{key: given[key] for key in fields}
        )
        hosts = {host.lower() for host in allow or ()}
        self.network = NetworkRules(is_private_allowed=lambda host: host in hosts)
        self._controller = PlaywrightController(
            downloads_folder, animate_actions, to_resize_viewport=to_resize_viewport
        )
        self._session = BrowserSession(
            self._controller,
            self.network,
            headless=headless,
            channel=browser_channel,
            data_dir=browser_data_dir,
            playwright=playwright,
            context=context,
        )
        self._record = BrowserRecord()
        self._opened_for: TurnRecord | None = None
        self._regions: dict[str, InteractiveRegion] = {}

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return (MultiModalMessage, TextMessage)

    async def close(self) -> None:
        """Close the browser."""
        await self._session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        await super().on_reset(cancellation_token)
        await self._session.close()
        self._record = BrowserRecord()

    # --- a turn -------------------------------------------------------------------------------

    async def _call_model(
        self, turn: TurnRecord, messages: Sequence[BaseChatMessage], token: CancellationToken
    ) -> AsyncGenerator[ModelClientStreamingChunkEvent, None]:
        if not self._session.is_open and self._opened_for is not turn:
            # What the first page says is foreign text like all others: a call of its own.
            self._opened_for = turn
            await self._absorb_messages(turn, messages)
            url = self._record.url or self._config.start_page or self.DEFAULT_START_PAGE
            call = FunctionCall(id=new_id(), name=_OPEN, arguments=json.dumps({"url": url}))
            await self._accept(turn, _answer_with(call))
            return
        async for chunk in super()._call_model(turn, messages, token):
            yield chunk

    async def _request(self, turn: TurnRecord, token: CancellationToken) -> dict[str, Any]:
        request = await super()._request(turn, token)
        hidden, state, picture = {_OPEN, "scroll_up", "scroll_down"}, "No page is open.", b""
        if self._session.is_open:
            try:
                state, picture, hidden = await self._look()
            except TimeoutError:
                await self._session.replace_page()
                state = "The page does not answer and was closed; an empty one is open."
        sees = picture and self._model_client.model_info["vision"]
        content = [state, Image.from_bytes(picture)] if sees else state
        request["messages"] = [*request["messages"], UserMessage(content=content, source=self.name)]
        request["tools"] = [each for each in request["tools"] if each["name"] not in hidden]
        return request

    async def _accept(self, turn: TurnRecord, answer: CreateResult) -> None:
        """Take the first call of an answer, with the element that it means."""
        if isinstance(answer.content, list) and answer.content:
            answer = answer.model_copy(update={"content": [self._aimed(answer.content[0])]})
            self._record.use(answer.usage)
        await super()._accept(turn, answer)
        for item in turn.produced:
            if isinstance(item, ToolCallRequestEvent):
                item.models_usage = None  # the turn's message has the sum

    async def _finish_calls(self, turn: TurnRecord) -> None:
        results = turn.round_results()
        await self._model_context.add_message(FunctionExecutionResultMessage(content=results))
        turn.produced.append(ToolCallExecutionEvent(content=results, source=self.name))
        turn.iteration += 1
        turn.message_id = new_id()
        if turn.calls[0].name == _OPEN:
            turn.phase = "model"
            return
        text, usage = results[0].content, self._record.usage
        self._record.usage = None
        content: list[str | Image] = [text]
        with suppress(Exception):  # the words are enough
            content.append(Image.from_bytes(picture := await self._session.picture({})))
            self._save(picture)
        if len(content) > 1:
            message = MultiModalMessage(content=content, source=self.name, models_usage=usage)
        else:
            message = TextMessage(content=text, source=self.name, models_usage=usage)
        self._conclude(turn, message)

    async def _look(self) -> tuple[str, bytes, set[str]]:
        """The page for the model, its picture, and the tools of no use now."""
        page, control = self._session.page, self._controller
        self._regions = await control.get_interactive_rects(page)
        view = await control.get_visual_viewport(page)
        blind = not self._model_client.model_info["vision"]
        text = await control.get_visible_text(page) if blind else ""
        top, below = view["pageTop"], view["scrollHeight"] - view["pageTop"] - view["height"]
        elements = "\n".join(f"{key}: {label_of(each)}" for key, each in self._regions.items())
        async with asyncio.timeout(control.patience):
            title = clean(await page.title())[:200]
        said = f"{title}\n{page.url[:1000]}\nElements in view:\n{elements}\n{text[:LONGEST_REPORT]}"
        place = f"Pixels above the view: {top:.0f}; below it: {max(below, 0):.0f}."
        useless = {"scroll_up"} if top < 1 else set[str]()
        useless |= {"scroll_down"} if below <= 1 else set()
        state = f"The page as it is now. {place}\n{prompts.marked(said, page.url)}"
        return state, await self._session.picture(self._regions), {_OPEN, *useless}

    def _aimed(self, call: FunctionCall) -> FunctionCall:
        """The call with its element's name: people approve that, not a number."""
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

    def _save(self, picture: bytes) -> None:
        if self._config.to_save_screenshots and self._config.debug_dir is not None:
            folder = Path(self._config.debug_dir)
            folder.mkdir(parents=True, exist_ok=True)
            write_file(folder, f"screenshot-{time.time_ns() // 1_000_000}.jpg", picture)

    # --- the tools ----------------------------------------------------------------------------

    def _tool(self, name: str) -> FunctionTool:
        return FunctionTool(
            getattr(self, f"_{name}"),
            name=name,
            description=prompts.TOOLS[name],
            traits=_TRAITS.get(name, ToolTraits()),
        )

    async def _open_browser(self, url: str) -> str:
        lost = bool(self._record.url)
        await self._session.open()
        done = f"{prompts.LOST} " if lost else "The browser is open. "
        try:
            await self._controller.visit_page(self._session.page, url)
        except (ValueError, ConnectionError) as error:
            done += f"{url[:500]} could not be opened: {error}"
        return await self._report(done)

    async def _visit_url(
        self, reasoning: Reasoning, url: Annotated[str, "An address of http or https."]
    ) -> str:
        if "://" not in url and not url.startswith(("about:", "data:", "javascript:", "file:")):
            url = f"https://{url}"
        return await self._go(url, f"I opened {url[:500]}.")

    async def _web_search(self, reasoning: Reasoning, query: Annotated[str, "The words."]) -> str:
        address = f"https://www.bing.com/search?q={quote_plus(query)}&FORM=QBLH"
        return await self._go(address, f"I searched the web for {query[:500]!r}.")

    async def _history_back(self, reasoning: Reasoning) -> str:
        return await self._do("I went back.", self._controller.back)

    async def _click(
        self, reasoning: Reasoning, target_id: Annotated[int, "The element's number."]
    ) -> str:
        name = await self._check_target(target_id)
        opened = await self._controller.click_id(self._session.page, str(target_id))
        if opened is None:
            return await self._report(f"I clicked {name}.")
        await self._session.show(opened)
        return await self._report(f"I clicked {name}, and a new page opened.")

    async def _input_text(
        self,
        reasoning: Reasoning,
        input_field_id: Annotated[int, "The field's number."],
        text_value: Annotated[str, "The text, an option, or true or false."],
    ) -> str:
        name = await self._check_target(input_field_id)
        page = self._session.page
        await self._controller.fill_id(page, str(input_field_id), text_value)
        return await self._report(f"I entered {text_value[:500]!r} into {name}.")

    async def _hover(
        self, reasoning: Reasoning, target_id: Annotated[int, "The element's number."]
    ) -> str:
        name = await self._check_target(target_id)
        await self._controller.hover_id(self._session.page, str(target_id))
        return await self._report(f"I moved the mouse over {name}.")

    async def _scroll_up(self, reasoning: Reasoning) -> str:
        return await self._do("I scrolled up.", self._controller.page_up)

    async def _scroll_down(self, reasoning: Reasoning) -> str:
        return await self._do("I scrolled down.", self._controller.page_down)

    async def _sleep(
        self, reasoning: Reasoning, duration: Annotated[float, "Seconds, at most 60."] = 3
    ) -> str:
        await self._controller.sleep(self._session.page, duration)
        return await self._report("I waited.")

    async def _answer_question(
        self, reasoning: Reasoning, question: Annotated[str, "A question about the page."]
    ) -> str:
        return await self._read_page(question)

    async def _summarize_page(self, reasoning: Reasoning) -> str:
        return await self._read_page(prompts.SUMMARY)

    async def _read_page(self, question: str) -> str:
        page = self._session.page
        text = (await self._controller.get_page_markdown(page))[:LONGEST_PAGE]
        asked = f"{prompts.marked(text, page.url)}\n\n{question}"
        answer = await run_in_path(
            self.name,
            self._model_client.create(
                [
                    SystemMessage(content=f"{prompts.READER}"),
                    UserMessage(content=asked, source=self.name),
                ]
            ),
        )
        self._record.use(answer.usage)
        return str(answer.content)

    async def _check_target(self, number: int) -> str:
        """The element's name. Raises ValueError if it is not what the call names."""
        call = current_tool_call()
        wanted = ((call and call.parsed_arguments()) or {}).get("target")
        regions = await self._controller.get_interactive_rects(self._session.page)
        if (region := regions.get(str(number))) is None:
            raise ValueError(f"Element {number} is not in view: nothing was done.")
        if (found := label_of(region)) != wanted:
            raise ValueError(
                f"Element {number} was {wanted} and is {found} by now: nothing was done."
            )
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
        """What was done, what happened, and the page as it is now."""
        session, news = self._session, await self._session.news()
        try:
            await session.show(session.page)
            self._record.url = url = session.page.url
            async with asyncio.timeout(self._controller.patience):
                title = clean(await session.page.title())[:200]
            text = (await self._controller.get_visible_text(session.page))[:LONGEST_REPORT]
        except TimeoutError:
            await session.replace_page()
            return " ".join([done, *news, "The page does not answer and was closed."])
        shown = prompts.marked(f"{title}\n{url[:1000]}\n\n{text}", url)
        return f"{' '.join([done, *news])}\n\n{shown}"

    # --- state and component ------------------------------------------------------------------

    def _put_record(self, record: BrowserRecord | None) -> None:
        self._record = record or BrowserRecord()

    _state_type = WebSurferState
    _state_fields = (
        *AssistantAgent._state_fields,
        RecordField("browser", "_record", load=BrowserRecord.load, put=_put_record),
    )

    def _to_config(self) -> MultimodalWebSurferConfig:  # pyright: ignore[reportIncompatibleMethodOverride]
        made = self._model_client.dump_component()
        return self._config.model_copy(update={"model_client": made})

    @classmethod
    def _from_config(cls, config: MultimodalWebSurferConfig) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        return cls(**cls._constructor_arguments(config))


def _answer_with(call: FunctionCall) -> CreateResult:
    """A call of the agent's own, as if a model had made it."""
    return CreateResult(
        finish_reason="function_calls",
        content=[call],
        usage=RequestUsage(prompt_tokens=0, completion_tokens=0),
        cached=True,
    )
