"""Operations of the control socket: the methods of `Operator` and `Process`.

A method's signature says all of it: what it takes and gives is written as JSON by its types, and
what a caller gives is checked against them. `events`, which goes on, and `hello` are apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from inspect import Parameter, iscoroutinefunction, signature
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    create_model,
)

from gateway.client import Client
from gateway.errors import AccessDenied, GatewayClosed, GatewayError
from gateway.runtime.status import Status
from gateway.store.records import MetTool, PairedPerson

T = TypeVar("T", bound=type)

ANOTHER_VERSION = (
    "The process that owns the store answers as another version of Parley does. Restart it."
)
LARGEST_NUMBER = 2**63 - 1
"""The largest number that a store's column holds."""

RENAMED_ERRORS: Mapping[type[GatewayError], str] = {
    AccessDenied: "Refused",
    GatewayClosed: "Closing",
}
"""Errors whose name on the socket is not that of their class."""

STRICT = ConfigDict(strict=True, extra="forbid", val_json_bytes="base64", ser_json_bytes="base64")


class Operator(Client, Protocol):
    """The gateway as its operator sees it, local or remote."""

    async def delete_person(self, person: str) -> list[str]:
        """Remove everything about a person, their threads included.

        The ids of these threads.
        """
        ...

    async def pair(self, code: str) -> PairedPerson | None:
        """Let in the person who was told this code.

        None if it is wrong, used or expired.
        """
        ...

    async def unpair(self, person: str) -> bool:
        """Shut out again somebody who was let in with a code.

        False if they were not let in.
        """
        ...

    async def accept_tool(self, met: MetTool) -> bool:
        """Accept a tool's text; False if it is accepted already."""
        ...

    async def backup(self, path: Path) -> None:
        """Write a copy of the store to a file.

        Raises StoreUnwritable or StoreFull.
        """
        ...

    async def status(self) -> Status:
        """Figures for the operator."""
        ...


class Process(Protocol):
    """The process that owns a gateway, for its operator."""

    @property
    def watches(self) -> bool:
        """True if a changed config is taken by itself."""
        ...

    async def reload(self, *, dry_run: bool) -> str:
        """Reload the config, or only say what would change. Raises GatewayError."""
        ...

    async def restore(self, path: Path) -> None:
        """Replace the store by a backup; the gateway restarts for it.

        Raises NotFound, StoreError or StoreFull for a backup that can't be used, and GatewayError
        if the owner does not begin anew by itself.
        """
        ...


class Caller(Protocol):
    """A connection over which operations are called."""

    async def call(self, operation: str, params: Mapping[str, Any]) -> Any:
        """The result, as JSON. Raises GatewayError."""
        ...


class Operation:
    """A method, with the JSON form of its parameters and result."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method
        self.name = method.__name__

    @cached_property
    def parameters(self) -> type[BaseModel]:
        """A type that takes what the method takes, as JSON."""
        hints = get_type_hints(self.method)
        fields: dict[str, Any] = {
            name: (_checked(hints[name]), ... if each.default is Parameter.empty else each.default)
            for name, each in signature(self.method).parameters.items()
            if name != "self"
        }
        return create_model(self.name, __config__=STRICT, **fields)

    @cached_property
    def _result(self) -> TypeAdapter[Any]:
        return TypeAdapter(get_type_hints(self.method)["return"])

    async def serve(self, owner: Operator | Process, arguments: Mapping[str, Any]) -> Any:
        """Call it here, with checked arguments; the result is JSON."""
        found = await getattr(owner, self.name)(**arguments)
        return self._result.dump_python(found, mode="json")

    async def call(self, caller: Caller, *args: Any, **kwargs: Any) -> Any:
        """Call it over a connection."""
        given = signature(self.method).bind(caller, *args, **kwargs)
        given.apply_defaults()
        _, *params = given.arguments.items()
        dumped = self.parameters.model_construct(**dict(params)).model_dump(mode="json")
        found = await caller.call(self.name, dumped)
        try:
            return self._result.validate_python(found)
        except ValidationError as error:
            raise GatewayError(ANOTHER_VERSION) from error


def _checked(hint: Any) -> Any:
    if hint is int:
        return Annotated[int, Field(ge=0, le=LARGEST_NUMBER)]
    return Annotated[Path, AfterValidator(_absolute)] if hint is Path else hint


def _absolute(path: Path) -> Path:
    if not path.is_absolute() or "\0" in str(path):
        raise ValueError("Input should be an absolute path")
    return path


OPERATIONS = {
    name: Operation(method)
    for protocol in (Client, Operator, Process)
    for name, method in vars(protocol).items()
    if iscoroutinefunction(method)
}
"""All of them, by their names."""


def calls_operations(kind: T) -> T:
    """Have a Caller's methods of these names call the operations."""
    for name, operation in OPERATIONS.items():
        setattr(kind, name, _call_of(operation))
    return kind


def _call_of(operation: Operation) -> Callable[..., Any]:
    async def call(caller: Caller, *args: Any, **kwargs: Any) -> Any:
        return await operation.call(caller, *args, **kwargs)

    return call
