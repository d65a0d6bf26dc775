"""Calls on the control socket, checked against the operations' signatures.

Nothing is converted: a number is no text, and a parameter more, less or out of range is an error
that says which.
"""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import to_json

from gateway.client import Client
from gateway.control.operations import OPERATIONS, STRICT, Operation
from gateway.errors import GatewayError
from gateway.values import value

SHOWN = 80
"""Characters of an unknown method's name in the error."""

M = TypeVar("M", bound=BaseModel)


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
    params = _checked(method.parameters, to_json(call.params), f" of {call.method!r}")
    return Call(method=call.method, arguments=dict(params))


async def hello() -> None:
    """A greeting: what the gateway is, without parameters."""


_METHODS = {each.name: each for each in (Operation(hello), Operation(Client.events))} | OPERATIONS


def _checked(kind: type[M], text: bytes, where: str) -> M:
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"]))[:SHOWN]
        problem = f"{place}: {first['msg']}" if place else first["msg"]
        raise GatewayError(f"This is not a valid call{where}: {problem}.") from None
