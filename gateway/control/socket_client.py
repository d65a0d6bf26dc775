"""The client of an operator in another process than the gateway's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gateway import errors
from gateway.client import Answer, CommandInfo, Receipt, ThreadInfo
from gateway.errors import Closing, GatewayError
from gateway.events import SessionEvent, load_event
from gateway.store.records import Person

NAME = "control.sock"

LONGEST_LINE = 1 << 26


class SocketClient:
    """The Client of an operator in another process than the gateway's. Made by `connect`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._owner: int | None = None
        self.boot = ""
        """The id of the owner's run, another one each time it begins."""
        self._commands: list[CommandInfo] = []

    @classmethod
    async def connect(cls, folder: Path) -> SocketClient:
        """A client of the gateway that owns the store in `folder`. Raises Closing if none does."""
        path = folder / NAME
        try:
            if path.is_symlink():
                path = path.readlink()
        except OSError as error:
            raise _gone(error) from error
        client = cls(path)
        hello = await client._call("hello")
        client._owner = hello["pid"]
        client.boot = hello["boot"]
        client._commands = [CommandInfo(**info) for info in hello["commands"]]
        return client

    async def threads(
        self, *, search: str = "", limit: int = 50, offset: int = 0
    ) -> list[ThreadInfo]:
        """Threads, the last used first; `search` looks into titles and texts."""
        found = await self._call("threads", search=search, limit=limit, offset=offset)
        return [ThreadInfo(**thread) for thread in found]

    async def thread(self, thread: str) -> ThreadInfo:
        """One thread. Raises NotFound."""
        return ThreadInfo(**await self._call("thread", thread=thread))

    async def create_thread(self, *, team: str = "", title: str = "") -> ThreadInfo:
        """A fresh thread, with the default team unless one is named."""
        return ThreadInfo(**await self._call("create_thread", team=team, title=title))

    async def rename_thread(self, thread: str, title: str) -> None:
        """Give a thread another title."""
        await self._call("rename_thread", thread=thread, title=title)

    async def delete_thread(self, thread: str) -> None:
        """Remove a thread with everything it has."""
        await self._call("delete_thread", thread=thread)

    async def send(self, thread: str, text: str) -> Receipt:
        """Say something in a thread, or type a command."""
        return Receipt(**await self._call("send", thread=thread, text=text))

    async def withdraw(self, thread: str, inbox: int) -> str | None:
        """Take a waiting message back and return its text; None if it no longer waits."""
        return await self._call("withdraw", thread=thread, inbox=inbox)

    async def answer(self, request: str, answer: Answer) -> str | None:
        """Answer a request. None if the answer was taken, otherwise a sentence why not."""
        return await self._call("answer", request=request, answer=asdict(answer))

    async def stop(self, thread: str) -> bool:
        """Stop the thread's turn. False if there was none."""
        return await self._call("stop", thread=thread)

    async def events(self, thread: str, *, after: int = 0) -> AsyncGenerator[SessionEvent]:
        """What happened in a thread after a seq, then what happens, until the gateway ends."""
        async with aclosing(self._lines("events", {"thread": thread, "after": after})) as lines:
            async for line in lines:
                if "event" not in line:
                    _result(line)
                    return
                yield load_event(json.dumps(line["event"]))

    def commands(self) -> list[CommandInfo]:
        """What can be typed."""
        return self._commands

    async def agents(self, team: str = "") -> dict[str, str]:
        """A team's agents with their models, the default team's unless named."""
        return await self._call("agents", team=team)

    def owner(self) -> int | None:
        """The pid of the gateway's process."""
        return self._owner

    async def delete_person(self, person: str) -> list[str]:
        """Remove whatever is known of a person, with all threads they had a part in; their ids."""
        return await self._call("delete_person", person=person)

    async def reload(self, *, dry_run: bool) -> str:
        """Let the owner read its config anew, or only say what that would change."""
        return await self._call("reload", dry_run=dry_run)

    async def backup(self, path: Path) -> None:
        """Write a copy of the store to a file. Raises StoreUnwritable or StoreFull."""
        await self._call("backup", path=str(path))

    async def restore(self, path: Path) -> None:
        """Have the owner put a backup in the place of its store, for which it begins anew.

        Raises NotFound, StoreError or StoreFull for a backup that can't be used, and GatewayError
        if the owner does not begin anew by itself.
        """
        await self._call("restore", path=str(path))

    async def pair(self, code: str) -> Person | None:
        """Let in the person who was told this code; None if it is wrong, used or late."""
        found = await self._call("pair", code=code)
        return None if found is None else Person(**found)

    async def unpair(self, person: str) -> bool:
        """Shut somebody out again who was let in with a code; False if they were not."""
        return await self._call("unpair", person=person)

    async def status(self) -> dict[str, Any]:
        """The owner's figures, see `gateway.gateway.Status`."""
        return await self._call("status")

    async def aclose(self) -> None:
        """Nothing to close: each call has a connection of its own."""

    async def _call(self, method: str, **params: Any) -> Any:
        async with aclosing(self._lines(method, params)) as lines:
            async for line in lines:
                return _result(line)
        raise _gone(None)

    async def _lines(self, method: str, params: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        try:
            reader, writer = await asyncio.open_unix_connection(self._path, limit=LONGEST_LINE)
        except OSError as error:
            raise _gone(error) from error
        try:
            writer.write(json.dumps({"method": method, "params": params}).encode() + b"\n")
            while line := await reader.readline():
                yield json.loads(line)
        except OSError as error:
            raise _gone(error) from error
        finally:
            writer.close()


def _gone(error: OSError | None) -> Closing:
    match error:
        case None:
            return Closing("No gateway answers.")
        case FileNotFoundError() | ConnectionRefusedError():
            return Closing(
                "No gateway answers: Parley does not run. `parley serve` starts it, or a chat."
            )
        case _:
            return Closing(f"No gateway answers: {error.strerror}.")


def _result(line: dict[str, Any]) -> Any:
    if (failed := line.get("error")) is None:
        return line.get("result")
    kind = getattr(errors, str(failed["kind"]), None)
    if not (isinstance(kind, type) and issubclass(kind, GatewayError)):
        kind = GatewayError
    error = kind.__new__(kind)
    error.args = (str(failed["text"]),)
    raise error
