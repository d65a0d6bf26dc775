"""The client of a model over the wire, for every dialect."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack
from dataclasses import replace
from typing import Unpack, cast

from typing_extensions import override

from teams._base.cancellation import CancellableStream, run_cancellable
from teams._base.telemetry import trace_model, trace_model_stream
from teams._base.whole_text import whole_texts
from teams._tools.base import Tool
from teams._tools.schema import ToolSchema
from teams.models._client import THINKS_ALOUD, Asking, ChatCompletionClient
from teams.models._dialect import Dialect, Json, Request
from teams.models._draft import Draft
from teams.models._endpoint import ModelEndpoint
from teams.models._errors import BadAnswer
from teams.models._exchange import (
    Deadline,
    log_call,
    log_stream_end,
    log_stream_start,
    nothing_to_settle,
)
from teams.models._outgoing import Asked, outgoing, schemas_of
from teams.models._settings import DEADLINE_SECONDS
from teams.models._structured import second_request
from teams.models._transport import END, Transport
from teams.models._types import CreateResult, LLMMessage, ModelInfo, RequestUsage, Wire

logger = logging.getLogger("teams")


class WireClient(ChatCompletionClient):
    """Asks one model in a dialect, over a transport.

    `deadline` is in seconds and bounds a whole answer. Errors are those of `teams.models`.
    """

    def __init__(
        self,
        dialect: Dialect,
        transport: Transport,
        endpoint: ModelEndpoint,
        *,
        deadline: float = DEADLINE_SECONDS,
    ) -> None:
        self._dialect = dialect
        self._transport = transport
        self._endpoint = endpoint
        self._deadline = deadline
        self._usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
        self._told: set[str] = set()

    @property
    def model(self) -> str:
        """The model's name, as the provider calls it."""
        return self._endpoint.model

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model={self.model!r}, endpoint={self._endpoint.endpoint!r})"

    @override
    async def create(self, messages: Sequence[LLMMessage], **asked: Unpack[Asking]) -> CreateResult:
        """See ChatCompletionClient.

        Raises ModelError for what goes wrong with the model, ValueError for what it can't do.
        """
        whole = Asked(messages, **asked)
        answer = trace_model(self.model, self._dialect.provider, self._complete(whole))
        return await run_cancellable(answer, whole.cancellation_token)

    @override
    def create_stream(
        self,
        messages: Sequence[LLMMessage],
        *,
        include_usage: bool | None = None,
        **asked: Unpack[Asking],
    ) -> AsyncGenerator[str | CreateResult, None]:
        """See ChatCompletionClient; a thought is not streamed but part of the result.

        Where a usage has to be asked for, it is, unless `include_usage` says no. Raises as `create`
        does; after a break in the middle, too.
        """
        streamed = Asked(messages, stream=True, include_usage=include_usage, **asked)
        answer = self._stream(streamed)
        traced = trace_model_stream(self.model, self._dialect.provider, answer)
        return CancellableStream(traced, streamed.cancellation_token, nothing_to_settle)

    @override
    async def close(self) -> None:
        await self._transport.close()

    @override
    def actual_usage(self) -> RequestUsage:
        """Tokens of all requests so far, as the provider reported them."""
        return self._usage

    @override
    def total_usage(self) -> RequestUsage:
        """The same: nothing is answered from a cache of ours."""
        return self._usage

    @override
    def count_tokens(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()
    ) -> int:
        """See ChatCompletionClient; exact only where the model's own table is at hand."""
        return self._dialect.count(messages, schemas_of(tools))

    @override
    def remaining_tokens(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()
    ) -> int:
        """See ChatCompletionClient; ValueError for a model whose context length is not known."""
        return self._dialect.context_tokens() - self.count_tokens(messages, tools=tools)

    @override
    def left_out(self, tools: Sequence[Tool | ToolSchema]) -> Sequence[str]:
        return outgoing(self._dialect, Asked((), tools)).left_out

    @property
    @override
    def max_output_tokens(self) -> int | None:
        return self._dialect.answer_limit

    @property
    @override
    def model_info(self) -> ModelInfo:
        return self._dialect.info

    async def _prepare(self) -> None:
        """Learn what a first request needs to know."""

    def _errors(self) -> AbstractContextManager[None]:
        return self._endpoint.errors()

    async def _request(self, asked: Asked) -> Request:
        await self._prepare()
        request = outgoing(self._dialect, asked)
        for each in set(request.left_out) - self._told:
            logger.warning("%s, of a request to the model %s.", each, self.model)
        self._told = set(request.left_out)  # the next request mostly lacks the same
        return request

    async def _complete(self, asked: Asked) -> CreateResult:
        return await self._repaired(asked, await self._ask_once(asked))

    async def _repaired(self, asked: Asked, answer: CreateResult) -> CreateResult:
        """The answer, or a second one where it is unfit."""
        if not (more := second_request(answer, asked.json_output)):
            return answer
        again = replace(asked, messages=[*asked.messages, *more], stream=False)
        second = await self._ask_once(again)
        return second.model_copy(update={"usage": answer.usage + second.usage})

    async def _ask_once(self, asked: Asked) -> CreateResult:
        request = await self._request(asked)
        body, draft = self._dialect.body(request), self._dialect.draft(request)
        with self._errors():
            async with Deadline(self._endpoint, self._deadline).limit():
                try:
                    answer = await self._transport.whole(body)
                except UnicodeEncodeError:
                    body = whole_texts(body)
                    answer = await self._transport.whole(body)
                self._take(answer, draft)
                while more := self._dialect.resume(body, draft):
                    answer = await self._transport.whole(more)
                    self._take(answer, draft)
            draft.complete = True
            result = self._settle(draft)
        log_call(body["messages"], answer, result)
        return result

    async def _stream(self, asked: Asked) -> AsyncGenerator[str | CreateResult, None]:
        request = await self._request(asked)
        body, draft = self._dialect.body(request), self._dialect.draft(request)
        if THINKS_ALOUD.get():
            draft.think_aloud()
        with self._errors():
            deadline = Deadline(self._endpoint, self._deadline)
            sent: Wire | None = body
            while sent:
                framing = self._transport.framing()
                async with AsyncExitStack() as stack:
                    pieces = await self._open(stack, sent, deadline)
                    log_stream_start(sent["messages"])
                    async for piece in pieces:
                        deadline.check()
                        for event in framing(piece):
                            if (text := self._take(event, draft)) or draft.growth:
                                text = text or draft.grown()
                                handed = deadline.now()
                                yield text
                                deadline.resume(handed)
                        if draft.complete:
                            break
                    for event in () if draft.complete else framing.end():
                        if text := self._take(event, draft):
                            yield text
                sent = self._dialect.resume(body, draft)
            if rest := draft.end():
                yield rest
            result = self._settle(draft)
            log_stream_end(result)
            yield await self._repaired(asked, result)

    async def _open(
        self, stack: AsyncExitStack, body: Wire, deadline: Deadline
    ) -> AsyncIterator[bytes]:
        open_stream = self._transport.stream
        try:
            return await stack.enter_async_context(open_stream(body, deadline))
        except UnicodeEncodeError:  # half a character of somebody's: rare, so not looked for
            return await stack.enter_async_context(open_stream(whole_texts(body), deadline))

    def _take(self, event: object, draft: Draft) -> str:
        """Take an event, and return its text for the reader."""
        if event is END:
            draft.complete = True
            return ""
        if not isinstance(event, Mapping):
            raise BadAnswer("The answer is not what the API promises")
        fields = cast("Json", event)
        text = "" if (error := fields.get("error")) else self._dialect.decode(fields, draft)
        if error := error or draft.error:
            raise self._endpoint.stream_error(error)
        return text

    def _settle(self, draft: Draft) -> CreateResult:
        """The result, counted."""
        result = draft.result(self._dialect.prompt_counts, self._dialect.completion_count)
        self._dialect.keep(draft)
        self._usage += result.usage
        return result
