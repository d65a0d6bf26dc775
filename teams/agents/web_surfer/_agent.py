"""MultimodalWebSurfer: an agent that finds and does things in a browser."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import BaseModel

from teams._base.cancellation import CancellationToken
from teams._base.construct import new_id
from teams._base.extras import require_packages
from teams._base.image import Image
from teams._base.kinds import NetworkRules
from teams._base.safe_files import write_file
from teams._base.tool_call import FunctionCall
from teams._components.component import ComponentModel
from teams._contract.state import AssistantAgentState
from teams._contract.turn_record import TurnRecord
from teams._messages.base import BaseChatMessage
from teams._messages.chat import MultiModalMessage, TextMessage, ended_by, finish_of
from teams._messages.events import (
    ModelClientStreamingChunkEvent,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
)
from teams._run.run import run_in_path
from teams._snapshot.description import RecordField
from teams.agents._assistant import AssistantAgent
from teams.agents.web_surfer._controller import PlaywrightController
from teams.agents.web_surfer._prompts import READER, SYSTEM
from teams.agents.web_surfer._session import BrowserSession
from teams.agents.web_surfer._tools import (
    LONGEST_CALL,
    OPEN,
    TOOL_NAMES,
    BrowserRecord,
    BrowserTools,
)
from teams.models._client import ChatCompletionClient
from teams.models._errors import ContentRefused, Refusal
from teams.models._types import (
    CreateResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    RequestUsage,
    SystemMessage,
    UserMessage,
)

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Playwright


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
    browser: dict[str, Any] | None = None


class MultimodalWebSurfer(AssistantAgent):
    """An agent that works in a browser, one step a turn.

    A step is a tool call. The first turn's is `open_browser`, which starts Chromium. A turn ends
    with an answer, or with a call's result and a picture of the page. The agent has to be closed.

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

    component_only_ours: ClassVar = {"allow": ...}

    component_config_schema = MultimodalWebSurferConfig
    holds_own = True
    component_provider_override: ClassVar[str | None] = (
        "teams.agents.web_surfer.MultimodalWebSurfer"
    )
    component_version: ClassVar[int] = 1
    DEFAULT_DESCRIPTION = "An agent that finds information on the web and works with web pages."
    DEFAULT_START_PAGE = "https://www.bing.com/"
    TOOL_NAMES: ClassVar[frozenset[str]] = frozenset(TOOL_NAMES)

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
        require_packages("The web surfer needs", "web-surfer", "playwright")
        if to_save_screenshots and debug_dir is None:
            raise ValueError("to_save_screenshots needs a debug_dir to save them in.")
        kept = MultimodalWebSurferConfig.model_fields.keys() - {"model_client"}
        self._config = MultimodalWebSurferConfig.model_construct(
            **{key: given[key] for key in kept}
        )
        hosts = {host.lower() for host in allow or ()}
        self.network = NetworkRules(is_private_allowed=lambda host: host in hosts)
        control = PlaywrightController(
            downloads_folder, animate_actions, to_resize_viewport=to_resize_viewport
        )
        self._session = BrowserSession(
            control,
            self.network,
            headless=headless,
            channel=browser_channel,
            data_dir=browser_data_dir,
            playwright=playwright,
            context=context,
        )
        self._browser = BrowserTools(self._session, control, self._ask)
        self._opened_for: TurnRecord | None = None
        self._shows = False
        """The last request has a picture of the page."""
        super().__init__(
            name,
            model_client,
            tools=self._browser.tools(),
            description=description or self.DEFAULT_DESCRIPTION,
            system_message=SYSTEM,
        )

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
        self._browser.record = BrowserRecord()

    async def _call_model(
        self, turn: TurnRecord, messages: Sequence[BaseChatMessage], token: CancellationToken
    ) -> AsyncGenerator[ModelClientStreamingChunkEvent, None]:
        if not self._session.is_open and self._opened_for is not turn:
            # What the first page says is foreign text like all others: a call of its own.
            self._opened_for = turn
            await self._absorb_messages(turn, messages)
            url = self._browser.record.url or self._config.start_page or self.DEFAULT_START_PAGE
            call = FunctionCall(id=new_id(), name=OPEN, arguments=json.dumps({"url": url}))
            await self._accept(turn, _answer_with(call))
            return
        async for chunk in super()._call_model(turn, messages, token):
            yield chunk

    async def _request(self, turn: TurnRecord, token: CancellationToken) -> dict[str, Any]:
        request = await super()._request(turn, token)
        hidden, state, picture = {OPEN, "scroll_up", "scroll_down"}, "No page is open.", b""
        sees = self._model_client.model_info["vision"] and not self._browser.record.blind
        if self._session.is_open:
            try:
                async with asyncio.timeout(LONGEST_CALL):
                    state, picture, hidden = await self._browser.look(words=not sees)
            except Exception as error:  # whatever a page has made of itself
                state = await self._browser.give_up(error)
        self._shows = bool(sees and picture)
        content = [state, Image.from_bytes(picture)] if self._shows else state
        request["messages"] = [*request["messages"], UserMessage(content=content, source=self.name)]
        request["tools"] = [each for each in request["tools"] if each["name"] not in hidden]
        return request

    def _set_aside(self, refused: Refusal, sent: Sequence[LLMMessage]) -> None:
        if isinstance(refused, ContentRefused) and refused.about_files and self._shows:
            self._browser.record.blind = True
        else:
            super()._set_aside(refused, sent)

    async def _accept(self, turn: TurnRecord, answer: CreateResult) -> None:
        """Take the first call of an answer, with its element's name."""
        if isinstance(answer.content, list) and answer.content:
            aimed = self._browser.aim(answer.content[0])
            answer = answer.model_copy(update={"content": [aimed]})
            self._browser.record.use(answer.usage)
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
        if turn.calls[0].name == OPEN:
            turn.phase = "model"
            return
        usage, self._browser.record.usage = self._browser.record.usage, None
        text = results[0].content
        message: BaseChatMessage = TextMessage(
            content=text, source=self.name, models_usage=usage, id=turn.message_id
        )
        with suppress(Exception):  # the words are enough
            picture = await self._session.picture({})
            self._save(picture)
            message = MultiModalMessage(
                content=[text, Image.from_bytes(picture)],
                source=self.name,
                models_usage=usage,
                id=turn.message_id,
            )
        finish, self._browser.record.finish = self._browser.record.finish, ""
        self._conclude(turn, ended_by(message, finish))

    async def _ask(self, question: str) -> str:
        """The model's answer to a question about a page."""
        asked = [SystemMessage(content=READER), UserMessage(content=question, source=self.name)]
        answer = await run_in_path(self.name, self._model_client.create(asked))
        self._browser.record.use(answer.usage)
        self._browser.record.finish = finish_of(answer)
        return str(answer.content)

    def _save(self, picture: bytes) -> None:
        if self._config.to_save_screenshots and self._config.debug_dir is not None:
            folder = Path(self._config.debug_dir)
            folder.mkdir(parents=True, exist_ok=True)
            write_file(folder, f"screenshot-{time.time_ns() // 1_000_000}.jpg", picture)

    def _put_record(self, record: BrowserRecord | None) -> None:
        self._browser.record = record or BrowserRecord()

    _state_type = WebSurferState
    _state_fields = (
        *AssistantAgent._state_fields,
        RecordField("browser", "_browser.record", load=BrowserRecord.load, put=_put_record),
    )

    def _to_config(self) -> MultimodalWebSurferConfig:  # pyright: ignore[reportIncompatibleMethodOverride]
        made = self._model_client.dump_component()
        return self._config.model_copy(update={"model_client": made})

    @classmethod
    def _from_config(cls, config: MultimodalWebSurferConfig) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        return cls(**cls._constructor_arguments(config))


def _answer_with(call: FunctionCall) -> CreateResult:
    """A call of the agent's own, as a model's answer."""
    usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
    return CreateResult(finish_reason="function_calls", content=[call], usage=usage, cached=True)
