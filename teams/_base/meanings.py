"""Meanings of settings and arguments, as annotations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, get_args

Table: TypeAlias = Literal[
    "models", "teams", "agents", "knowledge", "handoffs", "speakers", "targets", "calls"
]
"""`handoffs` may be those of the agent itself, `targets` and `calls` of any in its team."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """A meaning of a setting; None and "" mean nothing."""

    is_precise: ClassVar[bool] = False
    """True if a mistake stands at the setting, also in an item of a list."""


@dataclass(frozen=True, slots=True)
class Named(Meaning):
    """A name of something else in the config."""

    table: Table


@dataclass(frozen=True, slots=True)
class ImportPath(Meaning):
    """An import path of somebody's function or class."""


@dataclass(frozen=True, slots=True)
class TextOrPath(Meaning):
    """A text, or the import path of a function in its place."""

    is_precise: ClassVar = True


@dataclass(frozen=True, slots=True)
class Chatter(Meaning):
    """A name of an agent of the same chat."""

    is_precise: ClassVar = True


@dataclass(frozen=True, slots=True)
class PythonOnly(Meaning):
    """A setting that no component file can hold."""


@dataclass(frozen=True, slots=True)
class Reaches(Meaning):
    """An address that it reaches, which [policies.http] has to allow."""

    is_precise: ClassVar = True


@dataclass(frozen=True, slots=True)
class Folder(Meaning):
    """A folder that has to be there."""

    is_precise: ClassVar = True


@dataclass(frozen=True, slots=True)
class InThread(Meaning):
    """A folder; the thread's own if not given."""


@dataclass(frozen=True, slots=True)
class Given(Meaning):
    """Another name of the setting's argument; None for no argument."""

    argument: str | None

    form: Callable[[Any], Any] | None = None
    """Makes the argument of the value."""


@dataclass(frozen=True, slots=True)
class Variable(Meaning):
    """A variable that is read where the setting is not given."""

    name: str


@dataclass(frozen=True, slots=True)
class Always(Meaning):
    """A setting whose argument is given, though it is empty."""


@dataclass(frozen=True, slots=True)
class EmptyIsNone(Meaning):
    """A text whose empty value gives the argument None."""


def is_import_path(text: object) -> bool:
    """True for an import path, "package.module:name", and nothing else."""
    module, _, name = text.partition(":") if isinstance(text, str) else ("", "", "")
    return all(part.isidentifier() for part in [*module.split("."), *name.split(".")])


def meanings_in(hint: Any, more: Iterable[object] = ()) -> Iterator[Meaning]:
    """The meanings in a type, those of `more` first."""
    for each in (*more, *getattr(hint, "__metadata__", ())):
        if isinstance(each, Meaning):
            yield each
    for inner in get_args(hint):
        yield from meanings_in(inner)
