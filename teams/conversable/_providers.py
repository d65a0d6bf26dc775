"""Models asked through the clients of `teams.models`, one client per event loop."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from typing import Any

from pydantic import BaseModel

from teams.conversable._answers import Answer, make_answer
from teams.conversable._model_config import AWS, ModelCall
from teams.conversable._model_messages import model_messages, wire_message
from teams.conversable._printing import IOStream
from teams.conversable._protocols import Given, Settings
from teams.conversable._usage import listed_price
from teams.models._client import MODEL_WATCH, ChatCompletionClient
from teams.models._types import CreateResult, ModelFamily, ModelInfo

CHUNKS: ContextVar[Callable[[str], Awaitable[None] | None] | None] = ContextVar(
    "teams_chunks", default=None
)
"""Takes the pieces of a streamed answer; without it they are printed."""

_CLIENTS = {
    "openai": ("teams.models.openai", "OpenAIChatCompletionClient"),
    "azure": ("teams.models.openai", "AzureOpenAIChatCompletionClient"),
    "anthropic": ("teams.models.anthropic", "AnthropicChatCompletionClient"),
    "bedrock": ("teams.models.anthropic", "AnthropicBedrockChatCompletionClient"),
    "ollama": ("teams.models.ollama", "OllamaChatCompletionClient"),
}
_RENAMED = {
    "azure": {"base_url": "azure_endpoint"},
    "ollama": {"base_url": "host", "default_headers": "headers"},
}
_ABLE = ModelInfo(
    vision=True,
    function_calling=True,
    json_output=True,
    structured_output=True,
    family=ModelFamily.UNKNOWN,
)
"""Abilities of a model that is not known by its name: what it can't do, its provider refuses."""


class ProviderClient:
    """Asks one provider's models, and reads answers as a `ModelClient` does."""

    def __init__(self, api_type: str, response_format: Any = None) -> None:
        if api_type not in _CLIENTS:
            raise ValueError(
                f"Unknown api_type {api_type!r}: choose from {', '.join(map(repr, _CLIENTS))}, "
                "or name a client of your own with model_client_cls."
            )
        self._api_type = api_type
        self._exact = api_type in ("openai", "azure")
        self._response_format = response_format

    async def ask(self, call: ModelCall) -> Answer:
        """The model's answer, whole; a stream's pieces are shown on the way."""
        options, settings = call.options, call.connection
        model = options.pop("model", None)
        if not model:
            raise ValueError("No model is named: give 'model' in llm_config or to create().")
        streamed, messages = options.pop("stream", False), options.pop("messages", [])
        legacy_call = "functions" in options and "tools" not in options
        wanted = options.get("response_format")
        arguments: Settings = {"extra_create_args": options}
        if isinstance(wanted, type) and issubclass(wanted, BaseModel):
            arguments["json_output"] = options.pop("response_format")
        if self._exact:
            messages = _as_they_are(messages, options)
        else:
            messages = self._translated(messages, options, settings, arguments)
        client = await self._client(settings)
        if streamed:
            result = await show_stream(client.create_stream(messages, **arguments))
        else:
            result = await client.create(messages, **arguments)
        price = call.price or listed_price(self._api_type, model)
        cost = price.cost(result.usage.prompt_tokens, result.usage.completion_tokens)
        return make_answer(result, model=model, cost=cost, legacy_call=legacy_call)

    def message_retrieval(self, response: Answer) -> list[Any]:
        """The text of each choice, or its message if it holds calls.

        A text in the shape of a class with a method `format` is what that method returns.
        """
        formed, texts = hasattr(self._response_format, "format"), list[Any]()
        for message in [choice.message for choice in response.choices]:
            if message.tool_calls or message.function_call:
                texts.append(message)
            elif formed:
                texts.append(self._response_format.model_validate_json(message.content).format())
            else:
                texts.append(message.content)
        return texts

    @staticmethod
    def get_usage(response: Answer) -> Settings:
        """Tokens and cost of an answer."""
        return {**vars(response.usage), "cost": response.cost, "model": response.model}

    def _translated(
        self,
        messages: list[Settings],
        options: Settings,
        settings: Settings,
        arguments: Settings,
    ) -> list[Any]:
        """The messages; options move to where the client takes them."""
        if wanted := options.pop("response_format", None):
            if wanted != {"type": "json_object"}:
                raise ValueError(f"A response_format for {self._api_type} is a pydantic class.")
            arguments["json_output"] = True
        tools, functions = options.pop("tools", ()), options.pop("functions", ())
        arguments["tools"] = [*(tool["function"] for tool in tools), *functions]
        known = options.keys() & _client_class(self._api_type).component_config_schema.model_fields
        settings |= {key: options.pop(key) for key in known}
        return model_messages(messages, images=True)

    async def _client(self, settings: Given) -> ChatCompletionClient:
        """The running loop's client for these settings."""
        made, renamed = _client_class(self._api_type), _RENAMED.get(self._api_type, {})
        given = {renamed.get(key, key): value for key, value in settings.items()}
        if self._api_type == "azure":  # which allows no dots in the names of deployments
            given["azure_deployment"] = given.get("azure_deployment", given["model"]).replace(
                ".", ""
            )
            given["model"] = given["model"].replace(".", "")
        if self._api_type == "bedrock":
            given["bedrock_info"] = {key: given[key] for key in AWS if key in given}
        given = {
            key: given[key] for key in given.keys() & made.component_config_schema.model_fields
        }
        if self._exact and "model_info" not in given:
            catalog = import_module("teams.models.openai._catalog")
            given |= {} if catalog.known_model(given["model"]) else {"model_info": _ABLE}
        clients = await _clients_of_loop()
        key = made, json.dumps(given, sort_keys=True, default=repr)
        if key not in clients:
            clients[key] = made(**given)
        return clients[key]


