"""Meanings of settings and arguments, as annotations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

Table: TypeAlias = Literal[
    "models", "teams", "agents", "knowledge", "handoffs", "speakers", "targets", "calls"
]
"""`handoffs` may be those of the agent itself, `targets` and `calls` of any in its team."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """A meaning of a setting; None and "" mean nothing."""


@dataclass(frozen=True, slots=True)
class Named(Meaning):
    """A name of something else in the config."""

    table: Table


@dataclass(frozen=True, slots=True)
class ImportPath(Meaning):
    """An import path of somebody's function or class."""


@dataclass(frozen=True, slots=True)
class PythonOnly(Meaning):
    """A setting that no component file can hold."""


@dataclass(frozen=True, slots=True)
class Reaches(Meaning):
    """An address that it reaches, which [policies.http] has to allow."""


@dataclass(frozen=True, slots=True)
class InThread(Meaning):
    """A folder; the thread's own if not given."""


@dataclass(frozen=True, slots=True)
class Given(Meaning):
    """Another name of the setting's argument; None for no argument."""

    argument: str | None


@dataclass(frozen=True, slots=True)
class EmptyIsNone(Meaning):
    """A text whose empty value gives the argument None."""


def meanings_in(hint: Any, more: Iterable[object] = ()) -> Iterator[Meaning]:
    """The meanings in a type, those of `more` first."""
    for each in (*more, *getattr(hint, "__metadata__", ())):
        if isinstance(each, Meaning):
            yield each
    for inner in get_args(hint):
        yield from meanings_in(inner)
