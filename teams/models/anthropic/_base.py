"""The model client over any client of the `anthropic` package."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

from pydantic import BaseModel

from teams._base.cancellation import CancellableStream, CancellationToken, run_cancellable
from teams._base.telemetry import trace_model, trace_model_stream
from teams._tools.base import Tool
from teams._tools.schema import ToolSchema
from teams.models._client import ChatCompletionClient, ToolChoice
from teams.models._errors import BadAnswer
from teams.models._exchange import (
    Deadline,
    closing_response,
    log_call,
    log_stream_end,
    log_stream_start,
    nothing_to_settle,
    parse_json,
)
from teams.models._settings import DEADLINE_SECONDS, choose_model_info
from teams.models._tokens import request_tokens
from teams.models._types import (
    CreateResult,
    LLMMessage,
    ModelCapabilities,
    ModelInfo,
    RequestUsage,
)
from teams.models.anthropic._answer import Answer
from teams.models.anthropic._body import ANSWER_TOOL, ask_for_json, mark_for_cache, settle_thinking
from teams.models.anthropic._catalog import ClaudeModel, known_model
from teams.models.anthropic._event_stream import EventLineDecoder
from teams.models.anthropic._failures import anthropic_endpoint
from teams.models.anthropic._request import Dialect, tool_arguments
from teams.models.anthropic._signed import SignedAnswers, Wire

Decode = Callable[[bytes], Iterable[str | bytes]]

_NAMED = ("model", "max_tokens", "messages")
_SAMPLING = ("temperature", "top_p", "top_k")
_SAMPLING_VERSION = "2023-06-01"
"""The API's last version with sampling, see platform.claude.com/docs: api/migration-2026-10-21."""
_OPTIONS = ("extra_headers", "extra_query", "timeout")


