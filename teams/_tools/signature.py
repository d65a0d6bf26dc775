"""A function's signature as a pydantic model of its arguments."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, MethodType
from typing import Annotated, Any, get_args, get_origin, get_type_hints
from weakref import WeakKeyDictionary

from pydantic import BaseModel, Field, create_model
from pydantic.fields import FieldInfo

from teams._base.workers import is_async

CANCELLATION_PARAMETER = "cancellation_token"

MOST_NAMES = 64
"""Names of tools of one function whose signatures are kept."""


class FunctionSignature:
    """Arguments and result of a function as a tool."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.arguments = arguments_model(name, function)
        self.returns = return_annotation(function)
        self.takes_token = takes_cancellation_token(function)
        self.awaits = is_async(unwrap(function))

    @functools.cached_property
    def schema(self) -> Mapping[str, Any]:
        """The JSON schema of the arguments."""
        return self.arguments.model_json_schema()


_Known = dict[tuple[str, bool], tuple[list[object], FunctionSignature]]
_known: WeakKeyDictionary[FunctionType, _Known] = WeakKeyDictionary()


def signature_of(name: str, function: Callable[..., Any]) -> FunctionSignature:
    """The signature, made once for a function of a module."""
    bound = isinstance(function, MethodType)
    plain = function.__func__ if bound else function
    # One made inside another is seldom seen again, and its types may keep it alive.
    if not isinstance(plain, FunctionType) or "<locals>" in plain.__qualname__:
        return FunctionSignature(name, function)
    names, parts = _known.setdefault(plain, {}), _parts(plain)
    before, known = names.get((name, bound), ((), None))
    if known is None or not _are_same(before, parts):
        if len(names) >= MOST_NAMES:
            names.clear()
        known = FunctionSignature(name, function)
        names[name, bound] = parts, known
    return known


def _parts(function: FunctionType) -> list[object]:
    """Parts of a function, and of one behind it, in its signature."""
    inner = inspect.unwrap(function)
    parts: list[object] = []
    for each in {function, inner} if isinstance(inner, FunctionType) else {function}:
        parts += [each.__code__, *(each.__defaults__ or ())]
        for named in (each.__annotations__, each.__kwdefaults__ or {}, each.__dict__):
            parts += [*named, *named.values()]
    return parts


def _are_same(some: Sequence[object], others: Sequence[object]) -> bool:
    return len(some) == len(others) and all(map(operator.is_, some, others))


def function_name(function: Callable[..., Any]) -> str:
    """The name of the function, also behind a partial or callable object."""
    plain = unwrap(function)
    return getattr(plain, "__name__", type(plain).__name__)


def unwrap(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function behind partials."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def takes_cancellation_token(function: Callable[..., Any]) -> bool:
    """True if the function takes the cancellation token of its call."""
    return CANCELLATION_PARAMETER in inspect.signature(function).parameters


def return_annotation(function: Callable[..., Any]) -> Any:
    """The declared return type; Any without one."""
    return type_hints(function).get("return", Any)


def arguments_model(name: str, function: Callable[..., Any]) -> type[BaseModel]:
    """A model with a field per parameter that no partial has bound.

    A parameter's description is the string in its `Annotated`, or its name. ValueError for
    parameters that a model cannot fill: without annotation, positional only, `*args`, `**kwargs`.
    """
    hints = type_hints(function)
    bound = _bound_by_partials(function)
    fields: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == CANCELLATION_PARAMETER or parameter.name in bound:
            continue
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ValueError(
                f"Tool {name!r}: parameter {str(parameter)!r} cannot be filled by name."
            )
        if parameter.name not in hints:
            raise ValueError(f"Tool {name!r}: parameter {parameter.name!r} has no annotation.")
        field_name = _field_name(parameter.name)
        fields[field_name] = _field(parameter, hints[parameter.name], field_name)
    return create_model(f"{name}args", **fields)


def arguments_of(args: BaseModel) -> dict[str, Any]:
    """The function's keyword arguments out of an instance of its model."""
    return {
        field.alias or name: getattr(args, name) for name, field in type(args).model_fields.items()
    }


def _field(parameter: inspect.Parameter, hint: Any, field_name: str) -> tuple[Any, Any]:
    description, given = _annotated(hint)
    options: dict[str, Any] = {}
    if given is None or given.description is None:
        options["description"] = description or parameter.name
    if field_name != parameter.name:
        options |= {"alias": parameter.name, "title": parameter.name.replace("_", " ").title()}
    default: Any = ... if parameter.default is parameter.empty else parameter.default
    return hint, Field(default, **options)


def _annotated(hint: Any) -> tuple[str | None, FieldInfo | None]:
    if get_origin(hint) is not Annotated:
        return None, None
    metadata = get_args(hint)[1:]
    return (
        next((entry for entry in metadata if isinstance(entry, str)), None),
        next((entry for entry in metadata if isinstance(entry, FieldInfo)), None),
    )


def _field_name(parameter_name: str) -> str:
    # Names that pydantic reserves (`schema`, `_hidden`) are an alias for one that it does not.
    reserved = parameter_name.startswith("_") or hasattr(BaseModel, parameter_name)
    return f"argument_{parameter_name.strip('_')}" if reserved else parameter_name


def _bound_by_partials(function: Callable[..., Any]) -> set[str]:
    bound: set[str] = set()
    while isinstance(function, functools.partial):
        bound |= function.keywords.keys()
        function = function.func
    return bound


def type_hints(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Annotations of the function, evaluated, also behind a partial or callable object."""
    plain = unwrap(function)
    if not inspect.isroutine(plain) and not inspect.isclass(plain):
        plain = type(plain).__call__
    return get_type_hints(plain, include_extras=True)