def _as_they_are(messages: list[Settings], options: Settings) -> list[Any]:
    """Put the chat's own messages into the options; those to count."""
    wanted = options.get("response_format", {})
    if wanted and wanted.get("type") not in ("text", "json_object", "json_schema"):
        strict = wanted.get("additionalProperties") is False
        named = {"name": "response_format", "schema": wanted, "strict": strict}
        options["response_format"] = {"type": "json_schema", "json_schema": named}
    options["messages"] = [wire_message(message) for message in messages]
    unknown = {key: options.pop(key) for key in options.keys() - _parameters()}
    if unknown:
        options["extra_body"] = {**options.get("extra_body", {}), **unknown}
    # What is sent stands in the options; these are for who counts a run's tokens.
    return [] if MODEL_WATCH.get() is None else model_messages(messages, images=False)


_LOOPS: dict[asyncio.AbstractEventLoop, tuple[dict[Any, Any], AsyncGenerator[None]]] = {}
"""The clients of each loop, and what closes them with it."""


async def _clients_of_loop() -> dict[Any, Any]:
    """The running loop's clients: their connections belong to it."""
    loop = asyncio.get_running_loop()
    if loop not in _LOOPS:
        for other in [other for other in list(_LOOPS) if other.is_closed()]:
            _LOOPS.pop(other, None)
        clients: dict[Any, Any] = {}
        _LOOPS[loop] = clients, _close_with(loop, clients)
        await anext(_LOOPS[loop][1])
    return _LOOPS[loop][0]


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


async def show_stream(stream: AsyncGenerator[str | CreateResult, None]) -> CreateResult:
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


def _client_class(api_type: str) -> Any:
    module, name = _CLIENTS[api_type]
    return getattr(import_module(module), name)


@cache
def _parameters() -> frozenset[str]:
    """Options that the SDK knows by name; it takes others within `extra_body`."""
    from openai.resources.chat.completions import AsyncCompletions  # for start-up

    return frozenset(inspect.signature(AsyncCompletions.create).parameters)
