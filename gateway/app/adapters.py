"""Adapters' tables of a config, checked by the adapters themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import create_model

from gateway.adapter import Adapter, SettingsCheck
from gateway.app.find_adapters import AdapterError, find_adapter
from gateway.config.problems import Problem
from gateway.config.table import Section
from gateway.config.toml import KeyPath
from gateway.config.validation import validate
from gateway.values import value


@value
class AdapterSettings:
    """A table of [adapters], and what makes an adapter of it."""

    name: str
    config: Section
    build: Callable[[Any], Adapter]
    check: SettingsCheck | None = None

    def adapter(self) -> Adapter:
        """A new adapter with these settings."""
        return self.build(self.config)


@value
class ReadAdapters:
    """Valid tables of [adapters], the types of all, and mistakes."""

    settings: Mapping[str, AdapterSettings]
    kinds: Mapping[str, type[Section]]
    problems: list[Problem]


def read_adapters(
    tables: Mapping[str, dict[str, Any]],
    written: Mapping[str, Any],
    folder: Path,
    known: Iterable[KeyPath] = (),
) -> ReadAdapters:
    """The settings of every platform, and what is wrong with them.

    `written` is [adapters] as it stands in the file; places in `known` were reported before.
    """
    problems: list[Problem] = []
    found: dict[str, Any] = {}
    for name in tables:
        try:
            found[name] = _resolve(name)
        except AdapterError as error:
            problems.append(Problem(path=("adapters", name), text=str(error)))
    if not found:
        return ReadAdapters(settings={}, kinds={}, problems=problems)
    fields: dict[str, Any] = {name: (module.Config | None, None) for name, module in found.items()}
    whole = create_model("Adapters", __base__=Section, **fields)
    data = {name: tables[name] for name in found}
    checked = validate(whole, data, written=dict(written), folder=folder, known=known)
    problems += [
        Problem(path=("adapters", *each.path), text=each.text) for each in checked.problems
    ]
    settings = {
        name: AdapterSettings(
            name=name, config=config, build=module.build, check=getattr(module, "check", None)
        )
        for name, module in found.items()
        if (config := getattr(checked.value, name)) is not None
    }
    kinds = {name: module.Config for name, module in found.items()}
    return ReadAdapters(settings=settings, kinds=kinds, problems=problems)


def _resolve(name: str) -> Any:
    """The adapter's module, which has a Config and a build. Raises AdapterError."""
    module = find_adapter(name)
    kind: Any = getattr(module, "Config", None)
    is_table = isinstance(kind, type) and issubclass(kind, Section)
    if not (is_table and callable(getattr(module, "build", None))):
        raise AdapterError(f"{name!r} is not a chat platform that Parley can serve")
    return module
