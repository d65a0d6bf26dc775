"""Calls on the control socket, checked against the methods' signatures.

Nothing is converted: a number is no text, and a parameter more, less or out of range is an error
that says which.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic_core import to_json

from gateway.client import Client
from gateway.control.operations import OPERATIONS
from gateway.errors import GatewayError
from gateway.values import value

LARGEST_NUMBER = 2**63 - 1
"""The largest number that a store's column holds."""

SHOWN = 80
"""Characters of an unknown method's name in the error."""

M = TypeVar("M", bound=BaseModel)

STRICT = ConfigDict(strict=True, extra="forbid", val_json_bytes="base64")


@value
class Call:
    """A checked call: its method, and what the method is given."""

    method: str
    arguments: dict[str, Any]


class _Line(BaseModel):
    model_config = STRICT

    method: str
    params: dict[str, Any] = {}


def parse_call(line: bytes) -> Call:
    """The call of a line. Raises GatewayError if it is not valid."""
    call = _checked(_Line, line, "")
    method = _METHODS.get(call.method)
    if method is None:
        raise GatewayError(f"The gateway knows no method {call.method[:SHOWN]!r}.")
    params = _checked(_parameters(method), to_json(call.params), f" of {call.method!r}")
    return Call(method=call.method, arguments=dict(params))


async def hello() -> None:
    """A greeting: what the gateway is, without parameters."""


_METHODS: dict[str, Callable[..., Any]] = {
    "hello": hello,
    "events": Client.events,
    **{name: row.method for name, row in OPERATIONS.items()},
}


@cache
def _parameters(method: Callable[..., Any]) -> type[BaseModel]:
    """A type that takes what the method takes, but JSON."""
    hints = get_type_hints(method)
    fields: dict[str, Any] = {
        name: (_json_type(hints[name]), ... if given.default is Parameter.empty else given.default)
        for name, given in signature(method).parameters.items()
        if name != "self"
    }
    return create_model(method.__name__, __config__=STRICT, **fields)


def _json_type(hint: Any) -> Any:
    if hint is int:
        return Annotated[int, Field(ge=0, le=LARGEST_NUMBER)]
    return Annotated[Path, AfterValidator(_absolute)] if hint is Path else hint


def _absolute(path: Path) -> Path:
    if not path.is_absolute() or "\0" in str(path):
        raise ValueError("Input should be an absolute path")
    return path


def _checked(kind: type[M], text: bytes, where: str) -> M:
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"]))[:SHOWN]
        problem = f"{place}: {first['msg']}" if place else first["msg"]
        raise GatewayError(f"This is not a valid call{where}: {problem}.") from None
