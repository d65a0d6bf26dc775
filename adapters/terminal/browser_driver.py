"""The driver of a chat that `parley web` shows in a browser.

Its input and output are packets of textual-serve: a letter, four bytes that say how long the rest
is, and the rest. "D" is what a terminal would send or show, "M" a JSON object about it. Programs
that the chat starts have no part in them: they find no input, and write where errors go.
"""

import os
import select
import signal
from codecs import getincrementaldecoder
from collections.abc import Iterator
from typing import Any

from textual.drivers.web_driver import WebDriver

from adapters.terminal.driver import TICK, OutputDriver, OutputWorker, encoded, read_some
from adapters.terminal.paste import PasteParser

STDIN, STDOUT, STDERR = range(3)
HEAD = 5
DEADLINE = 5.0
"""Seconds for the chat to end once the browser has gone."""


class BrowserDriver(OutputDriver, WebDriver):
    """Textual's driver with our own reading and writing."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._write = self._send
        self._input, self.fileno = os.dup(STDIN), os.dup(STDOUT)
        os.dup2(STDERR, STDOUT)
        os.dup2(nothing := os.open(os.devnull, os.O_RDONLY), STDIN)
        os.close(nothing)

    def start_application_mode(self) -> None:
        """Begin to paint in the browser."""
        self._output = OutputWorker(self.fileno, self._paint_anew)
        self._output.start()
        super().start_application_mode()
        if not self._mouse:
            self._disable_mouse_support()

    def write(self, data: str) -> None:
        """Hand this to the browser, without waiting for it."""
        self._send(packet(b"D", encoded(data)))

    def _send(self, data: bytes) -> int:
        if self._output is not None:
            self._output.write(data)
        return len(data)

    def run_input_thread(self) -> None:
        """Read packets until the end, or end the chat with its browser."""
        parser = PasteParser(self._debug)
        decode = getincrementaldecoder("utf-8")(errors="replace").decode
        held = bytearray()
        while not self.exit_event.is_set():
            if select.select([self._input], [], [], TICK)[0]:
                if not (data := read_some(self._input)):
                    self._end()
                    return
                held += data
                for kind, payload in packets(held):
                    if kind == "D":
                        self._process(parser.feed(decode(payload)))
                    else:
                        self._on_meta(kind, payload)
            self._process(parser.tick())

    def on_meta(self, packet_type: str, payload: dict[str, object]) -> None:
        """Take the browser's size and focus, and its end."""
        if packet_type == "quit":
            self._end()
        else:
            super().on_meta(packet_type, payload)

    def _end(self) -> None:
        """Leave as when a terminal closes, at the latest after seconds."""
        code = 128 + signal.SIGHUP
        self._loop.call_soon_threadsafe(self._app.exit, code)
        if not self.exit_event.wait(DEADLINE):
            os._exit(code)


def packet(kind: bytes, payload: bytes) -> bytes:
    """A packet of this kind."""
    return kind + len(payload).to_bytes(4, "big") + payload


def packets(held: bytearray) -> Iterator[tuple[str, bytes]]:
    """Take the whole packets out of what was read so far."""
    while len(held) >= HEAD and len(held) >= (end := HEAD + int.from_bytes(held[1:HEAD], "big")):
        yield chr(held[0]), bytes(held[HEAD:end])
        del held[:end]