class BaseAnthropicChatCompletionClient(ChatCompletionClient):
    """Asks one Claude model over a given client of the `anthropic` package.

    `create_args` go with every request and hold at least `model`. `deadline` is in seconds and
    bounds a whole answer; connecting and silence are bounded by the SDK client's `timeout`, and it
    is the SDK client that retries what never got an answer. Errors are those of `teams.models`.
    `prompt_tokens` of a usage count what the provider's cache took and gave, too.
    """

    _provider = "anthropic"

    def __init__(
        self,
        client: Any,
        *,
        create_args: Mapping[str, Any],
        model_capabilities: ModelCapabilities | None = None,
        model_info: ModelInfo | None = None,
        prompt_caching: bool = True,
        deadline: float = DEADLINE_SECONDS,
    ) -> None:
        arguments = {name: value for name, value in create_args.items() if value is not None}
        self._client = client
        self._messages = client.messages
        self._model: str = arguments["model"]
        known = known_model(self._model)
        self._known = known or ClaudeModel()
        self._create_args = {"max_tokens": self._known.answer_tokens, **arguments}
        self._model_info = choose_model_info(
            self._model, model_info, model_capabilities, known and known.info()
        )
        self._signed = SignedAnswers()
        self._dialect = Dialect(
            info=self._model_info, goes_on=self._known.goes_on, signed=self._signed
        )
        self._prompt_caching = prompt_caching
        self._deadline = deadline
        self._endpoint = anthropic_endpoint(client, self._model)
        self._usage = RequestUsage(prompt_tokens=0, completion_tokens=0)

    @property
    def model(self) -> str:
        """The model's name, as the provider calls it."""
        return self._model

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model={self._model!r}, endpoint={self._endpoint.endpoint!r})"

    async def create(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = (),
        tool_choice: ToolChoice = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] = {},
        cancellation_token: CancellationToken | None = None,
    ) -> CreateResult:
        """See ChatCompletionClient.

        Raises ModelError for what goes wrong with the model, ValueError for what it can't do.
        """
        body = self._body(messages, tools, tool_choice, json_output, extra_create_args)
        completing = self._complete(body, structured=bool(json_output))
        answer = trace_model(self._model, self._provider, completing)
        return await run_cancellable(answer, cancellation_token)

    def create_stream(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = (),
        tool_choice: ToolChoice = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] = {},
        cancellation_token: CancellationToken | None = None,
    ) -> AsyncGenerator[str | CreateResult, None]:
        """See ChatCompletionClient; a thought is not streamed but part of the result.

        Raises as `create` does; after a break in the middle, too.
        """
        body = self._body(messages, tools, tool_choice, json_output, extra_create_args)
        answer = self._stream(body, structured=bool(json_output))
        traced = trace_model_stream(self._model, self._provider, answer)
        return CancellableStream(traced, cancellation_token, nothing_to_settle)

    async def close(self) -> None:
        await self._client.close()

    def actual_usage(self) -> RequestUsage:
        """Tokens of all requests so far, as the provider reported them."""
        return self._usage

    def total_usage(self) -> RequestUsage:
        """The same: nothing is answered from a cache of ours."""
        return self._usage

    def count_tokens(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()
    ) -> int:
        """About how many tokens these take: Claude's tokenizer is not public."""
        system, turns = self._dialect.messages(messages)
        definitions = tool_arguments(tools, "auto", turns).get("tools", [])
        wire = [{"system": system}, *turns] if system else turns
        return request_tokens(wire, definitions, encoding="cl100k_base")

    def remaining_tokens(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()
    ) -> int:
        """See ChatCompletionClient; a model that is not known has 200,000."""
        return self._known.context - self.count_tokens(messages, tools=tools)

    @property
    def max_output_tokens(self) -> int | None:
        """The value of `max_tokens`, which the API demands."""
        return self._create_args["max_tokens"]

    @property
    def model_info(self) -> ModelInfo:
        return self._model_info

    def _body(
        self,
        messages: Sequence[LLMMessage],
        tools: Sequence[Tool | ToolSchema],
        tool_choice: ToolChoice,
        json_output: bool | type[BaseModel] | None,
        extra: Mapping[str, Any],
    ) -> Wire:
        if tools and not self._model_info["function_calling"]:
            raise ValueError("Model does not support function calling")
        system, turns = self._dialect.messages(messages)
        body: Wire = {
            **self._create_args,
            "system": system,
            "messages": turns,
            **tool_arguments(tools, tool_choice, turns),
            **extra,
        }
        ask_for_json(body, json_output, self._model_info, formats=self._known.formats)
        settle_thinking(body)
        if self._prompt_caching:
            mark_for_cache(body)
        return {name: value for name, value in body.items() if value not in (None, "")}

    async def _complete(self, body: Wire, *, structured: bool) -> CreateResult:
        with self._endpoint.errors():
            asking = self._messages.with_raw_response.create(**_sdk_arguments(body))
            async with Deadline(self._endpoint, self._deadline).limit():
                response = await asking
            message = self._event(response.http_response.content)
            answer = Answer(_answer_tool(body))
            answer.take(message)
            result = self._settle(answer, structured=structured)
        log_call(body["messages"], message, result)
        return result

    async def _stream(self, body: Wire, *, structured: bool) -> AsyncGenerator[Any, None]:
        answer, decode = Answer(_answer_tool(body)), self._decoder()
        with self._endpoint.errors():
            deadline = Deadline(self._endpoint, self._deadline)
            async with self._open_stream(body, deadline) as chunks:
                log_stream_start(body["messages"])
                async for chunk in chunks:
                    deadline.check()
                    for data in decode(chunk):
                        if text := answer.add(self._event(data)):
                            handed = deadline.now()
                            yield text
                            deadline.resume(handed)
            result = self._settle(answer, structured=structured)
            log_stream_end(result)
            yield result

    @asynccontextmanager
    async def _open_stream(
        self, body: Wire, deadline: Deadline
    ) -> AsyncGenerator[AsyncIterator[bytes]]:
        """The bytes of the streamed response; leaving closes its connection."""
        streaming = self._messages.with_streaming_response
        manager = streaming.create(**_sdk_arguments(body), stream=True)
        async with deadline.limit():
            response = await manager.__aenter__()
        async with closing_response(response.http_response, response.iter_bytes()) as chunks:
            yield chunks

    def _decoder(self) -> Decode:
        """Make the function from bytes of a stream to JSON events."""
        return EventLineDecoder()

    def _event(self, data: str | bytes) -> Wire:
        """The event, or the whole message."""
        match parse_json(data):
            case {"type": "error", "error": error}:
                raise self._endpoint.stream_error(error)
            case {"type": str()} as event:
                return cast("Wire", event)
            case _:
                raise BadAnswer("The answer is not what the API promises")

    def _settle(self, answer: Answer, *, structured: bool) -> CreateResult:
        """The result, counted, and its signed thinking remembered."""
        result = answer.result(structured=structured)
        if not isinstance(result.content, str):
            self._signed.keep(result.content, answer.blocks())
        self._usage += result.usage
        return result


def _answer_tool(body: Wire) -> str | None:
    tools = body.get("tools", ())
    return ANSWER_TOOL if any(tool.get("name") == ANSWER_TOOL for tool in tools) else None


def _sdk_arguments(body: Wire) -> dict[str, Any]:
    """The SDK's arguments; what it has no name for is `extra_body`."""
    rest = {name: value for name, value in body.items() if name not in (*_NAMED, *_OPTIONS)}
    given = rest.pop("extra_body", {})
    arguments = {name: body[name] for name in (*_NAMED, *_OPTIONS) if name in body}
    if any(name in rest for name in _SAMPLING):
        headers = arguments.get("extra_headers", {})
        arguments["extra_headers"] = {"anthropic-version": _SAMPLING_VERSION, **headers}
    return {**arguments, "extra_body": {**rest, **given}}
