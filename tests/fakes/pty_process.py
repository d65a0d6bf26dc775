"""A real process on its own terminal."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.fakes.forked import fork

ROOT = Path(__file__).parents[2]
_SEQUENCES = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_].*?\x1b\\|.)"
)
PATIENCE = 20.0


class PtyProcess:
    """Runs Python with these arguments; its output is read during waits.

    `parley` ("gateway.cli") is forked from a process that has loaded it.
    """

    def __init__(
        self, *arguments: str, folder: Path, size: tuple[int, int] = (80, 24), term: str = "xterm"
    ) -> None:
        self.output = b""
        self._master, slave = pty.openpty()
        self.resize(*size)
        self.modes = termios.tcgetattr(slave)
        environment = {
            **os.environ, "TERM": term, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1",
        }  # fmt: skip
        self._slave = slave
        if arguments[0] == "gateway.cli":
            log = Path(os.ttyname(slave))
            self.process = fork(*arguments, folder=folder, environment=environment, log=log)
            return
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=folder,
            env=environment,
            start_new_session=True,
            preexec_fn=_take_terminal,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._code is None:
            self.process.kill()
        while self._code is None:
            time.sleep(0.01)
        for descriptor in (self._master, self._slave):
            if descriptor >= 0:
                os.close(descriptor)
        self._master = self._slave = -1

    @property
    def text(self) -> str:
        """All that was written, without the sequences that steer the terminal."""
        return _SEQUENCES.sub(b"", self.output).decode(errors="replace")

    def resize(self, width: int, height: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def refuse_to_block(self) -> None:
        """Set the terminal to non-blocking, as some programs leave it."""
        os.set_blocking(self._slave, False)

    def type(self, keys: str | bytes) -> None:
        os.write(self._master, keys.encode() if isinstance(keys, str) else keys)

    def until(self, what: str | Callable[[], Any]) -> None:
        """Read on until this text was written, or this is so."""
        ready = (lambda: what in self.text) if isinstance(what, str) else what
        end = time.monotonic() + PATIENCE
        while not ready():
            assert time.monotonic() < end, f"no {what!r} in:\n{self.text[-4000:]}"
            self._read(0.05)

    def wait(self, ready: Callable[[], Any]) -> None:
        """Wait for the condition without reading: the terminal takes no output."""
        end = time.monotonic() + PATIENCE
        while not ready():
            assert time.monotonic() < end, "it did not come about"
            time.sleep(0.02)

    def forget(self) -> None:
        """From now on, wait for new output only."""
        self._read(0.0)
        self.output = b""

    def ended(self, within: float = PATIENCE, *, reading: bool = True) -> int:
        """The exit code; fails if the process outlives so many seconds."""
        end = time.monotonic() + within
        while (code := self._code) is None:
            assert time.monotonic() < end, f"still there after {within} s:\n{self.text[-2000:]}"
            if reading:
                self._read(0.02)
            else:
                time.sleep(0.02)
        self._read(0.05)
        return code

    @property
    def _code(self) -> int | None:
        """The exit code; None while it runs."""
        if isinstance(self.process, subprocess.Popen):
            return self.process.poll()
        return self.process.returncode

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def hang_up(self) -> None:
        """The terminal goes away, as when its window is closed."""
        os.close(self._slave)
        os.close(self._master)
        self._master = self._slave = -1

    def restored(self) -> bool:
        """True if the terminal's modes are those from before."""
        return termios.tcgetattr(self._slave) == self.modes

    def _read(self, patience: float) -> None:
        while self._master >= 0 and select.select([self._master], [], [], patience)[0]:
            self.output += os.read(self._master, 65536)
            patience = 0.0


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
