"""Termination conditions made from an expression of config.toml."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

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
)
from teams import conditions
from teams.base import AndTerminationCondition, OrTerminationCondition, TerminationCondition

_ENDING = "Termination"
_CONDITIONS: dict[str, type[TerminationCondition]] = {
    name.removesuffix(_ENDING): getattr(conditions, name)
    for name in sorted(conditions.__all__)
    if name.endswith(_ENDING)
}
_ANY_TYPE = ConfigDict(arbitrary_types_allowed=True)


def build_condition(text: str, load: Callable[[str], Any]) -> TerminationCondition:
    """A new condition from an expression. Raises ExpressionError.

    `load` turns the import path in `Functional('package.module:function')` into the function; what
    it raises as ValueError is reported at the argument.
    """
    return _Builder(text, load).build(parse(text))


def named_in(text: str, parameters: Collection[str]) -> Iterator[str]:
    """Texts that a sound expression gives for these parameters."""
    left: list[Expression] = [parse(text)]
    while left:
        match left.pop():
            case AllOf(members) | AnyOf(members):
                left += members
            case Condition(name=name, arguments=arguments):
                known, _ = _constructor(_CONDITIONS[name.removesuffix(_ENDING)])
                for argument, place in zip(arguments, known, strict=False):
                    if (argument.name or place) in parameters:
                        value = argument.value
                        names = value if isinstance(value, list) else [value]
                        yield from (each for each in names if isinstance(each, str))


class _Builder:
    def __init__(self, text: str, load: Callable[[str], Any]) -> None:
        self._text = text
        self._load = load

    def build(self, tree: Expression) -> TerminationCondition:
        match tree:
            case AnyOf(members):
                return OrTerminationCondition(*map(self.build, members))
            case AllOf(members):
                return AndTerminationCondition(*map(self.build, members))
            case Condition():
                return self._single(tree)

    def _single(self, condition: Condition) -> TerminationCondition:
        short = condition.name.removesuffix("Termination")
        if not (known := _CONDITIONS.get(short)):
            hint = did_you_mean(short, _CONDITIONS) or f"known are {', '.join(_CONDITIONS)}"
            at = Span(condition.span.start, condition.span.start + len(condition.name))
            raise self._error(f"there is no condition {condition.name!r}; {hint}", at)
        arguments = self._bind(known, condition)
        try:
            return known(**arguments)
        except (ValueError, TypeError) as error:
            raise self._error(f"{short}: {error}", condition.span) from error

    def _bind(self, known: type[TerminationCondition], condition: Condition) -> dict[str, Any]:
        parameters, hints = _constructor(known)
        names = iter(parameters)
        bound: dict[str, Any] = {}
        for argument in condition.arguments:
            name = argument.name or next(names, "")
            if name not in parameters:
                raise self._error(_unexpected(condition.name, name, parameters), argument.span)
            if name in bound:
                raise self._error(f"{name!r} is given twice", argument.span)
            bound[name] = self._checked(argument, name, hints.get(name, Any))
        for name, parameter in parameters.items():
            if parameter.default is parameter.empty and name not in bound:
                raise self._error(f"{condition.name} needs {name!r}", condition.span)
        return bound

    def _checked(self, argument: Argument, name: str, hint: Any) -> Any:
        value = argument.value
        try:
            if name == "func" and isinstance(value, str):
                value = self._load(value)
            return _adapter(hint).validate_python(value, strict=not isinstance(value, list))
        except ValidationError as error:
            reason = error.errors()[0]["msg"]
            raise self._error(f"{name!r}: {reason}", argument.span) from error
        except ValueError as error:
            raise self._error(f"{name!r}: {error}", argument.span) from error

    def _error(self, problem: str, span: Span) -> ExpressionError:
        return ExpressionError(problem, self._text, span)


@lru_cache(maxsize=64)
def _constructor(
    known: type[TerminationCondition],
) -> tuple[Mapping[str, inspect.Parameter], Mapping[str, Any]]:
    """Parameters of the class, and their types."""
    return inspect.signature(known).parameters, typing.get_type_hints(known.__init__)


@lru_cache(maxsize=64)
def _adapter(hint: Any) -> TypeAdapter[Any]:
    return TypeAdapter(hint, config=_ANY_TYPE)


def _unexpected(condition: str, name: str, parameters: Mapping[str, object]) -> str:
    if not name:
        return f"{condition} takes {len(parameters) or 'no'} arguments"
    hint = did_you_mean(name, parameters) or f"it takes {', '.join(parameters) or 'none'}"
    return f"{condition} has no argument {name!r}; {hint}"
