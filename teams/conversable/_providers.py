"""Clients of `teams.models` for entries of a config list, per event loop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from importlib import import_module
from typing import Any, cast

from teams.conversable._answers import Answer
from teams.conversable._chat_client import TeamsClient, ask_client
from teams.conversable._model_config import AWS, ModelCall
from teams.conversable._protocols import Given, Settings
from teams.conversable._usage import listed_price
from teams.models._client import ChatCompletionClient
from teams.models._hosted import ABLE
from teams.models._types import ModelInfo

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
_OF_A_REQUEST = {"model", "tools", "tool_choice", "response_format"}
"""Options that are no settings of a client, though one may have fields of these names."""


class ProviderClient(TeamsClient):
    """Asks one provider's models."""

    def __init__(self, api_type: str, response_format: Any = None) -> None:
        if api_type not in _CLIENTS:
            raise ValueError(
                f"Unknown api_type {api_type!r}: choose from {', '.join(map(repr, _CLIENTS))}, "
                "or name a client of your own with model_client_cls."
            )
        super().__init__(response_format)
        self._api_type = api_type
        self._speaks_openai = api_type in ("openai", "azure")

    async def create(self, call: ModelCall) -> Answer:
        """The model's answer."""
        options, settings = call.options, call.connection
        if not (model := options.get("model")):
            raise ValueError("No model is named: give 'model' in llm_config or to create().")
        self._place(options, settings)
        client = await self._client(settings)
        return await ask_client(client, options, call.price or listed_price(self._api_type, model))

    def _place(self, options: Settings, settings: Settings) -> None:
        """Put options where the provider's client takes them."""
        wanted = options.get("response_format")
        schema = cast("Settings", wanted) if isinstance(wanted, dict) else None
        if not self._speaks_openai:
            if schema not in (None, {"type": "json_object"}):
                raise ValueError(f"A response_format for {self._api_type} is a pydantic class.")
            known = _client_class(self._api_type).component_config_schema.model_fields.keys()
            settings |= {key: options.pop(key) for key in options.keys() & (known - _OF_A_REQUEST)}
        elif schema and schema.get("type") not in ("text", "json_object", "json_schema"):
            strict = schema.get("additionalProperties") is False
            named = {"name": "response_format", "schema": schema, "strict": strict}
            options["response_format"] = {"type": "json_schema", "json_schema": named}

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
        if self._speaks_openai and "model_info" not in given:
            given["model_info"] = _able(given["model"])
        clients = await _clients_of_loop()
        key = made, json.dumps(given, sort_keys=True, default=repr)
        if key not in clients:
            clients[key] = made(**given)
        return clients[key]


def _able(model: str) -> ModelInfo:
    """Every ability: what the model lacks, its provider refuses."""
    known = import_module("teams.models.openai._catalog").known_model(model)
    if known is None:
        return ABLE
    several: bool = known.many_system_messages
    return {**ABLE, "family": known.family, "multiple_system_messages": several}


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


def _client_class(api_type: str) -> Any:
    module, name = _CLIENTS[api_type]
    return getattr(import_module(module), name)
