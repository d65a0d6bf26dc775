"""One client's websocket to the gateway."""

from __future__ import annotations

import asyncio
import zlib
from collections import deque
from contextlib import suppress

from aiohttp import web

from adapters.discord.simulator.errors import Json
from adapters.discord.simulator.sessions import DISPATCH, Session, encode_frame

MOST_FRAMES = 120
PER = 60.0
"""A client may send so many frames in so many seconds."""


class Connection:
    """One websocket with a queue of frames, compressed with zlib on request.

    Nobody who causes an event waits for a client.
    """

    def __init__(self, request: web.Request, socket: web.WebSocketResponse) -> None:
        self._request = request
        self._socket = socket
        compressed = request.query.get("compress") == "zlib-stream"
        self._compressor = zlib.compressobj() if compressed else None
        self._queue: asyncio.Queue[Json | int] = asyncio.Queue()
        self._received: deque[float] = deque()
        self._closed = False
        self.session: Session | None = None
        self.abort_after: int | None = None

    def send(self, frame: Json) -> None:
        """Queue a frame."""
        self._queue.put_nowait(frame)

    def close(self, code: int) -> None:
        """Close once all that is queued was sent."""
        self._closed = True
        self._queue.put_nowait(code)

    def abort(self) -> None:
        """Cut the connection, as a lost network does."""
        if self._request.transport is not None:
            self._request.transport.abort()

    def left_with(self, socket: web.WebSocketResponse) -> int | None:
        """The code with which the client closed; None if it did not."""
        return None if self._closed else socket.close_code

    async def write(self) -> None:
        """Send what is queued, until the connection is closed."""
        with suppress(ConnectionError):
            while True:
                match await self._queue.get():
                    case int() as code:
                        await self._socket.close(code=code)
                        return
                    case frame:
                        await self._write_frame(frame)

    def receives_too_much(self, now: float) -> bool:
        """Count a frame; True if there were too many within a minute."""
        self._received.append(now)
        while self._received[0] <= now - PER:
            self._received.popleft()
        return len(self._received) > MOST_FRAMES

    async def _write_frame(self, frame: Json) -> None:
        if frame["op"] == DISPATCH and self.abort_after is not None:
            if self.abort_after == 0:
                self.abort()
                raise ConnectionAbortedError
            self.abort_after -= 1
        text = encode_frame(frame)
        if (stream := self._compressor) is None:
            await self._socket.send_str(text)
        else:  # all frames are one stream, each ends with a flush
            flushed = stream.compress(text.encode()) + stream.flush(zlib.Z_SYNC_FLUSH)
            await self._socket.send_bytes(flushed)
