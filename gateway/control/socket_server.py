"""The owner's Unix socket: other processes use the gateway through it.

One connection is one call. The caller writes a line, `{"method": "send", "params": {...}}`, and
reads `{"result": ...}` or `{"error": {"kind": "NotFound", "text": "..."}}`. `events` is answered by
a line `{"event": {...}}` for each event before that; hanging up ends it. The socket lies in the
store's folder: whoever can open it is the operator.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import tempfile
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gateway.control.operations import OPERATIONS, RENAMED_ERRORS, Process
from gateway.control.socket_client import LONGEST_LINE, NAME
from gateway.errors import GatewayError
from gateway.events import dump_event

if TYPE_CHECKING:
    from gateway.gateway import Gateway

LOG = logging.getLogger("gateway")

LONGEST_PATH = 100
"""Bytes of a path that every system takes for a socket."""


@asynccontextmanager
async def serve_control(gateway: Gateway, process: Process | None = None) -> AsyncGenerator[None]:
    """Serve an entered gateway, and its `process`, on its store's socket.

    In the end the gateway is closed, so that callers see its turns come to rest; then it hangs up.
    """
    with tempfile.TemporaryDirectory(prefix="parley-") as short:
        link = gateway.store.folder / NAME
        link.unlink(missing_ok=True)
        path = link
        if len(os.fsencode(link)) > LONGEST_PATH:
            path = Path(short) / NAME
            link.symlink_to(path)
        service = _Service(gateway, process or FixedProcess())
        server = await asyncio.start_unix_server(service.serve, path, limit=LONGEST_LINE)
        path.chmod(0o600)
        try:
            yield
        finally:
            await gateway.close()
            server.close()
            await service.hang_up()
            path.unlink(missing_ok=True)
            link.unlink(missing_ok=True)


class FixedProcess:
    """A process that keeps its config and its store to the end."""

    async def reload(self, *, dry_run: bool) -> str:
        """Raises GatewayError."""
        raise GatewayError("This process reads its config only when it begins.")

    async def restore(self, path: Path) -> None:
        """Raises GatewayError."""
        raise GatewayError(f"Process {os.getpid()} uses the store. End it first.")


class _Service:
    """Answers the calls of all connections."""

    def __init__(self, gateway: Gateway, process: Process) -> None:
        self._process = process
        self._gateway = gateway
        self._connections: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the one call of a connection."""
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            call = json.loads(await reader.readline())
            await self._answer(call, reader, writer)
        except (OSError, ValueError) as error:
            LOG.debug("a control connection broke: %s", error)
        except asyncio.CancelledError:
            LOG.debug("a control connection was cut at the end")
        finally:
            self._connections.discard(task)
            writer.close()

    async def _answer(
        self, call: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            method, params = str(call["method"]), dict(call.get("params") or {})
            match method:
                case "events":
                    result = await self._events(params, reader, writer)
                case "hello":
                    result = self._hello()
                case _ if method in OPERATIONS:
                    owner = self._process if hasattr(Process, method) else self._gateway
                    result = await OPERATIONS[method].serve(owner, params)
                case _:
                    raise GatewayError(f"The gateway knows no method {method!r}.")  # noqa: TRY301
        except GatewayError as error:
            kind = RENAMED_ERRORS.get(type(error), type(error).__name__)
            answer = {"error": {"kind": kind, "text": str(error)}}
        except (KeyError, TypeError) as error:
            answer = {"error": {"kind": "GatewayError", "text": f"Not a call: {error}"}}
        else:
            answer = {"result": result}
        writer.write(json.dumps(answer).encode() + b"\n")
        await writer.drain()

    async def _events(
        self,
        params: dict[str, Any],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        failed: list[GatewayError] = []

        async def send() -> None:
            try:
                async with aclosing(self._gateway.events(**params)) as events:
                    async for event in events:
                        writer.write(b'{"event": ' + dump_event(event) + b"}\n")
                        await writer.drain()
            except GatewayError as error:
                failed.append(error)
            except ConnectionError:
                pass  # it hung up

        async def hung_up(sending: asyncio.Task[None]) -> None:
            await reader.read()
            sending.cancel()

        async with asyncio.TaskGroup() as group:
            sending = group.create_task(send(), name="control events")
            watching = group.create_task(hung_up(sending), name="control hang-up")
            sending.add_done_callback(lambda _: watching.cancel())
        if failed:
            raise failed[0]

    def _hello(self) -> dict[str, Any]:
        commands = [asdict(command) for command in self._gateway.commands()]
        return {"pid": os.getpid(), "boot": self._gateway.boot, "commands": commands}

    async def hang_up(self) -> None:
        """Cut the connections that are left."""
        left = list(self._connections)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
