"""`run_chat`: the command's way into the chat, and a clean end."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Self

from adapters.terminal.collector import collect_rarely, collect_while_quiet

if TYPE_CHECKING:
    from adapters.terminal.app import ChatApp
    from adapters.terminal.plain import PlainChat
    from adapters.terminal.settings import Settings
    from gateway.client import Client

    Connect = Callable[[], AbstractAsyncContextManager[Client]]

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GRACE = 3.5
"""Seconds the line to the gateway has to close in order."""
DEADLINE = 4.5
"""Seconds after which the process is gone in any case."""


def run_chat(
    connect: Callable[[], AbstractAsyncContextManager[Client]],
    settings: Settings,
    *,
    plain: bool = False,
    mouse: bool = True,
    theme: str = "",
) -> int:
    """Chat until the person leaves; returns the exit code of the process.

    Owns the event loop and the signals meanwhile. `connect()` is entered once, after the composer
    is on screen, in the loop that runs the chat; so the imports of the gateway belong inside of it.
    What it raises is shown as one sentence on standard error, with the error's `exit_code`, or 1.
    It is left when the person has quit or SIGTERM or SIGHUP came, with the terminal restored
    already; after 3.5 seconds it is cancelled, after 4.5 the process is gone.

    `plain` asks for the line mode, which is also taken where standard input or output is no
    terminal, or a dumb one. There the end of input means: finish the turn, then leave, with 3 if
    the team waits for an answer.

    `settings` say which thread is opened, and what is sent at once.
    """
    if not settings.in_browser and (plain or not _has_screen()):
        from adapters.terminal.plain import PlainChat  # neither mode loads the other

        chat = PlainChat(settings)
        return asyncio.run(_by_line(chat, connect))
    gc.disable()  # until the chat has imported what it needs
    collect_rarely()
    from adapters.terminal.app import ChatApp  # as above: it loads Textual

    app = ChatApp(settings, theme=theme, mouse=mouse)
    code = asyncio.run(_on_screen(app, connect, mouse=mouse))
    if app.failure:
        print(f"parley: {app.failure}", file=sys.stderr)  # noqa: T201
    return code


def _has_screen() -> bool:
    dumb = os.environ.get("TERM", "") in ("", "dumb")
    streams = (sys.stdin, sys.stdout, sys.stderr)  # Textual paints on standard error
    return not dumb and all(stream and stream.isatty() for stream in streams)


async def _on_screen(app: ChatApp, connect: Connect, *, mouse: bool) -> int:
    with _Shutdown() as leaving:
        leaving.on_signal(app.exit, lent=lambda: app.lent)
        async with asyncio.TaskGroup() as group:
            line = group.create_task(app.hold(connect), name="line to the gateway")
            collecting = group.create_task(collect_while_quiet(app.is_quiet), name="collector")
            result = await app.run_async(mouse=mouse)
            leaving.begin()
            collecting.cancel()
            app.disconnect()
            await asyncio.wait([line], timeout=GRACE)
            line.cancel()
        return leaving.code or (app.return_code or 0 if result is None else result)


async def _by_line(chat: PlainChat, connect: Connect) -> int:
    with _Shutdown() as leaving:
        async with asyncio.TaskGroup() as group:
            run = group.create_task(chat.run(connect), name="line mode")
            leaving.on_signal(lambda _: chat.quit())
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, chat.interrupt)
            await asyncio.wait([run])
        return leaving.code or run.result()


class _Shutdown:
    """Signals end the chat in order, within a deadline."""

    def __init__(self) -> None:
        self.code = 0
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.remove_signal_handler(number)
        if self._timer is not None:
            self._timer.cancel()

    def on_signal(
        self, leave: Callable[[int], object], *, lent: Callable[[], bool] = lambda: False
    ) -> None:
        """Call `leave` with the exit code that says which signal came.

        While the terminal is `lent`, ctrl+c is for whoever has it.
        """
        for number in SIGNALS:
            asyncio.get_running_loop().add_signal_handler(
                number, self._on_number, number, leave, lent
            )

    def begin(self) -> None:
        """From now on the time is counted."""
        if self._timer is None:
            timer = threading.Timer(DEADLINE, os._exit, [self.code])
            timer.daemon = True
            timer.start()
            self._timer = timer

    def _on_number(
        self, number: signal.Signals, leave: Callable[[int], object], lent: Callable[[], bool]
    ) -> None:
        if number == signal.SIGINT and lent():
            return
        self.code = 128 + number
        self.begin()
        leave(self.code)
