"""Show a run on the console: its messages, and optionally its cost."""

from __future__ import annotations

import asyncio
import importlib
import os
import re
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from inspect import iscoroutinefunction
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar, cast

from teams._base.cancellation import CancellationToken
from teams._base.image import Image
from teams._base.tool_call import InputRequired
from teams._base.workers import in_daemon_worker
from teams._contract.agent import Response
from teams._contract.team import TaskResult
from teams._contract.turn_record import Suspension
from teams._messages.base import BaseAgentEvent, BaseChatMessage
from teams._messages.chat import MultiModalMessage
from teams._messages.events import ModelClientStreamingChunkEvent, UserInputRequestedEvent
from teams.models._types import RequestUsage

if TYPE_CHECKING:
    from teams.agents._user_proxy import AsyncInputFunc, InputFuncType, SyncInputFunc

_INVISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

Result = TypeVar("Result", TaskResult, Response)


class UserInputManager:
    """Delays a prompt until everything before it has been shown.

    Give the wrapped callback to the UserProxyAgent as its input function, and this to `Console`.
    """

    def __init__(self, callback: InputFuncType) -> None:
        self._callback = callback
        self._shown: dict[str, asyncio.Event] = {}

    def get_wrapped_callback(self) -> AsyncInputFunc:
        """The callback, which first waits until its request was shown."""
        from teams.agents._user_proxy import UserProxyAgent  # most consoles ask nobody

        async def ask(prompt: str, cancellation_token: CancellationToken | None) -> str:
            await self._event(UserProxyAgent.InputRequestContext.request_id()).wait()
            if iscoroutinefunction(self._callback):
                return await self._callback(prompt, cancellation_token)
            question = cast("SyncInputFunc", self._callback)
            return await in_daemon_worker(lambda: question(prompt), name="user input")

        return ask

    def notify_event_received(self, request_id: str) -> None:
        """The request was shown."""
        self._event(request_id).set()

    def _event(self, request_id: str) -> asyncio.Event:
        # Kept after use: a suspended run that goes on asks the same request again.
        return self._shown.setdefault(request_id, asyncio.Event())


async def Console(
    stream: AsyncGenerator[BaseAgentEvent | BaseChatMessage | Result | Suspension, None],
    *,
    no_inline_images: bool = False,
    output_stats: bool = False,
    user_input_manager: UserInputManager | None = None,
) -> Result:
    """Print what `run_stream` or `on_messages_stream` yields, and return its last item.

    In iTerm2 images are shown unless `no_inline_images`. `output_stats` adds the tokens of each
    message and a summary. Raises ValueError if the stream ends without a result.
    """
    printer = _Printer(inline_images=not no_inline_images and _in_iterm(), stats=output_stats)
    return await _print(stream, printer, user_input_manager)


async def RichConsole(
    stream: AsyncGenerator[BaseAgentEvent | BaseChatMessage | Result | Suspension, None],
    *,
    no_inline_images: bool = False,
    output_stats: bool = False,
    user_input_manager: UserInputManager | None = None,
) -> Result:
    """Print what a run yields in panels, and return its last item.

    Chunks are not shown. The parameters are those of `Console`.
    """
    printer = _PanelPrinter(inline_images=not no_inline_images and _in_iterm(), stats=output_stats)
    return await _print(stream, printer, user_input_manager)


async def _print(
    stream: AsyncGenerator[BaseAgentEvent | BaseChatMessage | Result | Suspension, None],
    printer: _Printer,
    user_input_manager: UserInputManager | None,
) -> Result:
    async with aclosing(stream):
        async for item in stream:
            match item:
                case TaskResult():
                    printer.task_result(item)
                    return item
                case Response():
                    printer.response(item)
                    return item
                case Suspension():
                    raise InputRequired(requests=list(item.requests))
                case UserInputRequestedEvent():
                    if user_input_manager is not None:
                        user_input_manager.notify_event_received(item.request_id)
                case ModelClientStreamingChunkEvent():
                    printer.chunk(item)
                case _:
                    printer.message(item)
    raise ValueError("The stream ended without a TaskResult or Response")


def _in_iterm() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM_PROGRAM") == "iTerm.app"


