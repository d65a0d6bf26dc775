"""Operations of the control socket, shared by server and client.

A row names a method of `Operator` or `Process`, which says what it takes and gives, and how values
that are not JSON by themselves are written as JSON. `calls.py` checks what a caller gives.
`events`, which goes on, and `hello` are in no row.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from gateway.base.metrics import BackupFigures, Owed
from gateway.client import Choice, Client, Receipt, SentFile, ThreadInfo
from gateway.errors import AccessDenied, GatewayClosed, GatewayError
from gateway.missed import MissedCounts
from gateway.runtime.status import PlatformStatus, Status
from gateway.store.nodes import Node, NodeRow
from gateway.store.records import Counts, MetTool, PairedPerson, PoolFigures
from gateway.values import value

M = TypeVar("M", bound=Callable[..., Coroutine[Any, Any, Any]])


RENAMED_ERRORS: Mapping[type[GatewayError], str] = {
    AccessDenied: "Refused",
    GatewayClosed: "Closing",
}
"""Errors whose name on the socket is not that of their class."""


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

    async def note_export(self, thread: str) -> None:
        """Add to the audit that the operator has exported a thread."""
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


@value
class JsonCodec:
    """Conversion of a type to JSON and back."""

    dump: Callable[[Any], Any]
    load: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Operation:
    """A method, with the JSON form of its parameters and result."""

    name: str
    method: Callable[..., Any]
    result: JsonCodec
    params: Mapping[str, Callable[[Any], Any]]

    async def serve(self, owner: Operator | Process, arguments: Mapping[str, Any]) -> Any:
        """Call it here, with checked arguments; the result is JSON."""
        return self.result.dump(await getattr(owner, self.name)(**arguments))

    async def call(self, caller: Caller, *args: Any, **kwargs: Any) -> Any:
        """Call it over a connection."""
        given = signature(self.method).bind(caller, *args, **kwargs)
        given.apply_defaults()
        _, *params = given.arguments.items()
        dumped = {name: self.params.get(name, _same)(param) for name, param in params}
        return self.result.load(await caller.call(self.name, dumped))


def _same(plain: Any) -> Any:
    return plain


PLAIN = JsonCodec(dump=_same, load=_same)


def _each(item: JsonCodec) -> JsonCodec:
    return JsonCodec(
        dump=lambda items: [item.dump(each) for each in items],
        load=lambda items: [item.load(each) for each in items],
    )


def _optional(item: JsonCodec) -> JsonCodec:
    return JsonCodec(
        dump=lambda found: None if found is None else item.dump(found),
        load=lambda found: None if found is None else item.load(found),
    )


THREAD = JsonCodec(
    dump=lambda thread: {field.name: getattr(thread, field.name) for field in fields(ThreadInfo)},
    load=lambda thread: ThreadInfo(**thread),
)
CHOICE = JsonCodec(dump=asdict, load=lambda choice: Choice(**choice))
RECEIPT = JsonCodec(dump=asdict, load=lambda receipt: Receipt(**receipt))
PERSON = JsonCodec(dump=asdict, load=lambda person: PairedPerson(**person))


def _node_row(row: dict[str, Any]) -> NodeRow:
    node: dict[str, Any] = row.pop("node")
    platforms, leases = tuple(node.pop("platforms")), tuple(row.pop("leases"))
    return NodeRow(**row, node=Node(**node, platforms=platforms), leases=leases)


STATUS = JsonCodec(
    dump=asdict,
    load=lambda status: replace(
        Status(**status),
        counts=status["counts"] and Counts(**status["counts"]),
        pool=status["pool"] and PoolFigures(**status["pool"]),
        missed=MissedCounts(**status["missed"]),
        platforms={name: PlatformStatus(**each) for name, each in status["platforms"].items()},
        nodes=[_node_row(each) for each in status["nodes"]],
        owed=[Owed(**each) for each in status["owed"]],
        backup=status["backup"] and BackupFigures(**status["backup"]),
    ),
)


OPERATIONS: dict[str, Operation] = {}
"""The rows of the table below, by their names."""


def _operation(method: M, result: JsonCodec = PLAIN, **params: Callable[[Any], Any]) -> M:
    """A row for the method; answers that method, called over its connection."""
    row = Operation(method.__name__, method, result, params)
    OPERATIONS[row.name] = row

    @wraps(method)
    def call(caller: Caller, *args: Any, **kwargs: Any) -> Any:
        return row.call(caller, *args, **kwargs)

    return cast("M", call)


def _files(files: Sequence[SentFile]) -> list[dict[str, Any]]:
    return [
        {
            "name": file.name,
            "media_type": file.media_type,
            "data": urlsafe_b64encode(file.data).decode(),
            "left_out": file.left_out,
        }
        for file in files
    ]


class Operations:
    """The table: the methods of `Operator` and `Process`, on a caller."""

    threads = _operation(Client.threads, _each(THREAD))
    thread = _operation(Client.thread, THREAD)
    newest_thread = _operation(Client.newest_thread, _optional(THREAD))
    create_thread = _operation(Client.create_thread, THREAD)
    rename_thread = _operation(Client.rename_thread)
    adopt_thread = _operation(Client.adopt_thread)
    delete_thread = _operation(Client.delete_thread)
    send = _operation(Client.send, RECEIPT, files=_files)
    withdraw = _operation(Client.withdraw)
    answer = _operation(Client.answer, answer=asdict)
    stop = _operation(Client.stop)
    agents = _operation(Client.agents)
    choices = _operation(Client.choices, _each(CHOICE))
    delete_person = _operation(Operator.delete_person)
    pair = _operation(Operator.pair, _optional(PERSON))
    unpair = _operation(Operator.unpair)
    accept_tool = _operation(Operator.accept_tool, met=asdict)
    reload = _operation(Process.reload)
    backup = _operation(Operator.backup, path=str)
    restore = _operation(Process.restore, path=str)
    note_export = _operation(Operator.note_export)
    status = _operation(Operator.status, STATUS)
