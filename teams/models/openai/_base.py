"""The model client over any client of the `openai` package."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from pydantic import BaseModel

from teams._base.cancellation import CancellableStream, CancellationToken, run_cancellable
from teams._base.telemetry import (
    LLMCallEvent,
    LLMStreamEndEvent,
    LLMStreamStartEvent,
    events,
    trace_model,
    trace_model_stream,
)
from teams._tools.base import Tool
from teams._tools.schema import ToolSchema
from teams.models._client import ChatCompletionClient, ToolChoice
from teams.models._errors import ModelError, ModelTimeout
from teams.models._lines import answer_lines
from teams.models._types import (
    CreateResult,
    LLMMessage,
    ModelCapabilities,
    ModelFamily,
    ModelInfo,
    RequestUsage,
    validate_model_info,
)
from teams.models.openai._answer import Answer, read_completion
from teams.models.openai._catalog import key_variable, known_model
from teams.models.openai._failures import ModelEndpoint
from teams.models.openai._request import Dialect, Wire, response_format, tool_arguments
from teams.models.openai._tokens import request_tokens

if TYPE_CHECKING:
    from openai import AsyncAzureOpenAI, AsyncOpenAI
    from openai._legacy_response import LegacyAPIResponse

DEADLINE_SECONDS = 900.0
"""The longest a whole answer may take, retries included."""
NO_KEY = "not-needed"
"""Key for servers that need none."""

_SHORTEST_SECRET = 6


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
        self._completions = client.chat.completions  # it imports half of the SDK: not later
        self._model: str = arguments["model"]
        self._parallel_tool_calls: bool | None = arguments.pop("parallel_tool_calls", None)
        self._stream_options: Wire = arguments.pop("stream_options", {"include_usage": True})
        self._create_args = arguments
        self._model_info = _model_info(self._model, model_info, model_capabilities)
        self._dialect = Dialect(
            info=self._model_info,
            name_field=include_name_in_message,
            name_prefixes=add_name_prefixes,
        )
        self._deadline = deadline
        azure = type(client).__name__ == "AsyncAzureOpenAI"
        self._provider = "azure.ai.openai" if azure else "openai"
        self._endpoint = _endpoint(client, self._model)
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
        include_usage: bool | None = None,
    ) -> AsyncGenerator[str | CreateResult, None]:
        """See ChatCompletionClient; a thought is not streamed but part of the result.

        The usage is asked for unless `include_usage` (or `stream_options`) says no, for servers
        that don't know it. Raises as `create` does; after a break in the middle, too.
        """
        body = self._body(messages, tools, tool_choice, json_output, extra_create_args)
        options = dict(self._stream_options)
        if include_usage is not None:
            options["include_usage"] = include_usage
        if options.get("include_usage"):
            body["stream_options"] = options
        answer = self._stream(body, structured=bool(json_output))
        traced = trace_model_stream(self._model, self._provider, answer)
        return CancellableStream(traced, cancellation_token, _nothing_to_settle)

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
        return request_tokens(self._dialect, messages, wire, encoding=encoding)

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
            async with self._time_limit(asyncio.get_running_loop().time() + self._deadline):
                response = cast("LegacyAPIResponse[Any]", await completions.create(**body))
            completion = _parse(response.http_response.content)
            result = self._count_usage(read_completion(completion, structured=structured))
        if events.isEnabledFor(logging.INFO):
            events.info(
                LLMCallEvent(messages=body["messages"], response=completion, **_tokens(result))
            )
        return result

    async def _stream(self, body: Wire, *, structured: bool) -> AsyncGenerator[Any, None]:
        now = asyncio.get_running_loop().time
        deadline = now() + self._deadline
        answer = Answer()
        with self._endpoint.errors():
            async with self._open_stream(body, deadline) as lines:
                if events.isEnabledFor(logging.INFO):
                    events.info(LLMStreamStartEvent(messages=body["messages"]))
                async for line in lines:
                    if now() > deadline:
                        raise self._too_slow()
                    if not line.startswith(b"data:"):
                        continue  # an empty line, or a comment that keeps the connection alive
                    data = line[5:].strip()
                    if data == b"[DONE]":
                        break
                    if text := answer.add(self._chunk(data)):
                        yielded = now()
                        yield text
                        deadline += now() - yielded
            if rest := answer.end():
                yield rest
            result = self._count_usage(answer.result(structured=structured))
            if events.isEnabledFor(logging.INFO):
                response = result.model_dump(mode="json")
                events.info(LLMStreamEndEvent(response=response, **_tokens(result)))
            yield result

    @asynccontextmanager
    async def _open_stream(
        self, body: Wire, deadline: float
    ) -> AsyncGenerator[AsyncIterator[bytes]]:
        """The lines of the streamed response; leaving closes its connection."""
        # Lines instead of the SDK's stream, which builds a model of each chunk at ten times the
        # price and hides the comments of a server that is busy.
        streaming = self._completions.with_streaming_response
        manager = streaming.create(**body, stream=True)
        async with self._time_limit(deadline):
            response = await manager.__aenter__()
        async with answer_lines(response.iter_bytes(), response.http_response.aclose) as lines:
            yield lines

    @asynccontextmanager
    async def _time_limit(self, deadline: float) -> AsyncGenerator[None]:
        try:
            async with asyncio.timeout_at(deadline):
                yield
        except TimeoutError:
            raise self._too_slow() from None

    def _too_slow(self) -> ModelError:
        what = f"The model's answer took longer than {self._deadline:g} s"
        return self._endpoint.failure(ModelTimeout, what)

    def _chunk(self, data: bytes) -> Any:
        chunk: Any = _parse(data)
        if isinstance(chunk, dict) and (error := cast("Wire", chunk).get("error")):
            raise self._endpoint.stream_error(error)
        return cast("Any", chunk)

    def _count_usage(self, result: CreateResult) -> CreateResult:
        self._usage += result.usage
        return result


def _parse(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("The answer is nested too deeply.") from None


def _tokens(result: CreateResult) -> dict[str, Any]:
    usage = result.usage
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
    }


async def _nothing_to_settle() -> None:
    """A cancelled answer leaves nothing behind."""


def _model_info(
    model: str, info: ModelInfo | None, capabilities: ModelCapabilities | None
) -> ModelInfo:
    if info is not None:
        validate_model_info(info)
        return info
    if capabilities is not None:
        return ModelInfo(**capabilities, family=ModelFamily.UNKNOWN, structured_output=False)
    known = known_model(model)
    if known is None:
        raise ValueError(
            f"model_info is required for the model {model!r}, which is not known by its name: "
            "ModelInfo(vision=..., function_calling=..., json_output=..., structured_output=..., "
            "family='unknown')."
        )
    return known.info()


def _endpoint(client: AsyncOpenAI | AsyncAzureOpenAI, model: str) -> ModelEndpoint:
    address = urlsplit(str(client.base_url))
    azure = type(client).__name__ == "AsyncAzureOpenAI"
    secrets = {client.api_key, getattr(client, "_azure_ad_token", None), address.password}
    host = address.netloc.rpartition("@")[2]
    return ModelEndpoint(
        model=model,
        endpoint=f"{address.scheme}://{host}{address.path}".rstrip("/"),
        key_variable="AZURE_OPENAI_API_KEY" if azure else key_variable(model),
        secrets=tuple(
            text for text in secrets - {NO_KEY} if text and len(text) >= _SHORTEST_SECRET
        ),
    )
