"""A check of [models]: providers, their options, and fallbacks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ValidationError

from gateway.base.imports import ImportPathError
from gateway.base.suggest import did_you_mean
from gateway.config.models import ModelConfig
from gateway.config.problems import Problem
from gateway.config.providers import PROVIDERS
from gateway.config.toml import KeyPath
from gateway.references.lookup import Lookup, check_name

NAMES = (*PROVIDERS, "demo", "auto")


class ModelChecker:
    """Finds what is wrong with the models of a config."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._models = lookup.config.models

    def check(self) -> Iterator[Problem]:
        """Check every model."""
        for name, model in self._models.items():
            path: KeyPath = ("models", name)
            named = model.model or self._lookup.written(*path, "model")
            if model.provider in {"auto", *PROVIDERS} and not named:
                said = 'is missing: name of the model at the provider, such as "gpt-4o"'
                yield Problem(path=(*path, "model"), text=said)
            if ":" in model.provider:
                yield from self._lookup.function((*path, "provider"), model.provider)
            else:
                yield from check_name((*path, "provider"), model.provider, NAMES, "a provider")
            if model.provider in NAMES:
                yield from self._settings(path, model)
            for at, other in enumerate(model.fallback):
                yield from self._lookup.model((*path, "fallback", at), other)
        yield from self._circles()

    def _settings(self, path: KeyPath, model: ModelConfig) -> Iterator[Problem]:
        """Settings that the provider's client does not take, or lacks."""
        provider = PROVIDERS.get(model.provider, PROVIDERS["openai"])
        for key, takes in (("api_key", provider.key), ("max_retries", provider.retries)):
            if getattr(model, key) is not None and not takes:
                instead = "; retry does it for any" if key == "max_retries" else ""
                said = f"the provider {model.provider!r} takes none{instead}"
                yield Problem(path=(*path, key), text=said)
        given = {"model": "any", **provider.usual, **model.options}
        if model.base_url:
            given[provider.address] = model.base_url
        elif provider.needs_address and provider.address not in given:
            said = f'is missing: address of the resource, such as "{provider.needs_address}"'
            yield Problem(path=(*path, "base_url"), text=said)
            given[provider.address] = provider.needs_address
        if provider.key == "credential" and not self._has_key(path):
            yield Problem(path=(*path, "api_key"), text="is missing: the key of the resource")
        try:
            client = self._lookup.imports.load_callable(provider.client)
        except ImportPathError as error:
            yield Problem(path=(*path, "provider"), text=str(error))
            return
        if (schema := getattr(client, "component_config_schema", None)) is not None:
            yield from _options((*path, "options"), given, schema)

    def _has_key(self, path: KeyPath) -> bool:
        return any(self._lookup.written(*path, f"api_key{way}") for way in ("", "_env", "_file"))

    def _circles(self) -> Iterator[Problem]:
        """Fallbacks that lead back to their model, each circle once."""
        done: set[str] = set()
        for name in self._models:
            yield from self._visit(name, [], done)

    def _visit(self, name: str, before: list[str], done: set[str]) -> Iterator[Problem]:
        if name in done or name not in self._models:
            return
        way = [*before, name]
        for at, other in enumerate(self._models[name].fallback):
            if other in way:
                circle = " -> ".join([*way[way.index(other) :], other])
                said = f"found {circle}, expected a model that does not lead back"
                yield Problem(path=("models", name, "fallback", at), text=said)
            else:
                yield from self._visit(other, way, done)
        done.add(name)


def _options(path: KeyPath, given: dict[str, Any], schema: type[BaseModel]) -> Iterator[Problem]:
    """Options that the client refuses, or needs."""
    known = schema.model_fields
    try:
        schema.model_validate(given)
    except ValidationError as error:
        for details in error.errors():
            place: KeyPath = (*path, *details["loc"])
            if details["type"] == "extra_forbidden":
                name = str(details["loc"][-1])
                hint = did_you_mean(name, known)
                if not hint and "extra_body" in known:
                    hint = "anything the API takes can stand in extra_body"
                yield Problem(path=place, text=f"there is no option {name!r}; {hint}".rstrip("; "))
            elif details["type"] == "missing":
                yield Problem(path=place, text="is missing: the provider needs it")
            else:
                wanted = details["msg"].removeprefix("Input should be ")
                yield Problem(path=place, text=f"found {details['input']!r}, expected {wanted}")
