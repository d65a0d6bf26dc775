"""The model clients of a config, each made once."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from gateway.base.describe import describe
from gateway.base.imports import Imports
from gateway.config.models import ModelConfig, resolve
from gateway.config.providers import PROVIDERS, SERVER_MODEL, Provider
from gateway.config.root import Config
from gateway.demo.model import DEMO_MODEL, DemoChatCompletionClient
from gateway.registry import model_label
from teams.models import ChatCompletionClient, ModelError

LOG = logging.getLogger("gateway")

_OWN_CLASS = Provider(client="", retries=False)
"""A class of the operator's: it is given what the table says."""


@dataclass(frozen=True, slots=True)
class _AzureKey:
    """A key as Azure's client takes it, without their SDK."""

    key: str = field(repr=False)


class ModelClients:
    """Clients by the name of their [models] entry.

    Making one reaches no network. It raises what the client's class raises for its settings.
    """

    def __init__(self, config: Config, imports: Imports) -> None:
        self._config = config
        self._imports = imports
        self._clients: dict[str, ChatCompletionClient] = {}
        self._chains: dict[str, ChatCompletionClient] = {}
        """Clients that ask several of the others; they hold nothing to close."""
        self._default = config.model_name()
        self._only = ""

    def client(self, name: str = "") -> ChatCompletionClient:
        """The client of this name, or the default one, with its fallback."""
        name = self._only or name or self._default
        if not self._config.models[name].fallback:
            return self._repeating(name)
        if name not in self._chains:
            self._chains[name] = self._chain(name)
        return self._chains[name]

    def alone(self, name: str) -> ChatCompletionClient:
        """The client of this name, which asks one model once."""
        if name not in self._clients:
            self._clients[name] = self._make(resolve(self._config.models[name]))
        return self._clients[name]

    def openai(self, name: str = "") -> tuple[Any, str]:
        """The SDK's client behind this one, and its model's name.

        Raises ValueError for a model of another provider.
        """
        name = self._only or name or self._default
        client = self.alone(name)
        sdk_client = getattr(client, "sdk_client", None)
        if sdk_client is None:
            raise ValueError(
                f'an agent of type "openai" needs a model of the provider "openai" or "azure", '
                f"and {name!r} is none"
            )
        return sdk_client, model_label(client)

    def only(self, name: str) -> ModelClients:
        """The same clients, all replaced by this one; "" for none."""
        if not name:
            return self
        chosen = copy(self)
        chosen._only = name
        return chosen

    def calls_functions(self, name: str) -> bool | None:
        """True if the model calls functions; None while that is not known."""
        declared = self._config.models[name].model_info
        if declared is not None:
            return declared.function_calling
        made = self._clients.get(name)
        return None if made is None else made.model_info["function_calling"]

    def make_slow(self, name: str = "", *, trial: bool = False) -> None:
        """Make the client now if that imports an SDK; in any thread.

        Of a `trial`, which asks nothing, no SDK that a first request can import.
        """
        for each, model in self._chained(name or self._default).items():
            if resolve(model).provider in PROVIDERS:
                client = self.alone(each)
                if not trial:
                    getattr(client, "sdk_client", None)

    def label(self, name: str = "") -> str:
        """The model's name for people: at the provider, or "demo"."""
        model = resolve(self._config.models[name or self._default])
        return DEMO_MODEL if model.provider == "demo" else model.model or model.provider

    def chain(self, name: str) -> list[str]:
        """The model, and those that answer in its place, in their order."""
        return list(self._chained(name))

    async def aclose(self) -> None:
        """Close every client that was made."""
        self._chains.clear()
        while self._clients:
            _, client = self._clients.popitem()
            await client.close()

    def _chained(self, name: str) -> dict[str, ModelConfig]:
        """The model with its fallback, and with theirs, each once."""
        found = {name: self._config.models[name]}
        left = [*found[name].fallback]
        while left:
            if (each := left.pop(0)) not in found:
                found[each] = self._config.models[each]
                left = [*found[each].fallback, *left]
        return found

    def _chain(self, name: str) -> ChatCompletionClient:
        from teams.models.fallback import FallbackChatCompletionClient  # few need it

        made: dict[str, ChatCompletionClient] = {}
        errors: list[Exception] = []
        for each in self._chained(name):
            try:
                made[each] = self._repeating(each)
            except Exception as error:  # without its key or its SDK it is not available either
                if each == name and not isinstance(error, ModelError | ImportError):
                    raise
                LOG.warning("The model %s can't be used: %s", each, describe(error))
                errors.append(error)
        if not made:
            raise errors[0]
        return FallbackChatCompletionClient(list(made.values()), names=list(made))

    def _repeating(self, name: str) -> ChatCompletionClient:
        """The client of this name with its rules for sending again."""
        retry = self._config.models[name].retry
        if retry is None or retry.attempts == 1:
            return self.alone(name)
        from teams.models.fallback import FallbackChatCompletionClient  # few need it

        return FallbackChatCompletionClient(
            [self.alone(name)], attempts=retry.attempts, max_wait=retry.max_wait, names=[name]
        )

    def _make(self, model: ModelConfig) -> ChatCompletionClient:
        if model.provider == "demo":
            return DemoChatCompletionClient()
        arguments = _arguments(model)
        provider = PROVIDERS.get(model.provider)
        if provider is None:
            return self._imports.load_callable(model.provider)(**arguments)
        make = self._imports.load_callable(provider.client)
        own_server = arguments.get(provider.address) or os.environ.get(provider.address_variable)
        try:
            return make(**arguments)
        except ValueError:
            if "model_info" in arguments or not own_server:
                raise
            # The model's name says nothing: take what such servers can do nowadays.
            return make(**arguments, model_info=SERVER_MODEL)


def _arguments(model: ModelConfig) -> dict[str, Any]:
    """The client's arguments, without those that are not set."""
    usual = PROVIDERS.get(model.provider, _OWN_CLASS).usual
    given = {name: value for name, value in _settings(model) if value is not None}
    return {**usual, **given, **model.options}


def _settings(model: ModelConfig) -> Iterator[tuple[str, Any]]:
    provider = PROVIDERS.get(model.provider, _OWN_CLASS)
    key = model.api_key.get_secret_value() if model.api_key else None
    yield "model", model.model or None
    yield provider.address, model.base_url
    yield provider.key or "api_key", _key_argument(provider.key, key)
    yield "timeout", model.timeout
    yield "max_retries", 0 if model.retry and provider.retries else model.max_retries
    yield "model_info", model.model_info and model.model_info.model_dump(exclude_none=True)


def _key_argument(name: str, key: str | None) -> Any:
    """The key in the form in which the argument takes it."""
    match name:
        case "credential" if key:
            return _AzureKey(key)
        case "headers" if key:
            return {"Authorization": f"Bearer {key}"}
        case _:
            return key
