"""A model client over a chat completion client of Semantic Kernel."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel
from typing_extensions import override

from teams._base.cancellation import CancellableStream, CancellationToken, run_cancellable
from teams._base.telemetry import trace_model, trace_model_stream
from teams._tools.base import Tool
from teams._tools.schema import ToolSchema
from teams.models._client import ChatCompletionClient, ToolChoice
from teams.models._endpoint import ModelEndpoint
from teams.models._errors import ModelError, ModelRefused, ModelUnavailable
from teams.models._exchange import (
    Deadline,
    log_call,
    log_stream_end,
    log_stream_start,
    nothing_to_settle,
)
from teams.models._settings import DEADLINE_SECONDS
from teams.models._tokens import request_tokens
from teams.models._types import (
    CreateResult,
    LLMMessage,
    ModelFamily,
    ModelInfo,
    RequestUsage,
    validate_model_info,
)
from teams.models.openai._answer import Answer
from teams.models.openai._catalog import known_model
from teams.models.openai._failures import openai_endpoint
from teams.models.openai._request import Dialect, Wire, response_format, tool_arguments

if TYPE_CHECKING:
    from semantic_kernel import Kernel
    from semantic_kernel.connectors.ai.chat_completion_client_base import ChatCompletionClientBase
    from semantic_kernel.connectors.ai.prompt_execution_settings import PromptExecutionSettings

_NOTHING = ModelInfo(
    vision=False,
    function_calling=False,
    json_output=False,
    family=ModelFamily.UNKNOWN,
    structured_output=False,
)
_END: Wire = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
_READ_AHEAD = 1000
"""Pieces that may have arrived when a stream is left."""
_OWN_ARGUMENTS = ("kernel", "prompt_execution_settings")


class SKChatCompletionAdapter(ChatCompletionClient):
    """Asks a model through one of Semantic Kernel's connectors.

    Of `extra_create_args`, `kernel` and `prompt_execution_settings` replace those given here, and
    others are fields of the settings. A kernel is required, but only the tools of a request are
    offered to the model, never the kernel's own functions, and Semantic Kernel runs none of them.
    Without `model_info` the model can do nothing but write text.
    """

    def __init__(
        self,
        sk_client: ChatCompletionClientBase,
        kernel: Kernel | None = None,
        prompt_settings: PromptExecutionSettings | None = None,
        model_info: ModelInfo | None = None,
        service_id: str | None = None,
    ) -> None:
        self._client = sk_client
        self._kernel = kernel
        self._prompt_settings = prompt_settings
        self._service_id = service_id
        self._model_info = model_info or _NOTHING
        validate_model_info(self._model_info)
        self._dialect = Dialect(info=self._model_info)
        self._model = sk_client.ai_model_id
        self._endpoint, self._says_its_end = _endpoint(sk_client)
        self._usage = RequestUsage(prompt_tokens=0, completion_tokens=0)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model={self._model!r}, endpoint={self._endpoint.endpoint!r})"

    @override
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
        """See ChatCompletionClient. Raises ModelError, and ValueError for what it can't do."""
        wire = self._dialect.messages(messages)
        arguments = self._arguments(wire, tools, tool_choice, json_output, extra_create_args)
        completing = self._complete(wire, arguments, structured=bool(json_output))
        answer = trace_model(self._model, "semantic_kernel", completing)
        return await run_cancellable(answer, cancellation_token)

    @override
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
        """See ChatCompletionClient; raises as `create` does."""
        wire = self._dialect.messages(messages)
        arguments = self._arguments(wire, tools, tool_choice, json_output, extra_create_args)
        answer = self._stream(wire, arguments, structured=bool(json_output))
        traced = trace_model_stream(self._model, "semantic_kernel", answer)
        return CancellableStream(traced, cancellation_token, nothing_to_settle)

    @override
    async def close(self) -> None:
        """Nothing: whoever made the connector closes it."""

    @override
    def actual_usage(self) -> RequestUsage:
        return self._usage

    @override
    def total_usage(self) -> RequestUsage:
        return self._usage

    @override
    def count_tokens(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()
    ) -> int:
        """About how many tokens these take."""
        wire = tool_arguments(tools, "auto", None).get("tools", [])
        return request_tokens(self._dialect.messages(messages), wire, encoding="o200k_base")

    @override
    def remaining_tokens(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()
    ) -> int:
        """See ChatCompletionClient; ValueError for a model whose context length is not known."""
        known = known_model(self._model)
        if known is None:
            raise ValueError(f"The context length of the model {self._model!r} is not known.")
        return known.context - self.count_tokens(messages, tools=tools)

    @property
    @override
    def model_info(self) -> ModelInfo:
        return self._model_info

    def _arguments(
        self,
        wire: list[Wire],
        tools: Sequence[Tool | ToolSchema],
        tool_choice: ToolChoice,
        json_output: bool | type[BaseModel] | None,
        extra: Mapping[str, Any],
    ) -> dict[str, Any]:
        """The connector's arguments."""
        # This imports Semantic Kernel, as the maker of the connector has done.
        from teams.models.semantic_kernel._contents import chat_history, offer_tools

        kernel = extra.get("kernel") or self._kernel
        if kernel is None:
            raise ValueError("A kernel is required: give `kernel`, here or in extra_create_args.")
        if tools and not self._model_info["function_calling"]:
            raise ValueError("Model does not support function calling")
        fields = response_format(json_output, self._model_info)
        fields |= {name: value for name, value in extra.items() if name not in _OWN_ARGUMENTS}
        settings = self._settings(extra.get("prompt_execution_settings"), fields)
        chosen = tool_arguments(tools, tool_choice, None)  # checks the choice, too
        kernel = offer_tools(kernel, settings, tools, chosen.get("tool_choice", "auto"))
        return {"chat_history": chat_history(wire), "settings": settings, "kernel": kernel}

    def _settings(self, given: PromptExecutionSettings | None, fields: Wire) -> Any:
        own = {"service_id": self._service_id} if self._service_id else {}
        settings: Any = copy.deepcopy(
            given
            or self._prompt_settings
            or self._client.instantiate_prompt_execution_settings(**own)
        )
        settings = self._client.get_prompt_execution_settings_from_settings(settings)
        for name, value in fields.items():
            if name not in type(settings).model_fields:
                raise ValueError(f"{type(self._client).__name__} has no setting {name!r}.")
            setattr(settings, name, value)
        return settings

    async def _complete(self, wire: list[Wire], arguments: Any, *, structured: bool) -> Any:
        from teams.models.semantic_kernel._contents import chunk_of  # likewise

        with self._errors():
            async with Deadline(self._endpoint, DEADLINE_SECONDS).limit():
                contents = await self._client.get_chat_message_contents(**arguments)
            answer = Answer()
            answer.add(chunk_of(contents[0], finish="stop"))
            result = self._count_usage(answer.result(structured=structured))
        log_call(wire, contents[0].to_dict(), result)
        return result

    async def _stream(
        self, wire: list[Wire], arguments: Any, *, structured: bool
    ) -> AsyncGenerator[Any, None]:
        from teams.models.semantic_kernel._contents import chunk_of  # likewise

        answer = Answer()
        with self._errors():
            deadline = Deadline(self._endpoint, DEADLINE_SECONDS)
            stream = self._client.get_streaming_chat_message_contents(**arguments)
            log_stream_start(wire)
            ended = False
            async with _left_in_order(stream):
                while contents := await _next(stream, deadline):
                    ended = ended or contents[0].finish_reason is not None
                    if text := answer.add(chunk_of(contents[0])):
                        handed = deadline.now()
                        yield text
                        deadline.resume(handed)
            if rest := answer.end():
                yield rest
            if not (ended or self._says_its_end):
                answer.add(_END)
            result = self._count_usage(answer.result(structured=structured))
            log_stream_end(result)
            yield result

    @contextmanager
    def _errors(self) -> Generator[None]:
        """Whatever a connector raises leaves as a ModelError."""
        with self._endpoint.errors():
            try:
                yield
            except Exception as error:
                told = self._told(error)
                if told is error:
                    raise
                raise told from (error if isinstance(told, ModelError) else told.__cause__)

    def _told(self, error: Exception) -> Exception:
        """The SDK's own error, or a ModelError for the kernel's."""
        import openai  # likewise
        from semantic_kernel.exceptions import KernelException, ServiceContentFilterException

        match error:
            case ServiceContentFilterException() if not error.__cause__:
                return self._endpoint.failure(ModelRefused, f"A content filter refused: {error}")
            case KernelException() if isinstance(error.__cause__, Exception):
                return self._told(error.__cause__)
            case KernelException():
                return self._endpoint.failure(ModelUnavailable, f"Semantic Kernel failed: {error}")
            case openai.APIError() if type(error) is openai.APIError and hasattr(
                self._endpoint, "stream_error"
            ):
                return self._endpoint.stream_error(error.body)
            case AssertionError() | AttributeError() | TypeError():
                return self._endpoint.bad_answer()
            case _:
                return error

    def _count_usage(self, result: CreateResult) -> CreateResult:
        self._usage += result.usage
        return result


@asynccontextmanager
async def _left_in_order(stream: AsyncGenerator[list[Any], Any]) -> AsyncGenerator[None]:
    """Close the connection of a stream that is left early.

    Its generators don't close each other: a cancelled read does end all of them.
    """
    try:
        yield
    finally:
        with suppress(Exception):
            for _ in range(_READ_AHEAD):
                async with asyncio.timeout(0):
                    await anext(stream)
        await stream.aclose()


async def _next(stream: AsyncGenerator[list[Any], Any], deadline: Deadline) -> list[Any]:
    """The next contents; none at the end."""
    async with deadline.limit():
        async for contents in stream:
            if contents:
                return contents
    return []


def _endpoint(client: Any) -> tuple[ModelEndpoint, bool]:
    """Where the connector asks, and whether its answers always say their end."""
    inner, model = getattr(client, "client", None), client.ai_model_id
    if type(inner).__name__ in ("AsyncOpenAI", "AsyncAzureOpenAI"):
        return openai_endpoint(inner, model), True
    place = client.service_url() or type(client).__name__
    key = "that of the connector"
    return ModelEndpoint(model=model, endpoint=place, key_variable=key, secrets=()), False
