"""A check of [models]: providers, their options, and fallbacks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ValidationError

from gateway.base.imports import ImportPathError
from gateway.base.suggest import did_you_mean
from gateway.config.models import MODELS
from gateway.config.problems import Problem
from gateway.config.toml import KeyPath
from gateway.references.agents import AgentChecker, Roster
from gateway.references.lookup import Lookup, check_name
from teams.kinds import KINDS, ModelKind, Named, is_others, uses_of

NOBODY = Roster(agents=(), members=(), outside=(), speakers=())


class ModelChecker:
    """Finds what is wrong with the models of a config."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._models = lookup.config.models
        self._parts = AgentChecker(lookup, NOBODY)

    def check(self) -> Iterator[Problem]:
        """Check every model."""
        for name, model in self._models.items():
            path: KeyPath = ("models", name)
            yield from self._parts.part(path, name, model)
            if not model.kind.name:
                yield from self._provider((*path, "provider"), model.provider)
            elif not is_others(model):
                yield from self._settings(path, model)
        yield from self._circles()

    def _provider(self, path: KeyPath, name: str) -> Iterator[Problem]:
        """A mistake in what is no kind."""
        if ":" not in name and name not in MODELS.plugins:
            yield from check_name(path, name, (*KINDS["model"], *MODELS.plugins), "a provider")
            return
        try:
            if MODELS.others(name, self._lookup.imports.load) is ModelKind:
                self._lookup.imports.load_callable(name)
        except ValueError as error:
            yield Problem(path=path, text=str(error))

    def _settings(self, path: KeyPath, model: ModelKind) -> Iterator[Problem]:
        """Settings that the provider's client does not take, or lacks."""
        if not (model.is_local or model.model or self._lookup.written(*path, "model")):
            said = 'is missing: name of the model at the provider, such as "gpt-4o"'
            yield Problem(path=(*path, "model"), text=said)
        takes = {"api_key": bool(model.argument("api_key")), "max_retries": model.repeats}
        for key in (key for key, is_taken in takes.items() if not is_taken):
            if getattr(model, key) is not None:
                instead = "; retry does it for any" if key == "max_retries" else ""
                said = f"the provider {model.provider!r} takes none{instead}"
                yield Problem(path=(*path, key), text=said)
        address = model.argument("base_url") or ""
        given = {"model": "any", **model.usual, **model.options}
        if model.base_url:
            given[address] = model.base_url
            if not model.usual_address and not model.base_url.startswith(("http://", "https://")):
                said = "expected an address that begins with http:// or https://"
                yield Problem(path=(*path, "base_url"), text=said)
        elif model.example and address not in given:
            said = f'is missing: address of the resource, such as "{model.example}"'
            yield Problem(path=(*path, "base_url"), text=said)
            given[address] = model.example
        if model.needs_key and not self._has_key(path):
            yield Problem(path=(*path, "api_key"), text="is missing: the key of the resource")
        try:
            client = self._lookup.imports.load_callable(model.kind.made_by)
        except ImportPathError as error:
            yield Problem(path=(*path, "provider"), text=str(error))
            return
        if (schema := getattr(client, "component_config_schema", None)) is not None:
            yield from _options((*path, "options"), given, schema)

    def _has_key(self, path: KeyPath) -> bool:
        return any(self._lookup.written(*path, f"api_key{way}") for way in ("", "_env", "_file"))

    def _circles(self) -> Iterator[Problem]:
        """Models that lead back to themselves, each circle once."""
        done: set[str] = set()
        for name in self._models:
            yield from self._visit(name, [], done)

    def _visit(self, name: str, before: list[str], done: set[str]) -> Iterator[Problem]:
        if name in done or name not in self._models:
            return
        way = [*before, name]
        for use in uses_of(self._models[name], ("models", name)):
            if use.meaning != Named("models"):
                continue
            if (other := use.value) in way:
                circle = " -> ".join([*way[way.index(other) :], other])
                said = f"found {circle}, expected a model that does not lead back"
                yield Problem(path=use.place, text=said)
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