class _Printer:
    def __init__(self, *, inline_images: bool, stats: bool) -> None:
        self._inline_images = inline_images
        self._stats = stats
        self._started = monotonic()
        self._prompt_tokens = 0
        self._completion_tokens = 0
        self._streaming: ModelClientStreamingChunkEvent | None = None
        self._streamed_ids: set[str] = set()

    def chunk(self, chunk: ModelClientStreamingChunkEvent) -> None:
        last = self._streaming
        if last is None or (last.source, last.full_message_id) != (
            chunk.source,
            chunk.full_message_id,
        ):
            self._end_line()
            _write(_header(type(chunk).__name__, chunk.source))
        if chunk.full_message_id is not None:
            self._streamed_ids.add(chunk.full_message_id)
        self._streaming = chunk
        _write(chunk.content)

    def message(self, message: BaseAgentEvent | BaseChatMessage) -> None:
        self._end_line()
        if message.id not in self._streamed_ids:
            self._show(message)
        self._count(message.models_usage)

    def _show(self, message: BaseAgentEvent | BaseChatMessage) -> None:
        _write(f"{_header(type(message).__name__, message.source)}{self._text(message)}\n")

    def _note(self, text: str) -> None:
        _write(text)

    def task_result(self, result: TaskResult) -> None:
        self._end_line()
        for request in result.pending:
            asker = "/".join(request.agent)
            self._note(
                f"Waiting for {request.kind} ({asker}, {request.request_id}): {request.prompt}\n"
            )
        self._summary(len(result.messages), "messages", result.stop_reason)

    def response(self, response: Response) -> None:
        self.message(response.chat_message)
        self._summary(len(response.inner_messages or ()), "inner messages")

    def _text(self, message: BaseAgentEvent | BaseChatMessage) -> str:
        if isinstance(message, MultiModalMessage):
            return message.to_text(iterm=self._inline_images)
        return message.to_text()

    def _count(self, usage: RequestUsage | None) -> None:
        if usage is None:
            return
        self._prompt_tokens += usage.prompt_tokens
        self._completion_tokens += usage.completion_tokens
        if self._stats:
            self._note(
                f"[Prompt tokens: {usage.prompt_tokens}, "
                f"Completion tokens: {usage.completion_tokens}]\n"
            )

    def _summary(self, count: int, what: str, stop_reason: str | None = None) -> None:
        if not self._stats:
            return
        reason = "" if stop_reason is None else f"Finish reason: {stop_reason}\n"
        self._note(
            f"---------- Summary ----------\n"
            f"Number of {what}: {count}\n{reason}"
            f"Total prompt tokens: {self._prompt_tokens}\n"
            f"Total completion tokens: {self._completion_tokens}\n"
            f"Duration: {monotonic() - self._started:.2f} seconds\n"
        )

    def _end_line(self) -> None:
        if self._streaming is not None:
            self._streaming = None
            _write("\n")


class _PanelPrinter(_Printer):
    """Prints messages in panels of `rich`, without escapes of their own."""

    def __init__(self, *, inline_images: bool, stats: bool) -> None:
        super().__init__(inline_images=inline_images, stats=stats)
        self._console: Any = importlib.import_module("rich.console").Console(highlight=False)

    def chunk(self, chunk: ModelClientStreamingChunkEvent) -> None:
        """Nothing: a panel is printed whole."""

    def _show(self, message: BaseAgentEvent | BaseChatMessage) -> None:
        panel: Any = importlib.import_module("rich.panel").Panel
        title = self._plain(f"{type(message).__name__} ({message.source})")
        text = self._plain(message.to_text().rstrip("\n"))
        self._console.print(panel(text, title=title, title_align="left"))
        if self._inline_images and isinstance(message, MultiModalMessage):
            for image in message.content:
                if isinstance(image, Image):
                    _write(MultiModalMessage(content=[image], source="").to_text(iterm=True))

    def _note(self, text: str) -> None:
        self._console.print(self._plain(text), end="")

    def _plain(self, text: str) -> Any:
        """The text without markup, terminal escapes, and changes of direction."""
        return importlib.import_module("rich.text").Text(_INVISIBLE.sub("", text))


def _header(kind: str, source: str) -> str:
    return f"---------- {kind} ({source}) ----------\n"


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


__all__ = ["Console", "RichConsole", "UserInputManager"]
