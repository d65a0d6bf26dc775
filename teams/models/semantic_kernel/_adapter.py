"""A model client over a chat completion client of Semantic Kernel."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel
from typing_extensions import override

from teams._tools.base import Tool
from teams._tools.schema import ToolSchema
from teams.models._client import ToolChoice
from teams.models._endpoint import ModelEndpoint
from teams.models._errors import (
    BadCredentials,
    BadRequest,
    ModelError,
    ModelRefused,
    ModelUnavailable,
)
from teams.models._exchange import Deadline, log_call, log_stream_end, log_stream_start
from teams.models._settings import DEADLINE_SECONDS
from teams.models._types import (
    CreateResult,
    LLMMessage,
    ModelFamily,
    ModelInfo,
    RequestUsage,
    validate_model_info,
)
from teams.models.openai._answer import Answer
from teams.models.openai._base import BaseOpenAIChatCompletionClient
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


class SKChatCompletionAdapter(BaseOpenAIChatCompletionClient):
    """Asks a model through one of Semantic Kernel's connectors.

    Of `extra_create_args`, `kernel` and `prompt_execution_settings` replace those given here, and
    others are fields of the settings. A kernel is required, but only the tools of a request are
    offered to the model, never the kernel's own functions, and Semantic Kernel runs none of them.
    Without `model_info` the model can do nothing but write text.

    Messages and answers take OpenAI's form on their way, so the base is the client that has it.
    """

    def __init__(
        self,
        sk_client: ChatCompletionClientBase,
        kernel: Kernel | None = None,
        prompt_settings: PromptExecutionSettings | None = None,
        model_info: ModelInfo | None = None,
        service_id: str | None = None,
    ) -> None:
        # Not the base's own: there is no client of OpenAI's.
        self._connector = sk_client
        self._kernel = kernel
        self._prompt_settings = prompt_settings
        self._service_id = service_id
        self._model_info = model_info or _NOTHING
        validate_model_info(self._model_info)
        self._dialect = Dialect(info=self._model_info)
        self._model, self._provider = sk_client.ai_model_id, "semantic_kernel"
        self._create_args, self._stream_options = {}, {}
        self._endpoint, self._says_its_end = _endpoint(sk_client)
        self._usage = RequestUsage(prompt_tokens=0, completion_tokens=0)

    @override
    async def close(self) -> None:
        """Nothing: whoever made the connector closes it."""

    @override
    def _body(
        self,
        messages: Sequence[LLMMessage],
        tools: Sequence[Tool | ToolSchema],
        tool_choice: ToolChoice,
        json_output: bool | type[BaseModel] | None,
        extra: Mapping[str, Any],
    ) -> Wire:
        """The messages on the wire, and the connector's arguments."""
        # This imports Semantic Kernel, as the maker of the connector has done.
        from teams.models.semantic_kernel._contents import chat_history, offer_tools

        kernel = extra.get("kernel") or self._kernel
        if kernel is None:
            raise ValueError("A kernel is required: give `kernel`, here or in extra_create_args.")
        if tools and not self._model_info["function_calling"]:
            raise ValueError("Model does not support function calling")
        wire = self._dialect.messages(messages)
        fields = response_format(json_output, self._model_info)
        fields |= {name: value for name, value in extra.items() if name not in _OWN_ARGUMENTS}
        settings = self._settings(extra.get("prompt_execution_settings"), fields)
        chosen = tool_arguments(tools, tool_choice, None)  # checks the choice, too
        kernel = offer_tools(kernel, settings, tools, chosen.get("tool_choice", "auto"))
        arguments = {"chat_history": chat_history(wire), "settings": settings, "kernel": kernel}
        return {"messages": wire, "arguments": arguments}

    def _settings(self, given: PromptExecutionSettings | None, fields: Wire) -> Any:
        own = {"service_id": self._service_id} if self._service_id else {}
        settings: Any = copy.deepcopy(
            given
            or self._prompt_settings
            or self._connector.instantiate_prompt_execution_settings(**own)
        )
        settings = self._connector.get_prompt_execution_settings_from_settings(settings)
        for name, value in fields.items():
            if name not in type(settings).model_fields:
                raise ValueError(f"{type(self._connector).__name__} has no setting {name!r}.")
            setattr(settings, name, value)
        return settings

    @override
    async def _complete(self, body: Wire, *, structured: bool) -> CreateResult:
        from teams.models.semantic_kernel._contents import chunk_of  # likewise

        with self._errors():
            async with Deadline(self._endpoint, DEADLINE_SECONDS).limit():
                contents = await self._connector.get_chat_message_contents(**body["arguments"])
            answer = Answer()
            answer.add(chunk_of(contents[0], finish="stop"))
            result = self._count_usage(answer.result(structured=structured))
        log_call(body["messages"], result.model_dump(mode="json"), result)
        return result

    @override
    async def _stream(self, body: Wire, *, structured: bool) -> AsyncGenerator[Any, None]:
        from teams.models.semantic_kernel._contents import chunk_of  # likewise

        answer, ended = Answer(), self._says_its_end
        with self._errors():
            deadline = Deadline(self._endpoint, DEADLINE_SECONDS)
            stream = self._connector.get_streaming_chat_message_contents(**body["arguments"])
            log_stream_start(body["messages"])
            async with _left_in_order(stream):
                while contents := await _next(stream, deadline):
                    ended = ended or contents[0].finish_reason is not None
                    if text := answer.add(chunk_of(contents[0])):
                        handed = deadline.now()
                        yield text
                        deadline.resume(handed)
            if rest := answer.end():
                yield rest
            if not ended:
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
        from semantic_kernel.exceptions import KernelException

        match error:
            case KernelException() if isinstance(error.__cause__, Exception):
                return self._told(error.__cause__)
            case KernelException():
                return self._endpoint.failure(_kind(error), f"Semantic Kernel failed: {error}")
            case openai.APIError() if type(error) is openai.APIError and self._says_its_end:
                return self._endpoint.stream_error(error.body)
            case AssertionError() | AttributeError() | LookupError() | TypeError():
                return self._endpoint.bad_answer()
            case _:
                return error


def _kind(error: Exception) -> type[ModelError]:
    from semantic_kernel import exceptions as kernel  # likewise

    match error:
        case kernel.ServiceContentFilterException():
            return ModelRefused
        case kernel.ServiceInvalidAuthError():
            return BadCredentials
        case kernel.ServiceInvalidRequestError() | kernel.ServiceInvalidExecutionSettingsError():
            return BadRequest
        case _:
            return ModelUnavailable


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


def _endpoint(client: Any) -> tuple[Any, bool]:
    """Where the connector asks, and whether its answers always say their end."""
    inner, model = getattr(client, "client", None), client.ai_model_id
    if type(inner).__name__ in ("AsyncOpenAI", "AsyncAzureOpenAI"):
        return openai_endpoint(inner, model), True
    place = client.service_url() or type(client).__name__
    key = "that of the connector"
    return ModelEndpoint(model=model, endpoint=place, key_variable=key, secrets=()), False
