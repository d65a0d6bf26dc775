"""The client of an operator in another process than the gateway's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

from gateway import errors
from gateway.client import Choice, CommandInfo
from gateway.control.operations import RENAMED_ERRORS, Operator, Process, calls_operations
from gateway.control.socket_place import check_peer, path_of
from gateway.errors import GatewayClosed, GatewayError
from gateway.events import SessionEvent, load_event
from gateway.values import NO_ORIGIN, Origin

LONGEST_LINE = 1 << 26


@calls_operations
class SocketClient(Operator, Process):
    """The gateway for an operator in another process. Made by `connect`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._owner: int | None = None
        self.boot = ""
        """The id of the owner's run, another one each time it begins."""
        self._commands: list[CommandInfo] = []
        self._operator = ""
        self._origin = NO_ORIGIN
        self._watches = False

    @classmethod
    async def connect(cls, folder: Path) -> SocketClient:
        """A client of the gateway that owns the store in `folder`.

        Raises GatewayClosed if none does.
        """
        client = cls(folder)
        hello = await client.call("hello", {})
        client._owner = hello["pid"]
        client.boot = hello["boot"]
        client._commands = [_command_info(info) for info in hello["commands"]]
        client._operator = hello["operator"]
        client._origin = Origin(**hello.get("origin", {}))
        client._watches = hello.get("watches", False)
        return client

    async def events(self, thread: str, *, after: int = 0) -> AsyncGenerator[SessionEvent]:
        """Events of a thread after a seq, then new ones."""
        async with aclosing(self._lines("events", {"thread": thread, "after": after})) as lines:
            async for line in lines:
                if "event" not in line:
                    _result(line)
                    return
                yield load_event(json.dumps(line["event"]))

    def commands(self) -> list[CommandInfo]:
        """The commands that can be typed."""
        return self._commands

    @property
    def watches(self) -> bool:
        """True if the owner takes a changed config by itself."""
        return self._watches

    def operator(self) -> str:
        """The name of the person at the terminal, as others read it."""
        return self._operator

    def origin(self) -> Origin:
        """The config with which the gateway runs."""
        return self._origin

    def owner(self) -> int | None:
        """The pid of the gateway's process."""
        return self._owner

    async def call(self, operation: str, params: Mapping[str, Any]) -> Any:
        """The result, as JSON, over a connection of its own. Raises GatewayError."""
        async with aclosing(self._lines(operation, params)) as lines:
            async for line in lines:
                return _result(line)
        raise _gone(None)

    async def _lines(
        self, method: str, params: Mapping[str, Any]
    ) -> AsyncGenerator[dict[str, Any]]:
        try:
            path = path_of(self._folder)
            reader, writer = await asyncio.open_unix_connection(path, limit=LONGEST_LINE)
        except OSError as error:
            raise _gone(error) from error
        try:
            check_peer(self._folder, path, writer.get_extra_info("socket"))
            writer.write(json.dumps({"method": method, "params": params}).encode() + b"\n")
            while line := await reader.readline():
                yield json.loads(line)
        except OSError as error:
            raise _gone(error) from error
        finally:
            writer.close()


_RENAMED = {name: kind for kind, name in RENAMED_ERRORS.items()}


def _command_info(info: dict[str, Any]) -> CommandInfo:
    choices = tuple(Choice(**choice) for choice in info.pop("choices"))
    return CommandInfo(**info, choices=choices)


def _gone(error: OSError | None) -> GatewayClosed:
    match error:
        case None:
            return GatewayClosed("No gateway answers.")
        case FileNotFoundError() | ConnectionRefusedError():
            return GatewayClosed(
                "No gateway answers: Parley is not running. Start `parley serve` or `parley chat`."
            )
        case _:
            return GatewayClosed(f"No gateway answers: {error.strerror}.")


def _result(line: dict[str, Any]) -> Any:
    if (failed := line.get("error")) is None:
        return line.get("result")
    name = str(failed["kind"])
    kind = _RENAMED.get(name) or getattr(errors, name, None)
    if not (isinstance(kind, type) and issubclass(kind, GatewayError)):
        kind = GatewayError
    error = kind.__new__(kind)
    error.args = (str(failed["text"]),)
    raise error
