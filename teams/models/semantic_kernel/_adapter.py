"""A model client over a chat completion client of Semantic Kernel."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterable
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from teams.models._dialect import Request
from teams.models._endpoint import ModelEndpoint
from teams.models._errors import (
    BadCredentials,
    BadRequest,
    ModelError,
    ModelRefused,
    ModelUnavailable,
)
from teams.models._exchange import Deadline
from teams.models._types import ModelFamily, ModelInfo, Wire, validate_model_info
from teams.models._wire import WireClient
from teams.models.openai._dialect import OpenAIDialect
from teams.models.openai._failures import is_sdk_client, openai_endpoint
from teams.models.openai._request import response_format, tool_choice

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


class SKChatCompletionAdapter(WireClient):
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
        info = model_info or _NOTHING
        validate_model_info(info)
        dialect = _KernelDialect(
            info=info,
            provider="semantic_kernel",
            connector=sk_client,
            kernel=kernel,
            prompt_settings=prompt_settings,
            service_id=service_id,
        )
        endpoint, self._says_its_end = _endpoint(sk_client)
        super().__init__(dialect, _Connector(sk_client, self._says_its_end), endpoint)

    @override
    @contextmanager
    def _errors(self) -> Generator[None]:
        """Whatever a connector raises leaves as a ModelError."""
        with self._endpoint.errors():
            try:
                yield
            except Exception as error:
                told = self._error_for(error)
                if told is error:
                    raise
                raise told from (error if isinstance(told, ModelError) else told.__cause__)

    def _error_for(self, error: Exception) -> Exception:
        """The SDK's own error, or a ModelError for the kernel's."""
        import openai  # likewise
        from semantic_kernel.exceptions import KernelException

        match error:
            case KernelException() if isinstance(error.__cause__, Exception):
                return self._error_for(error.__cause__)
            case KernelException():
                return self._endpoint.failure(_kind(error), f"Semantic Kernel failed: {error}")
            case openai.APIError() if type(error) is openai.APIError and self._says_its_end:
                return self._endpoint.stream_error(error.body)
            case AssertionError() | AttributeError() | LookupError() | TypeError():
                return self._endpoint.bad_answer()
            case _:
                return error


@dataclass(kw_only=True)
class _KernelDialect(OpenAIDialect):
    """Messages and answers take OpenAI's form on their way."""

    longest_name = OpenAIDialect.longest_name - len("autogen_tools-")  # of its plugin
    connector: ChatCompletionClientBase
    kernel: Kernel | None
    prompt_settings: PromptExecutionSettings | None
    service_id: str | None

    @override
    def body(self, request: Request) -> Wire:
        """The messages on the wire, and the connector's arguments."""
        # This imports Semantic Kernel, as the maker of the connector has done.
        from teams.models.semantic_kernel._contents import chat_history, offer_tools

        extra = request.extra
        kernel = extra.get("kernel") or self.kernel
        if kernel is None:
            raise ValueError("A kernel is required: give `kernel`, here or in extra_create_args.")
        wire = self.messages.write(request.messages)
        fields = response_format(request.json_output)
        fields |= {name: value for name, value in extra.items() if name not in _OWN_ARGUMENTS}
        settings = self._settings(extra.get("prompt_execution_settings"), fields)
        kernel = offer_tools(kernel, settings, request.tools, tool_choice(request))
        arguments = {"chat_history": chat_history(wire), "settings": settings, "kernel": kernel}
        return {"messages": wire, "arguments": arguments}

    def _settings(self, given: PromptExecutionSettings | None, fields: Wire) -> Any:
        own = {"service_id": self.service_id} if self.service_id else {}
        settings: Any = copy.deepcopy(
            given
            or self.prompt_settings
            or self.connector.instantiate_prompt_execution_settings(**own)
        )
        settings = self.connector.get_prompt_execution_settings_from_settings(settings)
        for name, value in fields.items():
            if name not in type(settings).model_fields:
                raise ValueError(f"{type(self.connector).__name__} has no setting {name!r}.")
            setattr(settings, name, value)
        return settings


class _Connector:
    """A connector as a transport; whoever made it closes it."""

    def __init__(self, connector: ChatCompletionClientBase, says_its_end: bool) -> None:
        self._connector = connector
        self.framing = partial(_Contents, says_its_end)

    async def whole(self, body: Wire) -> object:
        from teams.models.semantic_kernel._contents import chunk_of  # likewise

        contents = await self._connector.get_chat_message_contents(**body["arguments"])
        return chunk_of(contents[0], finish="stop", said="message")

    @asynccontextmanager
    async def stream(self, body: Wire, deadline: Deadline) -> AsyncGenerator[AsyncIterator[Any]]:
        stream = self._connector.get_streaming_chat_message_contents(**body["arguments"])
        async with _left_in_order(stream):
            yield _timed(stream, deadline)

    async def close(self) -> None:
        """Nothing: whoever made the connector closes it."""


class _Contents:
    """Contents as chunks on OpenAI's wire."""

    def __init__(self, ended: bool) -> None:
        self._ended = ended

    def __call__(self, contents: list[Any]) -> Iterable[object]:
        from teams.models.semantic_kernel._contents import chunk_of  # likewise

        self._ended = self._ended or contents[0].finish_reason is not None
        return (chunk_of(contents[0]),)

    def end(self) -> Iterable[object]:
        return () if self._ended else (_END,)


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


async def _timed(
    stream: AsyncGenerator[list[Any], Any], deadline: Deadline
) -> AsyncGenerator[list[Any]]:
    """The contents that are there, each in time."""
    while True:
        async with deadline.limit():
            contents = await anext(stream, None)
        if contents is None:
            return
        if contents:
            yield contents


def _endpoint(client: Any) -> tuple[Any, bool]:
    """Where the connector asks, and whether its answers always say their end."""
    inner, model = getattr(client, "client", None), client.ai_model_id
    if is_sdk_client(inner):
        return openai_endpoint(inner, model), True
    place = client.service_url() or type(client).__name__
    key = "that of the connector"
    return ModelEndpoint(model=model, endpoint=place, key_variable=key, secrets=()), False
