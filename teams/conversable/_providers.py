"""Models asked through the clients of `teams.models`, one client per event loop."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

from pydantic import BaseModel

from teams.conversable._answers import Answer, make_answer
from teams.conversable._model_config import ModelCall
from teams.conversable._model_messages import model_messages, tool_schemas, wire_message
from teams.conversable._prices import listed_price
from teams.conversable._printing import IOStream
from teams.models._client import MODEL_WATCH, ChatCompletionClient
from teams.models._types import CreateResult, ModelFamily, ModelInfo

CHUNKS: ContextVar[Callable[[str], Awaitable[None] | None] | None] = ContextVar(
    "teams_chunks", default=None
)
"""Takes the pieces of a streamed answer; without it they are printed."""

_ABLE = ModelInfo(
    vision=True,
    function_calling=True,
    json_output=True,
    structured_output=True,
    family=ModelFamily.UNKNOWN,
)
"""Abilities of a model that is not known by its name: what it can't do, its provider refuses."""
_AWS = ("aws_access_key", "aws_secret_key", "aws_session_token", "aws_region")
_FORMATS = ("text", "json_object", "json_schema")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Provider:
    """A class of client, by its path, and its own names for settings.

    `exact`: the provider speaks OpenAI's protocol, so that a chat's messages and options are sent
    as they are.
    """

    module: str
    name: str
    renamed: Mapping[str, str] = field(default_factory=dict[str, str])
    exact: bool = False


_PROVIDERS: Mapping[str, _Provider] = {
    "openai": _Provider(
        module="teams.models.openai", name="OpenAIChatCompletionClient", exact=True
    ),
    "azure": _Provider(
        module="teams.models.openai",
        name="AzureOpenAIChatCompletionClient",
        renamed={"base_url": "azure_endpoint"},
        exact=True,
    ),
    "anthropic": _Provider(module="teams.models.anthropic", name="AnthropicChatCompletionClient"),
    "bedrock": _Provider(
        module="teams.models.anthropic", name="AnthropicBedrockChatCompletionClient"
    ),
    "ollama": _Provider(
        module="teams.models.ollama",
        name="OllamaChatCompletionClient",
        renamed={"base_url": "host", "default_headers": "headers"},
    ),
}


class ProviderClient:
    """Asks the models of one provider; a `ModelClient` in what it makes of an answer."""

    def __init__(self, api_type: str) -> None:
        if api_type not in _PROVIDERS:
            raise ValueError(
                f"Unknown api_type {api_type!r}: choose from {', '.join(map(repr, _PROVIDERS))}, or "
                "name a client of your own with model_client_cls."
            )
        self._api_type = api_type
        self._provider = _PROVIDERS[api_type]
        self._format: Any = None

    async def ask(self, call: ModelCall) -> Answer:
        """The model's answer, whole; a stream's pieces are shown on the way."""
        options = call.options
        if not options.get("model"):
            raise ValueError("No model is named: give 'model' in llm_config or to create().")
        streamed = options.pop("stream", False)
        asked = await (self._exact if self._provider.exact else self._translated)(call, options)
        client, messages, arguments = asked
        if streamed:
            result = await _show(client.create_stream(messages, **arguments))
        else:
            result = await client.create(messages, **arguments)
        model = options["model"]
        price = call.price or listed_price(self._api_type, model)
        usage = result.usage
        return make_answer(
            result,
            model=model,
            cost=price.cost(usage.prompt_tokens, usage.completion_tokens),
            legacy_call="functions" in options and "tools" not in options,
        )

    def message_retrieval(self, response: Answer, response_format: Any) -> list[Any]:
        """The text of each choice, or its message if it holds calls.

        A text in the shape of a class with a method `format` is what that method returns.
        """
        messages = [choice.message for choice in response.choices]
        return [
            each
            if each.tool_calls or each.function_call
            else _formed(each.content, response_format)
            for each in messages
        ]

    def cost(self, response: Answer) -> float:
        """What the answer cost."""
        return response.cost

    @staticmethod
    def get_usage(response: Answer) -> dict[str, Any]:
        """Tokens and cost of an answer."""
        return {
            "prompt_tokens": response.usage.prompt_tokens,
            "completion_tokens": response.usage.completion_tokens,
            "total_tokens": response.usage.total_tokens,
            "cost": response.cost,
            "model": response.model,
        }

    async def _exact(
        self, call: ModelCall, options: dict[str, Any]
    ) -> tuple[ChatCompletionClient, list[Any], dict[str, Any]]:
        connection = call.connection
        if self._api_type == "azure":
            # Azure allows no dots in the names of deployments.
            deployment = connection.get("azure_deployment") or connection["model"]
            connection["azure_deployment"] = deployment.replace(".", "")
            connection["model"] = connection["model"].replace(".", "")
        client = await self._client(connection)
        extra = {
            **{key: value for key, value in options.items() if key != "model"},
            "messages": [wire_message(message) for message in options["messages"]],
        }
        form = _json_class(extra)
        if isinstance(wanted := extra.get("response_format"), dict):
            extra["response_format"] = _schema_format(wanted)
        unknown = {key: extra.pop(key) for key in extra.keys() - _parameters()}
        if unknown:
            extra["extra_body"] = {**extra.get("extra_body", {}), **unknown}
        # What is sent stands in `extra`; these are for who counts a run's tokens.
        counted = MODEL_WATCH.get() and model_messages(options["messages"], images=False)
        return client, counted or [], {"json_output": form, "extra_create_args": extra}

    async def _translated(
        self, call: ModelCall, options: dict[str, Any]
    ) -> tuple[ChatCompletionClient, list[Any], dict[str, Any]]:
        extra = {
            key: value
            for key, value in options.items()
            if key not in ("messages", "tools", "functions", "model")
        }
        form: Any = _json_class(extra)
        if wanted := extra.pop("response_format", None):
            if wanted != {"type": "json_object"}:
                raise ValueError(f"A response_format for {self._api_type} is a pydantic class.")
            form = True
        fields = self._class.component_config_schema.model_fields
        settings = {key: extra.pop(key) for key in extra.keys() & fields.keys()}
        client = await self._client({**call.connection, **settings})
        return (
            client,
            model_messages(options["messages"], images=True),
            {
                "tools": tool_schemas(options),
                "json_output": form,
                "extra_create_args": extra,
            },
        )

    @property
    def _class(self) -> Any:
        return getattr(import_module(self._provider.module), self._provider.name)

    async def _client(self, connection: Mapping[str, Any]) -> ChatCompletionClient:
        """The running loop's client for these settings."""
        made, renamed = self._class, self._provider.renamed
        given = {renamed.get(key, key): value for key, value in connection.items()}
        if self._api_type == "bedrock":
            given["bedrock_info"] = {key: given.pop(key) for key in _AWS if key in given}
        fields = made.component_config_schema.model_fields
        settings = {key: value for key, value in given.items() if key in fields}
        if self._provider.exact and "model_info" not in settings:
            known = import_module("teams.models.openai._catalog").known_model(settings["model"])
            settings |= {} if known else {"model_info": _ABLE}
        clients = await _clients_of_loop()
        key = (made, _frozen(settings))
        if key not in clients:
            clients[key] = made(**settings)
        return clients[key]


