"""Model clients of a config: shared, and closed together."""

from __future__ import annotations

import os
from typing import Any

from gateway.base.imports import Imports
from gateway.config.models import ModelConfig
from gateway.config.root import Config
from teams.models import ChatCompletionClient, ModelInfo

DEMO_MODEL = "demo"

_UNKNOWN_SERVER_MODEL = ModelInfo(
    vision=False,
    function_calling=True,
    json_output=True,
    family="unknown",
    structured_output=False,
)


class ModelClients:
    """Clients by the name of their [models] entry.

    Making one reaches no network. It raises what the client's class raises for its settings.
    """

    def __init__(self, config: Config, imports: Imports) -> None:
        self._config = config
        self._imports = imports
        self._clients: dict[str, ChatCompletionClient] = {}
        self._default = config.model_name()

    def client(self, name: str = "") -> ChatCompletionClient:
        """The client of this name, or of the default model."""
        name = name or self._default
        if name not in self._clients:
            self._clients[name] = self._make(resolve(self._config.models[name]))
        return self._clients[name]

    def label(self, name: str = "") -> str:
        """The model's name for people: at the provider, or "demo"."""
        model = resolve(self._config.models[name or self._default])
        return DEMO_MODEL if model.provider == "demo" else model.model or model.provider

    async def aclose(self) -> None:
        """Close every client that was made."""
        while self._clients:
            _, client = self._clients.popitem()
            await client.close()

    def _make(self, model: ModelConfig) -> ChatCompletionClient:
        match model.provider:
            case "demo":
                from gateway.demo import DemoChatCompletionClient

                return DemoChatCompletionClient()
            case "openai":
                return _openai(_arguments(model))
            case path:
                return self._imports.load_callable(path)(**_arguments(model))


def resolve(model: ModelConfig) -> ModelConfig:
    """The settings as they are meant in this environment: without "auto"."""
    if model.provider != "auto":
        return model
    reached = ("OPENAI_API_KEY", "OPENAI_BASE_URL")
    if not (model.api_key or model.base_url or any(map(os.environ.get, reached))):
        return ModelConfig(provider="demo")
    name = os.environ.get("PARLEY_MODEL") or os.environ.get("OPENAI_MODEL") or model.model
    return model.model_copy(update={"provider": "openai", "model": name})


def _openai(arguments: dict[str, Any]) -> ChatCompletionClient:
    from teams.models.openai import OpenAIChatCompletionClient

    own_server = arguments.get("base_url") or os.environ.get("OPENAI_BASE_URL")
    try:
        return OpenAIChatCompletionClient(**arguments)
    except ValueError:
        if "model_info" in arguments or not own_server:
            raise
        # The model's name says nothing: take what such servers can do nowadays.
        return OpenAIChatCompletionClient(**arguments, model_info=_UNKNOWN_SERVER_MODEL)


def _arguments(model: ModelConfig) -> dict[str, Any]:
    """The client's arguments, without those that are not set."""
    given = {
        "model": model.model or None,
        "base_url": model.base_url,
        "api_key": model.api_key and model.api_key.get_secret_value(),
        "timeout": model.timeout,
        "max_retries": model.max_retries,
        "model_info": model.model_info and model.model_info.model_dump(exclude_none=True),
    }
    return {name: value for name, value in given.items() if value is not None} | model.options
