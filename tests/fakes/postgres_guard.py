"""Parent of a PostgreSQL server, which ends with its folder's owner.

A program of its own, for it outlives a run that is killed: FOLDER UID COMMAND...
It prints "ready" once the server can be reached, or the server's log if it can't start.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

OWNER = "owner"
"""The file in the folder that its owner keeps locked."""
RUNNING = "running"
"""The file in the folder that is locked while this program runs."""
READY = "database system is ready to accept connections"


def main(folder: Path, uid: int, command: list[str]) -> None:
    """Run the server until it is ended, or its owner has ended."""
    running = (folder / RUNNING).open("w", encoding="utf-8")
    fcntl.flock(running, fcntl.LOCK_EX)
    streams: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    server = subprocess.Popen(command, cwd=folder, text=True, **streams, **as_user(uid))
    abandoned = threading.Event()
    watch = threading.Thread(target=_watch, args=(folder / OWNER, server, abandoned), daemon=True)
    watch.start()
    assert server.stderr is not None
    with (folder / "log").open("a", encoding="utf-8", buffering=1) as log:
        for line in server.stderr:
            log.write(line)
            _tell("ready\n" if READY in line else line)
            if READY in line:
                _fall_silent()
    server.wait()
    if abandoned.is_set():
        shutil.rmtree(folder)


def as_user(uid: int) -> dict[str, Any]:
    """Options of a subprocess that runs as this user."""
    return {} if uid == os.getuid() else {"user": uid, "group": uid, "extra_groups": []}


def _tell(line: str) -> None:
    with suppress(OSError):  # who started this program may have ended
        os.write(1, line.encode())


def _fall_silent() -> None:
    """Let go of the pipes to who started this program."""
    silence = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(silence, descriptor)


def _watch(owner: Path, server: subprocess.Popen[str], abandoned: threading.Event) -> None:
    with owner.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        abandoned.set()
        server.send_signal(signal.SIGQUIT)
        server.wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