@dataclass(frozen=True, slots=True, eq=False)
class _LoopClients:
    """The clients of a loop, and what closes them with it."""

    clients: dict[Any, ChatCompletionClient]
    closing: AsyncGenerator[None]


_LOOPS: dict[asyncio.AbstractEventLoop, _LoopClients] = {}


async def _clients_of_loop() -> dict[Any, ChatCompletionClient]:
    """The running loop's clients: their connections belong to it."""
    loop = asyncio.get_running_loop()
    if loop not in _LOOPS:
        for other in [other for other in list(_LOOPS) if other.is_closed()]:
            _LOOPS.pop(other, None)
        clients: dict[Any, ChatCompletionClient] = {}
        _LOOPS[loop] = _LoopClients(clients, _close_with(loop, clients))
        await anext(_LOOPS[loop].closing)
    return _LOOPS[loop].clients


async def _close_with(
    loop: asyncio.AbstractEventLoop, clients: dict[Any, ChatCompletionClient]
) -> AsyncGenerator[None]:
    """Close the clients when the loop, at its end, closes its generators."""
    try:
        yield
    finally:
        _LOOPS.pop(loop, None)
        for client in clients.values():
            await client.close()


async def _show(stream: AsyncGenerator[str | CreateResult, None]) -> CreateResult:
    """The whole answer, after its pieces were handed on or printed."""
    take, say = CHUNKS.get(), IOStream.get_default().print
    async with aclosing(stream):
        async for piece in stream:
            if isinstance(piece, CreateResult):
                if take is None:
                    say("", flush=True)
                return piece
            if take is None:
                say(piece, end="", flush=True)
            elif (taken := take(piece)) is not None:
                await taken
    raise RuntimeError("The stream ended without an answer.")


def _json_class(options: dict[str, Any]) -> type[BaseModel] | None:
    """Take the class of the answer's shape, if that is what the format is."""
    wanted = options.get("response_format")
    if isinstance(wanted, type) and issubclass(wanted, BaseModel):
        return options.pop("response_format")
    return None


def _schema_format(wanted: dict[str, Any]) -> dict[str, Any]:
    """The format on the wire for one, or for a JSON schema."""
    if wanted.get("type") in _FORMATS:
        return wanted
    strict = wanted.get("additionalProperties") is False
    named = {"name": "response_format", "schema": wanted, "strict": strict}
    return {"type": "json_schema", "json_schema": named}


def _formed(text: str | None, response_format: Any) -> Any:
    if text is None or not hasattr(response_format, "format"):
        return text
    return response_format.model_validate_json(text).format()


@cache
def _parameters() -> frozenset[str]:
    """Options that the SDK knows by name; it takes others within `extra_body`."""
    from openai.resources.chat.completions import AsyncCompletions  # for start-up

    return frozenset(inspect.signature(AsyncCompletions.create).parameters)


def _frozen(value: Any) -> Any:
    """A key that tells settings apart."""
    match value:
        case dict():
            return tuple(sorted((key, _frozen(each)) for key, each in value.items()))
        case list() | tuple():
            return tuple(map(_frozen, value))
        case _:
            return value
