"""Differences between two configs, as lines for people, without secrets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from pydantic import SecretStr

from gateway.config.root import Config

AT_START = (
    *("adapters", "health", "logging", "network", "terminal", "tracing"),
    *(
        "store.folder",
        "store.url",
        "store.pool_size",
        "store.failover_seconds",
        "store.file_mb",
        "store.work_mb",
        "store.fork_turns",
    ),
    "store.keys",
)
"""Settings that are looked at once, when a process begins."""

_MISSING = object()


def changed_settings(old: Config, new: Config) -> tuple[list[str], list[str]]:
    """Names of changed settings, and of those for the next start."""
    before, after = dict(_leaves(old.model_dump())), dict(_leaves(new.model_dump()))
    names = sorted(
        name
        for name in before.keys() | after.keys()
        if before.get(name, _MISSING) != after.get(name, _MISSING)
    )
    return [name for name in names if not _waits(name)], list(filter(_waits, names))


def changes(old: Config, new: Config) -> list[str]:
    """Settings that were added (+), removed (-) or changed (~), by name."""
    before, after = dict(_leaves(old.model_dump())), dict(_leaves(new.model_dump()))
    lines: list[str] = []
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name, _MISSING), after.get(name, _MISSING)
        if was == now:
            continue
        later = "  (at the next start)" if _waits(name) else ""
        if was is _MISSING:
            lines.append(f"+ {name} = {_value_text(name, now)}{later}")
        elif now is _MISSING:
            lines.append(f"- {name} = {_value_text(name, was)}{later}")
        else:
            lines.append(f"~ {name} = {_value_text(name, was)} -> {_value_text(name, now)}{later}")
    return lines


def _waits(name: str) -> bool:
    return any(name == first or name.startswith(f"{first}.") for first in AT_START)


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    match value:
        case dict() if value:
            for key, inner in cast("Mapping[str, Any]", value).items():
                yield from _leaves(inner, f"{name}.{key}" if name else key)
        case [dict(), *_]:
            for number, inner in enumerate(cast("list[Any]", value)):
                yield from _leaves(inner, f"{name}[{number}]")
        case _:
            yield name, value


def _value_text(name: str, value: Any) -> str:
    # The tables of platforms are not typed here: any of their texts may be a token.
    if isinstance(value, SecretStr) or name.startswith("adapters."):
        return "(secret)"
    return json.dumps(value, ensure_ascii=False, default=str)
