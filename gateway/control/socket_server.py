"""The owner's Unix socket: other processes use the gateway through it.

One connection is one call, and every call is answered. The caller writes a line,
`{"method": "send", "params": {...}}`, and reads `{"result": ...}` or
`{"error": {"kind": "NotFound", "text": "..."}}`. `events` is answered by a line `{"event": {...}}`
for each event before that; hanging up ends it, and the thread's mode of approval, unless a chat
follows it again soon. The socket lies in the store's folder: whoever can open it is the operator.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager, closing, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gateway.base.describe import describe
from gateway.control.calls import Call, parse_call
from gateway.control.operations import OPERATIONS, RENAMED_ERRORS, Process
from gateway.control.socket_client import LONGEST_LINE
from gateway.control.socket_place import socket_place
from gateway.errors import GatewayClosed, GatewayError, log_incident
from gateway.events import ASK, dump_event
from gateway.store.units import grants

if TYPE_CHECKING:
    from gateway.gateway import Gateway

LOG = logging.getLogger("gateway")

CHUNK = 1 << 16

LINGER = 1.0
"""Seconds in which a caller may hang up after its answer."""

BREAK = 15.0
"""Seconds in which a chat follows its thread again, if it still runs: it tries every ten."""


@asynccontextmanager
async def serve_control(gateway: Gateway, process: Process | None = None) -> AsyncGenerator[None]:
    """Serve an entered gateway, and its `process`, on its store's socket.

    In the end the gateway is closed, so that callers see its turns come to rest; then it hangs up.
    """
    with socket_place(gateway.store.folder) as path:
        service = _Service(gateway, process or FixedProcess())
        server = await asyncio.start_unix_server(service.serve, path, limit=LONGEST_LINE)
        path.chmod(0o600)
        try:
            yield
        finally:
            await gateway.close()
            server.close()
            await service.hang_up()


class FixedProcess:
    """A process that keeps its store, and its config unless it watches."""

    def __init__(self, *, watches: bool = False) -> None:
        self._watches = watches

    @property
    def watches(self) -> bool:
        """True if a changed config is taken by itself."""
        return self._watches

    async def reload(self, *, dry_run: bool) -> str:
        """Raises GatewayError."""
        if self._watches:
            raise GatewayError("This process watches its config, and takes changes by itself.")
        raise GatewayError("This process reads its config only at its start. Restart it.")

    async def restore(self, path: Path) -> None:
        """Raises GatewayError."""
        raise GatewayError(f"Process {os.getpid()} uses the store. End it first.")


class _Service:
    """Answers the calls of all connections."""

    def __init__(self, gateway: Gateway, process: Process) -> None:
        self._process = process
        self._gateway = gateway
        self._connections: dict[asyncio.Task[None], str] = {}
        """Each with the thread that it follows, if any."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the one call of a connection."""
        task = asyncio.current_task()
        assert task is not None
        self._connections[task] = ""
        try:
            with closing(writer):
                await self._serve(reader, writer)
            if thread := self._connections[task]:
                self._connections[task] = ""
                await self._end_mode(thread)
        except asyncio.CancelledError:
            LOG.debug("a control connection was cut at the end")
        finally:
            del self._connections[task]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            answer = await self._answer(reader, writer)
            writer.write(json.dumps(answer).encode() + b"\n")
            await writer.drain()
            await _let_go(reader, writer)
        except OSError as error:
            LOG.debug("a control connection broke: %s", describe(error))

    async def _end_mode(self, thread: str) -> None:
        """End the mode of a thread that a killed chat had open."""
        await asyncio.sleep(BREAK)
        if thread in self._connections.values():
            return
        try:
            if (await self._gateway.store.run(grants.approval_mode, thread)).name:
                await self._gateway.client.send(thread, f"/mode {ASK}")
        except GatewayClosed as error:
            LOG.debug("a mode of approval ends at the next start: %s", describe(error))
        except Exception as error:
            log_incident(error, "a mode of approval could not be ended")

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> dict[str, Any]:
        try:
            return {"result": await self._result(parse_call(await _line(reader)), reader, writer)}
        except GatewayError as error:
            kind = RENAMED_ERRORS.get(type(error), type(error).__name__)
            return {"error": {"kind": kind, "text": str(error)}}
        except OSError:
            raise
        except Exception:
            incident = secrets.token_hex(3)
            LOG.exception("incident %s: a call on the control socket failed", incident)
            text = f"The call failed. The log has the details (incident {incident})."
            return {"error": {"kind": "GatewayError", "text": text}}

    async def _result(
        self, call: Call, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> Any:
        match call.method:
            case "events":
                task = asyncio.current_task()
                assert task is not None
                self._connections[task] = call.arguments["thread"]
                return await self._events(call.arguments, reader, writer)
            case "hello":
                return self._hello()
            case method:
                owner = self._process if hasattr(Process, method) else self._gateway.client
                return await OPERATIONS[method].serve(owner, call.arguments)

    async def _events(
        self,
        arguments: dict[str, Any],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        failed: list[GatewayError] = []

        async def send() -> None:
            try:
                async with aclosing(self._gateway.client.events(**arguments)) as events:
                    async for event in events:
                        writer.write(b'{"event": ' + dump_event(event) + b"}\n")
                        await writer.drain()
            except GatewayError as error:
                failed.append(error)
            except ConnectionError:
                pass  # it hung up

        async def hung_up(sending: asyncio.Task[None]) -> None:
            await _discard(reader)
            sending.cancel()

        async with asyncio.TaskGroup() as group:
            sending = group.create_task(send(), name="control events")
            watching = group.create_task(hung_up(sending), name="control hang-up")
            sending.add_done_callback(lambda _: watching.cancel())
        if failed:
            raise failed[0]

    def _hello(self) -> dict[str, Any]:
        commands = [asdict(command) for command in self._gateway.commands()]
        return {
            "pid": os.getpid(),
            "boot": self._gateway.boot,
            "commands": commands,
            "operator": self._gateway.client.operator(),
            "watches": self._process.watches,
            "origin": asdict(self._gateway.client.origin()),
        }

    async def hang_up(self) -> None:
        """Cut the connections that are left."""
        left = list(self._connections)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


async def _line(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError:
        raise GatewayError(
            "This is not a valid call: it is cut off. A call is a line with its end."
        ) from None
    except asyncio.LimitOverrunError:
        await _discard(reader, upto=b"\n")
        raise GatewayError(
            f"This is not a valid call: its line is longer than {LONGEST_LINE} bytes."
        ) from None


async def _discard(reader: asyncio.StreamReader, *, upto: bytes | None = None) -> None:
    """Read on without keeping anything, to the end or to a line's."""
    while chunk := await reader.read(CHUNK):
        if upto is not None and upto in chunk:
            return


async def _let_go(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """End an answered connection without losing its answer.

    Closing at once would reset the connection if the caller still writes.
    """
    writer.write_eof()
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER):
            await _discard(reader)
