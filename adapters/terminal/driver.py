"""The terminal's driver, safe against slow, closed and odd terminals.

Textual's own driver waits for a slow terminal, and for ever for one that is gone, with the whole
program; a byte that is no UTF-8 ends it.
"""

import os
import select
import signal
import threading
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable
from queue import SimpleQueue
from typing import Any

from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from adapters.terminal.paste import PasteParser
from adapters.terminal.terminal_clipboard import TerminalClipboard

STDERR = 2
"""Where Textual paints."""
MOST_WAITING = 30
"""Writes that may wait for the terminal before it counts as one that does not keep up."""
LAST_WORDS = 1.0
"""Seconds for the terminal to take what restores it."""
TICK = 0.1
PIECE = 4096


def stop_job() -> None:
    """Stop this process and its group, as a terminal does at ctrl+z.

    The operating system ignores that where no shell could let them go on.
    """
    handler = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    try:
        os.kill(0, signal.SIGTSTP)
    finally:
        signal.signal(signal.SIGTSTP, handler)


class OutputWorker(threading.Thread):
    """Writes to the terminal, so that nobody waits for it.

    `caught_up` is called, in this worker, when all is written after there was too much of it.
    """

    def __init__(self, descriptor: int, caught_up: Callable[[], object]) -> None:
        super().__init__(daemon=True, name="terminal output")
        self._descriptor = descriptor
        self._caught_up = caught_up
        self._waiting: SimpleQueue[str | bytes | None] = SimpleQueue()
        self._gone = False
        self._was_behind = False

    def write(self, text: str | bytes) -> None:
        """Queue output in order; none is kept for a closed terminal."""
        if not self._gone:
            self._waiting.put(text)
            self._was_behind = self._was_behind or self.behind

    @property
    def behind(self) -> bool:
        """True while the terminal is too slow."""
        return self._gone or self._waiting.qsize() > MOST_WAITING

    def stop(self) -> None:
        """Write what waits, for a second at most."""
        self._waiting.put(None)
        self.join(LAST_WORDS)

    def run(self) -> None:
        """Write until stopped, or until the terminal is gone."""
        while (text := self._waiting.get()) is not None:
            try:
                self._write_whole(encoded(text) if isinstance(text, str) else text)
            except OSError:
                self._gone = True
                return
            if self._was_behind and self._waiting.empty():
                self._was_behind = False
                self._caught_up()

    def _write_whole(self, data: bytes) -> None:
        while data:
            try:
                data = data[os.write(self._descriptor, data) :]
            except BlockingIOError:  # another program on this terminal has made it so
                select.select([], [self._descriptor], [])


def encoded(text: str) -> bytes:
    """The text for a terminal; half characters are question marks."""
    return text.encode(errors="replace")


def read_some(descriptor: int) -> bytes:
    """Bytes that have come; none at the end."""
    try:
        return os.read(descriptor, PIECE)
    except OSError:
        return b""


class OutputDriver(Driver):
    """A driver that writes in a worker, and outlives odd input."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._output: OutputWorker | None = None

    @property
    def behind(self) -> bool:
        """True while the terminal is too slow; later all is painted anew."""
        return self._output is not None and self._output.behind

    @property
    def lent(self) -> bool:
        """True while another program uses the terminal."""
        return self._output is None

    def write(self, data: str) -> None:
        """Hand this to the terminal, without waiting for it."""
        if self._output is not None:
            self._output.write(data)

    def close(self) -> None:
        """Let the terminal take what it has still to be told."""
        super().close()
        if self._output is not None:
            self._output.stop()
            self._output = None

    def _process(self, messages: Iterable[Message]) -> None:
        """Hand on typed bytes; a mistake loses no more than these."""
        try:
            for message in messages:
                self.process_message(message)
        except Exception as error:
            self._loop.call_soon_threadsafe(self._app._handle_exception, error)  # pyright: ignore[reportPrivateUsage]

    def _paint_anew(self) -> None:
        self._loop.call_soon_threadsafe(self._app.refresh)


class TerminalDriver(OutputDriver, LinuxDriver):
    """Textual's driver with our own reading and writing."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.clipboard = TerminalClipboard(self.write)

    def start_application_mode(self) -> None:
        """Take the terminal."""
        self._output = OutputWorker(STDERR, self._paint_anew)
        self._output.start()
        super().start_application_mode()

    def run_input_thread(self) -> None:
        """Read until the end, or end the chat when the terminal closes."""
        parser = PasteParser(self._debug)
        decode = getincrementaldecoder("utf-8")(errors="replace").decode
        while not self.exit_event.is_set():
            if select.select([self.fileno], [], [], TICK)[0]:
                if not (data := read_some(self.fileno)):
                    self._loop.call_soon_threadsafe(self._app.exit, 128 + signal.SIGHUP)
                    return
                typed = self.clipboard.take_out(decode(data))
            else:
                typed = self.clipboard.let_go()
            if typed:
                self._process(parser.feed(typed))
            self._process(parser.tick())

    def _sigcont_application(self, *_: object) -> None:
        # Called between any two steps of the program: the terminal is for the loop to handle.
        # Who lent the terminal takes it back without us.
        if self._auto_restart:
            self._loop.call_soon_threadsafe(self._come_back)

    def _come_back(self) -> None:
        """Resume after a stop; a closing terminal sends this signal, too."""
        if not self._auto_restart or not os.isatty(self.fileno):
            return
        if self._output is not None:
            self.suspend_application_mode()
        self.resume_application_mode()
        self._app.refresh(layout=True)
