"""The platform behind all nodes: it sends, and notes the answers."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

LIMIT = 1 << 20


class Driver:
    """Times by message, in seconds of the machine's monotonic clock."""

    def __init__(self) -> None:
        self.sent: dict[int, float] = {}
        self.accepted: dict[int, float] = {}
        self.began: dict[int, float] = {}
        self.resumed: dict[int, float] = {}
        """Turns that began again."""
        self.posted: dict[int, float] = {}
        self.at: dict[int, int] = {}
        """The node that began a message's turn last, by its process."""
        self.doubled: Counter[int] = Counter()
        """Further answers to a message, marked as perhaps doubled or not."""
        self.refused: list[str] = []
        self.nodes: dict[int, asyncio.StreamWriter] = {}
        """The nodes that serve, by their processes."""
        self._threads: dict[int, int] = {}
        self._keys: dict[str, str] = {}
        self._changed = asyncio.Event()

    def send(self, number: int, thread: int, node: int) -> None:
        """Send a message to a node; again if it was sent before."""
        self.sent.setdefault(number, time.monotonic())
        self._threads[number] = thread
        self._write(self.nodes[node], {"number": number, "thread": thread})

    def send_again(self, numbers: list[int]) -> None:
        """Send messages again, to any node.

        So do platforms with what nobody has acknowledged.
        """
        nodes = list(self.nodes)
        for number in numbers:
            self.send(number, self._threads[number], nodes[number % len(nodes)])

    def unanswered(self) -> list[int]:
        """The messages that were sent and have no answer."""
        return [number for number in self.sent if number not in self.posted]

    async def until(self, holds: Callable[[], object], seconds: float = 120.0) -> None:
        """Wait until something is so. Raises TimeoutError."""
        async with asyncio.timeout(seconds):
            while not holds():
                self._changed.clear()
                await self._changed.wait()

    @asynccontextmanager
    async def listening(self) -> AsyncGenerator[int]:
        """Take connections of nodes; the port."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=LIMIT)
        async with server:
            yield server.sockets[0].getsockname()[1]
            for writer in self.nodes.values():
                writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pid = 0
        try:
            while line := await reader.readline():
                given = json.loads(line)
                if given["what"] == "serves":
                    pid = given["pid"]
                    self.nodes[pid] = writer
                else:
                    self._note(writer, pid, given)
                self._changed.set()
        except ConnectionError:
            pass  # a killed node
        finally:
            self.nodes.pop(pid, None)
            writer.close()
            self._changed.set()

    def _note(self, writer: asyncio.StreamWriter, pid: int, given: dict[str, Any]) -> None:
        match given:
            case {"what": "accepted", "number": number, "at": at}:
                self.accepted.setdefault(number, at)
            case {"what": "began", "number": number, "at": at}:
                if self.began.setdefault(number, at) != at:
                    self.resumed[number] = at
                self.at[number] = pid
            case {"what": "posted", "number": number, "at": at, "key": key, "ask": ask}:
                if number in self.sent:  # else it is a notice of the gateway
                    self.doubled[number] += number in self.posted
                    self.posted.setdefault(number, at)
                self._keys[key] = f"p{len(self._keys)}"
                self._write(writer, {"ask": ask, "answer": self._keys[key]})
            case {"what": "find", "key": key, "ask": ask}:
                self._write(writer, {"ask": ask, "answer": self._keys.get(key)})
            case _:
                self.refused.append(str(given.get("why", given)))

    def _write(self, writer: asyncio.StreamWriter, line: dict[str, object]) -> None:
        if not writer.is_closing():
            writer.write(json.dumps(line).encode() + b"\n")
