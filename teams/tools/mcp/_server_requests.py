"""Requests of a server to its client during a call.

They belong to the call that is open: its run's policy judges them, its budgets pay for them and its
people are asked, and its time does not run meanwhile.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import replace
from typing import Any
from uuid import uuid4

from teams._base.tool_call import ToolCall, current_tool_call
from teams._run.run import current_hooks
from teams._tools.workbench import ToolResult, text_result
from teams.tools.mcp._host import McpSessionHost
from teams.tools.mcp._sdk import Callbacks, message, refusal, wire

logger = logging.getLogger("teams")

SAMPLING = "sampling"
ELICITATION = "elicitation"

MOST_ASKED = 20
"""Requests of a server within one call, or between two calls."""

TOO_MANY = f"The client answers {MOST_ASKED} requests during a call."
NO_CALL = "The client answers only while a call of it is open."
OVER = "The call is over."


class OpenCall:
    """A request to the server whose answer is awaited."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.limit = asyncio.timeout(seconds)
        """Time limit of the answer."""
        self.context = copy_context()
        """The asker's context, with the hooks of its run."""
        self.asked = 0
        """The server's requests so far, those that were refused included."""
        self.handled: set[asyncio.Task[Any]] = set()
        """The server's requests that are being answered."""
        self._numbers = iter(range(1, 1_000_000))
        self._key = uuid4().hex

    @contextmanager
    def paused(self) -> Generator[None]:
        """A span that does not count as the server's time."""
        with suppress(RuntimeError):  # the limit is over
            self.limit.reschedule(None)
        try:
            yield
        finally:
            if len(self.handled) <= 1:
                with suppress(RuntimeError):
                    self.limit.reschedule(asyncio.get_running_loop().time() + self.seconds)

    def request(self, kind: str, server: str, arguments: str) -> ToolCall:
        """A request of the server as a call within this one."""
        outer = current_tool_call()
        within = outer.key if outer else self._key
        return ToolCall(
            key=f"{within}:{kind}:{next(self._numbers)}",
            id=outer.id if outer else "",
            name=kind,
            arguments=arguments,
            agent=outer.agent if outer else ("",),
            server=server,
            within=within,
        )


class ServerRequests:
    """Answers of a host or of the run's hooks to a server."""

    def __init__(self, server: str, host: McpSessionHost | None) -> None:
        self._server = server
        self._host = host or McpSessionHost()
        self._calls: list[OpenCall] = []
        self.asked = 0
        """The server's requests since the last call began, without one that is open."""

    def callbacks(self) -> Callbacks:
        """Functions for the library, for what the host can answer."""
        host = self._host
        return Callbacks(
            sampling=None if host.sampler is None else self._sample,
            elicitation=None if host.elicitor is None else self._elicit,
            roots=None if host.roots is None else self._list_roots,
        )

    @contextmanager
    def open(self, call: OpenCall) -> Generator[None]:
        """The span of a call; the server's requests end with it."""
        self._calls.append(call)
        self.asked = 0
        try:
            yield
        finally:
            self._calls.remove(call)
            for task in call.handled:
                task.cancel()

    async def _sample(self, _: Any, params: Any) -> Any:
        return await self._answer(lambda call: self._judged_sample(call, params))

    async def _elicit(self, _: Any, params: Any) -> Any:
        return await self._answer(lambda call: self._asked(call, params))

    async def _list_roots(self, _: Any) -> Any:
        return self._too_many() or await self._host.handle_list_roots_request()

    def _too_many(self) -> Any:
        """Count a request; its refusal if it is one too many."""
        asking = self._calls[-1] if self._calls else self
        asking.asked += 1
        if asking.asked <= MOST_ASKED:
            return None
        if asking.asked == MOST_ASKED + 1:
            logger.warning("The MCP server %s asks too much. %s", self._server, TOO_MANY)
        return refusal(TOO_MANY)

    async def _answer(self, answer: Callable[[OpenCall], Coroutine[Any, Any, Any]]) -> Any:
        """The answer, found in the context of the latest open call."""
        if not self._calls:
            return refusal(NO_CALL)
        if refused := self._too_many():
            return refused
        call = self._calls[-1]
        loop = asyncio.get_running_loop()
        task: asyncio.Task[Any] = loop.create_task(answer(call), context=call.context.copy())
        call.handled.add(task)
        try:
            with call.paused():
                await asyncio.wait([task])
        finally:
            task.cancel()
            call.handled.discard(task)
        if task.cancelled():
            return refusal(OVER)
        if (error := task.exception()) is not None:
            # Only the kind: the text may hold what is none of the server's business.
            return refusal(f"The request failed: {type(error).__name__}.")
        return task.result()

    async def _judged_sample(self, call: OpenCall, params: Any) -> Any:
        """A model's answer, if the run's policy lets the server have it."""
        intercept = current_hooks().intercept
        if intercept is None:
            return await self._host.handle_sampling_request(params)
        arguments = json.dumps(wire(params), ensure_ascii=False)
        # It may be asked again if an earlier attempt was cut off: a model does nothing.
        request = replace(call.request(SAMPLING, self._server, arguments), idempotent=True)
        answer: Any = None

        async def proceed(_: ToolCall) -> ToolResult:
            nonlocal answer
            answer = await self._host.handle_sampling_request(params)
            return _as_result(answer)

        result = await intercept(request, proceed)
        if result.is_error:
            return refusal(result.to_text())
        return _with_text(answer, result)

    async def _asked(self, call: OpenCall, params: Any) -> Any:
        """A person's answer, if possible of the run's people."""
        ask = current_hooks().elicit
        if ask is None:
            return await self._host.handle_elicit_request(params)
        given = wire(params)
        request = call.request(ELICITATION, self._server, json.dumps(given, ensure_ascii=False))
        return message("ElicitResult", await ask(request, given))


def _as_result(answer: Any) -> ToolResult:
    given = wire(answer)
    if "content" not in given:
        return text_result(SAMPLING, str(given.get("message", "")), is_error=True)
    return text_result(SAMPLING, str(given["content"].get("text", "")))


def _with_text(answer: Any, result: ToolResult) -> Any:
    """The answer with the text that the run lets through."""
    fields: dict[str, Any] = {"role": "assistant", "model": ""}
    if answer is not None:
        fields = wire(answer)
    fields["content"] = {"type": "text", "text": result.to_text()}
    return message("CreateMessageResult", fields)
