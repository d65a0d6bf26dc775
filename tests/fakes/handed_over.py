"""A store that records its writer thread's work, and inspects it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cached_property, partial
from inspect import getclosurevars
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, TypeVar

from pydantic import BaseModel

from gateway.store.connection import Unit
from tests.fakes.tested_store import ChangedStore

T = TypeVar("T")

_PLAIN = (str, bytes, int, float, bool, type, type(None), Enum, ModuleType, BuiltinFunctionType)


class HandingStore(ChangedStore):
    """Keeps each unit of work with the time of its hand-over."""

    @cached_property
    def handed(self) -> list[Unit[Any]]:
        """Units in the order of their hand-over."""
        return []

    async def write(
        self,
        unit: Callable[[Any], T],
        then: Callable[[T], None] | None = None,
        *,
        alone: bool = False,
    ) -> T:
        """Run a unit of work."""
        self.handed.append(unit)
        return await super().write(unit, then, alone=alone)

    @property
    def units(self) -> set[str]:
        """Names of the units of work or operations that were handed over."""
        return set(map(_named, self.handed))


def _named(unit: Callable[..., Any]) -> str:
    within = getclosurevars(unit).nonlocals.get("unit", unit)
    return within.__qualname__.partition(".<locals>")[0].rpartition(".")[2]


def live_objects(handed: Any, path: str = "") -> list[str]:
    """Paths to everything reachable that is no value or plain function.

    A container that can be changed is live.
    """
    return [*_live(handed, path or getattr(handed, "__qualname__", "it"), set())]


def _live(one: Any, path: str, seen: set[int]) -> Iterator[str]:
    if isinstance(one, _PLAIN) or id(one) in seen:
        return
    seen.add(id(one))
    reached = _reached(one, path.rpartition(".")[2])
    if reached is None:
        yield f"{path}: {type(one).__module__}.{type(one).__qualname__}"
        return
    for name, each in reached:
        yield from _live(each, f"{path}.{name}", seen)


def _reached(one: Any, name: str) -> list[tuple[str, Any]] | None:
    """Everything that a value or a function leads to; None for others."""
    found: list[tuple[str, Any]] | None = None
    match one:
        case FunctionType():
            found = _of_function(one)
        case MethodType():
            found = [("self", one.__self__)]
        case partial():
            found = [("func", one.func), *_items(one.args), *one.keywords.items()]
        case tuple() | frozenset():
            found = _items(one)
        case dict() if name == "kwargs":  # made for this call, which nobody else sees
            found = [*_items(one), *_items(one.values())]
        case BaseModel() if one.model_config.get("frozen"):
            found = [(each, _given_away(getattr(one, each))) for each in type(one).model_fields]
        case _ if is_dataclass(one) and _is_value(type(one)):
            found = [(each.name, getattr(one, each.name)) for each in fields(one)]
        case _:
            pass
    return found


def _given_away(one: Any) -> Any:
    """A frozen config's lists as tuples: only its parser made them."""
    return tuple(one) if isinstance(one, list) else one


def _of_function(function: FunctionType) -> list[tuple[str, Any]]:
    names = function.__code__.co_freevars
    cells = zip(names, function.__closure__ or (), strict=True)
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    return [*((name, cell.cell_contents) for name, cell in cells), *_items(defaults)]


def _items(many: Any) -> list[tuple[str, Any]]:
    return [(str(n), each) for n, each in enumerate(many)]


def _is_value(kind: type) -> bool:
    """True for an unchangeable dataclass: frozen, or made by `value`."""
    made = kind.__dataclass_params__  # type: ignore[attr-defined]
    return made.frozen or made.unsafe_hash
