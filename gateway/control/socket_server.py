"""The owner's Unix socket: a second process sees and does through it what people of the first can.

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
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gateway.client import Answer, ThreadInfo
from gateway.control.local_client import LocalClient
from gateway.control.socket_client import LONGEST_LINE, NAME
from gateway.errors import GatewayError
from gateway.events import dump_event
from gateway.store.records import Person

if TYPE_CHECKING:
    from gateway.gateway import Gateway

LOG = logging.getLogger("gateway")

LONGEST_PATH = 100
"""Bytes of a path that every system takes for a socket."""

Call = Callable[[dict[str, Any]], Awaitable[Any]]


@asynccontextmanager
async def serve_control(gateway: Gateway) -> AsyncGenerator[None]:
    """Serve an entered gateway on the socket in its store's folder.

    In the end the gateway is closed, so that callers see its turns come to rest; then it hangs up.
    """
    with tempfile.TemporaryDirectory(prefix="parley-") as short:
        link = gateway.store.folder / NAME
        link.unlink(missing_ok=True)
        path = link
        if len(os.fsencode(link)) > LONGEST_PATH:
            path = Path(short) / NAME
            link.symlink_to(path)
        service = _Service(gateway)
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


class _Service:
    """Answers the calls of all connections."""

    def __init__(self, gateway: Gateway) -> None:
        client = LocalClient(gateway)
        self._client = client
        self._connections: set[asyncio.Task[None]] = set()
        self._calls: dict[str, Call] = {
            "threads": lambda p: _each(client.threads(**p), _thread),
            "thread": lambda p: _one(client.thread(**p), _thread),
            "create_thread": lambda p: _one(client.create_thread(**p), _thread),
            "rename_thread": lambda p: client.rename_thread(**p),
            "delete_thread": lambda p: client.delete_thread(**p),
            "send": lambda p: _one(client.send(**p), asdict),
            "withdraw": lambda p: client.withdraw(**p),
            "answer": lambda p: client.answer(p["request"], Answer(**p["answer"])),
            "stop": lambda p: client.stop(**p),
            "delete_person": lambda p: gateway.delete_person(**p),
            "reload": lambda p: gateway.reload(**p),
            "backup": lambda p: gateway.backup(Path(p["path"])),
            "restore": lambda p: gateway.restore(Path(p["path"])),
            "pair": lambda p: _person(gateway.pair(**p)),
            "unpair": lambda p: gateway.unpair(**p),
            "hello": lambda _: _hello(client, gateway.boot),
            "agents": lambda p: client.agents(**p),
            "status": lambda _: _one(gateway.status(), asdict),
        }

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
            if method == "events":
                await self._events(params, reader, writer)
                result = None
            elif method in self._calls:
                result = await self._calls[method](params)
            else:
                raise GatewayError(f"The gateway knows no method {method!r}.")  # noqa: TRY301
        except GatewayError as error:
            answer = {"error": {"kind": type(error).__name__, "text": str(error)}}
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
                async with aclosing(self._client.events(**params)) as events:
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

    async def hang_up(self) -> None:
        """Cut the connections that are left."""
        left = list(self._connections)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


async def _one(work: Awaitable[Any], shape: Callable[[Any], Any]) -> Any:
    return shape(await work)


async def _each(work: Awaitable[list[Any]], shape: Callable[[Any], Any]) -> list[Any]:
    return [shape(item) for item in await work]


async def _person(work: Awaitable[Person | None]) -> Any:
    person = await work
    return None if person is None else asdict(person)


async def _hello(client: LocalClient, boot: str) -> dict[str, Any]:
    commands = [asdict(command) for command in client.commands()]
    return {"pid": os.getpid(), "boot": boot, "commands": commands}


def _thread(thread: ThreadInfo) -> dict[str, Any]:
    return {field.name: getattr(thread, field.name) for field in fields(ThreadInfo)}
