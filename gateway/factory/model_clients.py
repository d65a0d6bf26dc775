"""The model clients of a config, each made once."""

from __future__ import annotations

import logging
from contextlib import suppress
from copy import copy
from typing import Any, Literal

from gateway.base.describe import describe
from gateway.base.imports import Imports
from gateway.config.root import Config
from gateway.registry import model_label
from teams.kinds import ModelKind
from teams.models import ChatCompletionClient, ModelError
from teams.prices import listed_model

LOG = logging.getLogger("gateway")


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
            own, table = copy(self), self._config.models[name].resolved()
            own._only = ""
            self._clients[name] = table.make(self._imports.load_callable, own.client)
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

    def titler(self) -> ChatCompletionClient | None:
        """The client that titles threads; None without a usable one."""
        if name := self._config.title_model:
            with suppress(Exception):  # no team fails for that, and `parley check` asks the model
                return self.client(name)
        return None

    def only(self, name: str) -> ModelClients:
        """The same clients, all replaced by this one; "" for none."""
        if not name:
            return self
        chosen = copy(self)
        chosen._only = name
        return chosen

    def can(self, name: str, ability: Literal["function_calling", "vision"]) -> bool | None:
        """True if the model has an ability; None if that is unknown."""
        if (declared := self._config.models[name].model_info) is not None:
            return bool(getattr(declared, ability))
        made = self._clients.get(name)
        return None if made is None else made.model_info[ability]

    def make_slow(self, name: str = "", *, trial: bool = False) -> None:
        """Make the client now if that imports an SDK; in any thread.

        Of a `trial`, which asks nothing, no SDK that a first request can import.
        """
        for each, model in self._chained(name or self._default).items():
            if model.resolved().kind.sdk:
                client = self.alone(each)
                if not trial:
                    getattr(client, "sdk_client", None)

    def label(self, name: str = "") -> str:
        """The model's name for people: at the provider, or "demo"."""
        return self._config.models[name or self._default].resolved().label

    def listed_window(self, name: str) -> int | None:
        """Tokens of the model's context by the catalog, or None."""
        tables = (each.resolved() for each in self._chained(name or self._default).values())
        places = ((each.model, each.listed) for each in tables)
        found = [listed_model(model, **place) for model, place in places if place is not None]
        return min((each.context for each in found if each and each.context), default=None)

    def chain(self, name: str) -> list[str]:
        """The model, and those that answer in its place, in their order."""
        return list(self._chained(name))

    async def aclose(self) -> None:
        """Close every client that was made."""
        self._chains.clear()
        while self._clients:
            _, client = self._clients.popitem()
            await client.close()

    def _chained(self, name: str) -> dict[str, ModelKind]:
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
