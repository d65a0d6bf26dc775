"""Termination conditions made from an expression of config.toml.

A condition is a class of `teams.conditions` or a plugin's by its name, or one's own by its import
path. Its constructor declares it: `Named` arguments are looked up, an `ImportPath` is followed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from inspect import Parameter, signature
from typing import Any, NamedTuple, TypeAlias

from pydantic import ConfigDict, TypeAdapter, ValidationError

from gateway.base.describe import describe
from gateway.base.suggest import did_you_mean
from gateway.config.expressions import (
    AllOf,
    AnyOf,
    Argument,
    Condition,
    Expression,
    ExpressionError,
    Span,
    parse,
    texts_in,
)
from teams import conditions
from teams.base import AndTerminationCondition, OrTerminationCondition, TerminationCondition
from teams.core import Component
from teams.kinds import ImportPath, Load, Named, load_plugin, meanings_in, plugins_of

FAMILY = "condition"
"""Family of plugins' conditions."""

Name: TypeAlias = tuple[str, str]
"""The table of what an argument names, as `Named` has it, and the name."""

_ENDING = "Termination"
OURS: dict[str, type[TerminationCondition]] = {
    name.removesuffix(_ENDING): getattr(conditions, name)
    for name in sorted(conditions.__all__)
    if name.endswith(_ENDING)
}
_ANY_TYPE = ConfigDict(arbitrary_types_allowed=True)
_REST = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


class Taken(NamedTuple):
    """An argument that a condition takes."""

    is_needed: bool
    checker: TypeAdapter[Any]
    is_path: bool
    tables: Sequence[str]
    """Tables of what it names."""

    def names(self, value: object) -> Iterator[Name]:
        """The names in its value."""
        yield from ((table, text) for table in self.tables for text in texts_in(value))


def build_condition(text: str, load: Load) -> TerminationCondition:
    """A new condition from an expression. Raises ExpressionError."""
    return ConditionBuilder(text, load).build()


def names_of(condition: TerminationCondition) -> Iterator[Name]:
    """Names that a condition was made with, if it tells them."""
    with suppress(Exception):  # it may be somebody else's
        taken = arguments_of(type(condition))
        if isinstance(condition, Component) and any(each.tables for each in taken.values()):
            settings: Mapping[str, object] = condition.dump_component().config
            for name, each in taken.items():
                yield from each.names(settings.get(name))


class ConditionBuilder:
    """Maker of an expression's condition.

    `load` follows import paths; what it raises as ValueError is reported at their places.
    """

    def __init__(self, text: str, load: Load) -> None:
        self._text = text
        self._load = load
        self.names: list[Name] = []
        """Names in the arguments, once it is built."""

    def build(self) -> TerminationCondition:
        """The condition. Raises ExpressionError."""
        return self._built(parse(self._text))

    def _built(self, tree: Expression) -> TerminationCondition:
        match tree:
            case AnyOf(members):
                return OrTerminationCondition(*map(self._built, members))
            case AllOf(members):
                return AndTerminationCondition(*map(self._built, members))
            case Condition():
                return self._single(tree)

    def _single(self, condition: Condition) -> TerminationCondition:
        short = condition.name.removesuffix(_ENDING)
        at = Span(condition.span.start, condition.span.start + len(condition.name))
        try:
            kind = condition_kind(condition.name, self._load)
            taken = arguments_of(kind)
        except ValueError as error:
            raise self._error(str(error), at) from error
        arguments = self._bind(taken, condition)
        try:
            made = kind(**arguments)
        except (ValueError, TypeError) as error:
            raise self._error(f"{short}: {error}", condition.span) from error
        except (Exception, SystemExit) as error:  # it may be somebody else's
            raise self._error(f"{short}: {describe(error)}", condition.span) from error
        if not isinstance(made, TerminationCondition):
            found = type(made).__name__
            raise self._error(f"{short} made a {found}, expected a TerminationCondition", at)
        return made

    def _bind(self, taken: Mapping[str, Taken], condition: Condition) -> dict[str, Any]:
        names = iter(taken)
        bound: dict[str, Any] = {}
        for argument in condition.arguments:
            name = argument.name or next(names, "")
            if name not in taken:
                raise self._error(_unexpected(condition.name, name, taken), argument.span)
            if name in bound:
                raise self._error(f"{name!r} is given twice", argument.span)
            bound[name] = self._checked(argument, name, taken[name])
        for name, each in taken.items():
            if each.is_needed and name not in bound:
                raise self._error(f"{condition.name} needs {name!r}", condition.span)
        return bound

    def _checked(self, argument: Argument, name: str, taken: Taken) -> Any:
        value: Any = argument.value
        self.names += taken.names(value)
        try:
            if taken.is_path and isinstance(value, str):
                value = self._load(value)
            return taken.checker.validate_python(value, strict=not isinstance(value, list))
        except ValidationError as error:
            reason = error.errors()[0]["msg"]
            raise self._error(f"{name!r}: {reason}", argument.span) from error
        except ValueError as error:
            raise self._error(f"{name!r}: {error}", argument.span) from error

    def _error(self, problem: str, span: Span) -> ExpressionError:
        return ExpressionError(problem, self._text, span)


def condition_kind(name: str, load: Load) -> Any:
    """The class or function that makes such a condition. Raises ValueError."""
    short = name.removesuffix(_ENDING)
    if ":" in name:
        return load(name)
    if short in OURS:
        return OURS[short]
    if name in (plugins := plugins_of(FAMILY)):
        return load_plugin(plugins[name])
    known = [*OURS, *plugins]
    hint = did_you_mean(short, known) or f"known are {', '.join(known)}"
    raise ValueError(f"there is no condition {name!r}; {hint}")


@lru_cache(maxsize=64)
def arguments_of(kind: Any) -> Mapping[str, Taken]:
    """The arguments of a class or function. Raises ValueError."""
    try:
        found = signature(kind, eval_str=True).parameters.values()
        return {each.name: _taken(each) for each in found if each.kind not in _REST}
    except Exception as error:  # it is somebody else's
        said = describe(error).partition("\n")[0]
        raise ValueError(f"the arguments of {kind!r}: {said}") from error


def _taken(given: Parameter) -> Taken:
    hint = Any if given.annotation is given.empty else given.annotation
    checker: TypeAdapter[Any] = TypeAdapter(hint, config=_ANY_TYPE)
    meanings = [*meanings_in(hint)]
    tables = [each.table for each in meanings if isinstance(each, Named)]
    return Taken(given.default is given.empty, checker, ImportPath() in meanings, tables)


def _unexpected(condition: str, name: str, parameters: Mapping[str, object]) -> str:
    if not name:
        return f"{condition} takes {len(parameters) or 'no'} arguments"
    hint = did_you_mean(name, parameters) or f"it takes {', '.join(parameters) or 'none'}"
    return f"{condition} has no argument {name!r}; {hint}"
