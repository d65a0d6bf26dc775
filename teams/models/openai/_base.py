"""The model client over any client of the `openai` package."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel

from teams._base.cancellation import CancellableStream, CancellationToken, run_cancellable
from teams._base.telemetry import trace_model, trace_model_stream
from teams._tools.base import Tool
from teams._tools.schema import ToolSchema
from teams.models._client import ChatCompletionClient, ToolChoice
from teams.models._exchange import (
    Deadline,
    closing_response,
    log_call,
    log_stream_end,
    log_stream_start,
    nothing_to_settle,
    parse_json,
)
from teams.models._lines import split_lines
from teams.models._settings import DEADLINE_SECONDS, choose_model_info
from teams.models._tokens import request_tokens
from teams.models._types import (
    CreateResult,
    LLMMessage,
    ModelCapabilities,
    ModelFamily,
    ModelInfo,
    RequestUsage,
)
from teams.models.openai._answer import Answer, read_completion
from teams.models.openai._catalog import known_model
from teams.models.openai._failures import openai_endpoint
from teams.models.openai._request import Dialect, Wire, response_format, tool_arguments

if TYPE_CHECKING:
    from openai import AsyncAzureOpenAI, AsyncOpenAI
    from openai._legacy_response import LegacyAPIResponse


class BaseOpenAIChatCompletionClient(ChatCompletionClient):
    """Asks one model over a given client of the `openai` package.

    `create_args` go with every request and hold at least `model`. `deadline` is in seconds and
    bounds a whole answer; connecting and silence are bounded by the SDK client's `timeout`, and it
    is the SDK client that retries what never got an answer. Errors are those of `teams.models`.
    """

    def __init__(
        self,
        client: AsyncOpenAI | AsyncAzureOpenAI,
        *,
        create_args: Mapping[str, Any],
        model_capabilities: ModelCapabilities | None = None,
        model_info: ModelInfo | None = None,
        add_name_prefixes: bool = False,
        include_name_in_message: bool = True,
        deadline: float = DEADLINE_SECONDS,
    ) -> None:
        arguments = {name: value for name, value in create_args.items() if value is not None}
        self._client = client
        self._completions: Any = client.chat.completions  # imports half of the SDK: not later
        self._model: str = arguments["model"]
        self._parallel_tool_calls: bool | None = arguments.pop("parallel_tool_calls", None)
        self._stream_options: Wire | None = arguments.pop("stream_options", None)
        self._create_args = arguments
        known = known_model(self._model)
        self._model_info = choose_model_info(
            self._model, model_info, model_capabilities, known and known.info()
        )
        self._dialect = Dialect(
            info=self._model_info,
            name_field=include_name_in_message,
            name_prefixes=add_name_prefixes,
        )
        self._deadline = deadline
        azure = type(client).__name__ == "AsyncAzureOpenAI"
        self._provider = "azure.ai.openai" if azure else "openai"
        self._endpoint = openai_endpoint(client, self._model)
        self._usage = RequestUsage(prompt_tokens=0, completion_tokens=0)

    @property
    def sdk_client(self) -> AsyncOpenAI | AsyncAzureOpenAI:
        """The client of the `openai` package; this object closes it."""
        return self._client

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
        include_usage: bool | None = None,
    ) -> AsyncGenerator[str | CreateResult, None]:
        """See ChatCompletionClient; a thought is not streamed but part of the result.

        The usage is asked for unless `include_usage` (or `stream_options`) says no, for servers
        that don't know it; ValueError if they contradict each other. Raises as `create` does; after
        a break in the middle, too.
        """
        body = self._body(messages, tools, tool_choice, json_output, extra_create_args)
        given = body.pop("stream_options", self._stream_options)
        if options := _stream_options(given, include_usage):
            body["stream_options"] = options
        answer = self._stream(body, structured=bool(json_output))
        traced = trace_model_stream(self._model, self._provider, answer)
        return CancellableStream(traced, cancellation_token, nothing_to_settle)

    async def close(self) -> None:
        await self._client.close()

    def actual_usage(self) -> RequestUsage:
        """Tokens of all requests so far, as the provider reported them."""
        return self._usage

    def total_usage(self) -> RequestUsage:
        """The same: nothing is answered from a cache."""
        return self._usage

    def count_tokens(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()
    ) -> int:
        """The tokens of the messages and tools.

        Exact (but for images) where tiktoken and its table are installed; otherwise an estimate.
        """
        wire = tool_arguments(tools, "auto", None).get("tools", [])
        older = self._model_info["family"] in (ModelFamily.GPT_4, ModelFamily.GPT_35)
        encoding = "cl100k_base" if older else "o200k_base"
        return request_tokens(self._dialect.messages(messages), wire, encoding=encoding)

    def remaining_tokens(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()
    ) -> int:
        """See ChatCompletionClient; ValueError for a model whose context length is not known."""
        known = known_model(self._model)
        if known is None:
            raise ValueError(f"The context length of the model {self._model!r} is not known.")
        return known.context - self.count_tokens(messages, tools=tools)

    @property
    def max_output_tokens(self) -> int | None:
        """The value of `max_completion_tokens` or `max_tokens`."""
        arguments = self._create_args
        return arguments.get("max_completion_tokens") or arguments.get("max_tokens")

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
        return {
            **self._create_args,
            "messages": self._dialect.messages(messages),
            **tool_arguments(tools, tool_choice, self._parallel_tool_calls),
            **response_format(json_output, self._model_info),
            **extra,
        }

    async def _complete(self, body: Wire, *, structured: bool) -> CreateResult:
        with self._endpoint.errors():
            completions = self._completions.with_raw_response
            async with Deadline(self._endpoint, self._deadline).limit():
                response = cast(
                    "LegacyAPIResponse[Any]", await completions.create(**self._arguments(body))
                )
            completion = parse_json(response.http_response.content)
            result = self._count_usage(self._read(completion, structured=structured))
        log_call(body["messages"], completion, result)
        return result

    async def _stream(self, body: Wire, *, structured: bool) -> AsyncGenerator[Any, None]:
        answer = self._new_answer()
        with self._endpoint.errors():
            deadline = Deadline(self._endpoint, self._deadline)
            async with self._open_stream(body, deadline) as lines:
                log_stream_start(body["messages"])
                async for line in lines:
                    deadline.check()
                    if not line.startswith(b"data:"):
                        continue  # an empty line, or a comment that keeps the connection alive
                    data = line[5:].strip()
                    if data == b"[DONE]":
                        break
                    if text := answer.add(self._chunk(data)):
                        handed = deadline.now()
                        yield text
                        deadline.resume(handed)
            if rest := answer.end():
                yield rest
            result = self._count_usage(answer.result(structured=structured))
            log_stream_end(result)
            yield result

    @asynccontextmanager
    async def _open_stream(
        self, body: Wire, deadline: Deadline
    ) -> AsyncGenerator[AsyncIterator[bytes]]:
        """The lines of the streamed response; leaving closes its connection."""
        # Lines instead of the SDK's stream, which builds a model of each chunk at ten times the
        # price and hides the comments of a server that is busy.
        streaming = self._completions.with_streaming_response
        manager = streaming.create(**self._arguments(body), stream=True)
        async with deadline.limit():
            response = await manager.__aenter__()
        body_lines = split_lines(response.iter_bytes(), b"data:")
        async with closing_response(response.http_response, body_lines) as lines:
            yield lines

    # The three forms in which the Responses API differs.

    def _arguments(self, body: Wire) -> Wire:
        return _sdk_arguments(body)

    def _read(self, completion: object, *, structured: bool) -> CreateResult:
        return read_completion(completion, structured=structured)

    def _new_answer(self) -> Any:
        return Answer()

    def _chunk(self, data: bytes) -> Any:
        chunk: Any = parse_json(data)
        if isinstance(chunk, dict) and (error := cast("Wire", chunk).get("error")):
            raise self._endpoint.stream_error(error)
        return cast("Any", chunk)

    def _count_usage(self, result: CreateResult) -> CreateResult:
        self._usage += result.usage
        return result


def _stream_options(given: Wire | None, include_usage: bool | None) -> Wire:
    """The options of a stream, or none."""
    options = {"include_usage": True} if given is None else dict(given)
    if include_usage is not None:
        if given and given.get("include_usage", include_usage) != include_usage:
            raise ValueError("include_usage and stream_options contradict each other.")
        options["include_usage"] = include_usage
    return options if options.get("include_usage") else {}


def _sdk_arguments(body: Wire) -> Wire:
    """The body for the SDK, which passes messages and tools by.

    It walks through each of them by its type, for a tenth of a millisecond, and changes nothing.
    """
    whole = {key: body[key] for key in ("messages", "tools") if key in body}
    rest = {key: value for key, value in body.items() if key not in whole}
    return {**rest, "messages": [], "extra_body": {**whole, **(body.get("extra_body") or {})}}
