"""A chat for each tab, in a process of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

from aiohttp import WSMsgType, web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from adapters.terminal.web.visits import bounded_size

MOST_TABS = 10
MOST_BYTES = 1 << 24
"""Bytes of a message, such as a paste."""
CHAT_SECONDS = 7.0
"""Seconds for a chat to end in order."""
CLOSE_SECONDS = 2.0
"""Seconds for a browser to let its tab be closed."""
HEARTBEAT = 15.0
"""Seconds between two looks whether a browser is still there."""
LONGEST_PING = 32

_FULL = (
    "\r\n Ten tabs have a chat already, and more are not opened.\r\n"
    " Close one of them, then open this one again.\r\n"
)


@dataclass(eq=False, slots=True)
class Tab:
    """A tab that is open, and the cookie that it came with."""

    socket: web.WebSocketResponse
    cookie: str
    connection: asyncio.BaseTransport | None
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def show(self, data: bytes) -> None:
        """Show output of the chat, read to its end in any case."""
        with suppress(ConnectionError):
            if not self.socket.closed:
                await self.socket.send_bytes(data)

    async def close(self) -> None:
        """Close it soon, also if its browser reads no more."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self.socket.close(drain=False)
        if isinstance(self.connection, asyncio.WriteTransport):
            self.connection.abort()


@dataclass(slots=True)
class Tabs:
    """The tabs that are open; `command` starts a chat."""

    command: str
    open: set[Tab] = field(default_factory=set[Tab])

    async def serve(
        self, request: web.BaseRequest, cookie: str, size: tuple[int, int]
    ) -> web.WebSocketResponse:
        """Show a chat in a tab until either ends."""
        socket = web.WebSocketResponse(heartbeat=HEARTBEAT, compress=False, max_msg_size=MOST_BYTES)
        await socket.prepare(request)
        tab = Tab(socket, cookie, request.transport)
        if not await self._has_room():
            await tab.show(_FULL.encode())
            await tab.close()
            return socket
        self.open.add(tab)
        chat = _Chat(
            self.command,
            write_bytes=tab.show,
            write_str=_ignore,
            close=tab.close,
            download_manager=DownloadManager(),
        )
        try:
            await chat.start(*size)
            async for message in socket:
                if message.type == WSMsgType.TEXT:
                    await _hand_on(chat, socket, _parsed(message.data))
        finally:
            try:
                await tab.close()
                await chat.stop()
            finally:
                self.open.discard(tab)
                tab.ended.set()
        return socket

    async def _has_room(self) -> bool:
        """True once there is: the chats of closed tabs end soon."""
        while len(self.open) >= MOST_TABS:
            closed = next((tab for tab in self.open if tab.socket.closed), None)
            if closed is None:
                return False
            await closed.ended.wait()
        return True

    async def end(self, is_over: Callable[[Tab], bool]) -> None:
        """Close tabs, whose chats end then."""
        async with asyncio.TaskGroup() as group:
            for tab in filter(is_over, self.open):
                group.create_task(tab.close(), name="close a tab")


class _Chat(AppService):
    """A chat that leaves no process behind."""

    async def run(self) -> None:
        """Close the tab also if the chat never began, or has crashed."""
        try:
            await super().run()
        finally:
            await self.remote_close()
            if self._process is not None:
                await self._process.wait()

    async def stop(self) -> None:
        """Let the chat end, for seconds."""
        if self._process is None:
            return
        timer = asyncio.get_running_loop().call_later(CHAT_SECONDS, self._kill)
        try:
            await super().stop()
        finally:
            timer.cancel()
            self._kill()
            self.stdin.close()

    def _kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()


async def _ignore(text: str) -> None:
    """Open no page and no download for a chat."""


async def _hand_on(chat: AppService, socket: web.WebSocketResponse, said: list[Any]) -> None:
    """Hand the chat what a terminal could: keys, its size, its focus."""
    match said:
        case ["stdin", str(typed)]:
            await chat.send_bytes(typed.encode(errors="replace"))
        case ["resize", {"width": width, "height": height}]:
            await chat.set_terminal_size(*bounded_size(width, height))
        case ["focus"]:
            await chat.focus()
        case ["blur"]:
            await chat.blur()
        case ["ping", str(text)] if len(text) <= LONGEST_PING:
            with suppress(ConnectionError):
                await socket.send_json(["pong", text])
        case _:
            pass


def _parsed(text: str) -> list[Any]:
    """The message of a page; none from what is no list."""
    with suppress(ValueError, RecursionError):
        if isinstance(said := json.loads(text), list):
            return cast("list[Any]", said)
    return []
