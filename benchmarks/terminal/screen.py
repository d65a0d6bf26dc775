"""A program on a terminal of its own, watched from outside."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0


class Screen:
    """Runs Python on an 80x24 terminal, with `folder` as its home."""

    def __init__(self, *arguments: str, folder: Path, width: int = 80, height: int = 24) -> None:
        self.bytes_written = 0
        self._tail = b""
        self._master, slave = pty.openpty()
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(folder),
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(ROOT),
        }
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=slave, stdout=slave, stderr=slave,
            cwd=folder, env=environment, start_new_session=True,
        )  # fmt: skip
        os.close(slave)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._master)

    def until_shown(self, text: str) -> float:
        """Monotonic seconds at which the text appeared since the last call.

        Textual writes a run of one style in one piece: give a text that has one style.
        """
        wanted = text.encode()
        end = time.monotonic() + PATIENCE
        while wanted not in self._tail:
            gone = not self.read(0.5) and self.process.poll() is not None
            if gone or time.monotonic() > end:
                raise RuntimeError(f"{text!r} was not shown; the end was {self._tail[-2000:]!r}")
        self._tail = self._tail.partition(wanted)[2]
        return time.monotonic()

    def rest(self, seconds: float) -> None:
        """Let it run for so long, and read what it writes."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.read(left)

    def type(self, keys: str) -> None:
        """Press these keys."""
        os.write(self._master, keys.encode())

    def cpu(self) -> float:
        """CPU seconds of the process so far, in all living threads."""
        threads = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9

    def resident(self) -> int:
        """Bytes of the process's memory that are resident."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def ended(self) -> None:
        """Wait for the process to end by itself."""
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            if time.monotonic() > end:
                raise RuntimeError("The program did not end.")
            self.read(0.05)

    def read(self, patience: float) -> bool:
        """Take the output of so many seconds at most; False without any."""
        if not select.select([self._master], [], [], patience)[0]:
            return False
        data = b""
        with contextlib.suppress(OSError):  # the program has closed its side
            data = os.read(self._master, 1 << 16)
        self.bytes_written += len(data)
        # Enough to find a text across two reads; the rest need not be searched twice.
        self._tail = self._tail[-(1 << 16) :] + data
        return bool(data)
