"""Processes forked from one that has loaded most of their modules."""

from __future__ import annotations

import asyncio
import io
import multiprocessing
import os
import runpy
import signal
import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from pathlib import Path

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["tests.fakes.loaded"])
_RENAMED = {"tests.chaos.campaign.child": "gateway.cli"}
"""A module that only moves the clocks, which are moved here, and what it runs then."""


class ForkedProcess:
    """A process, used like one of asyncio's."""

    def __init__(self, process: BaseProcess) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid or 0

    @property
    def returncode(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        return self._process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it runs."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Have it end in order."""
        self.send_signal(signal.SIGTERM)

    async def wait(self) -> int:
        """Wait for its end; its exit code."""
        loop, has_ended = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._process.sentinel, has_ended.set)
        try:
            await has_ended.wait()
        finally:
            loop.remove_reader(self._process.sentinel)
        code = self.returncode
        assert code is not None
        return code

    def join(self, seconds: float) -> int:
        """Wait for its end in this thread; its exit code."""
        self._process.join(seconds)
        code = self.returncode
        assert code is not None, f"it runs after {seconds:g} s"
        return code


def load() -> None:
    """Begin to load what the first process needs, and do not wait."""
    forkserver.ensure_running()


async def forked(
    module: str, *arguments: str, folder: Path, environment: Mapping[str, str], log: Path
) -> ForkedProcess:
    """Run a module as `python -m` does.

    It runs in a folder, with this environment alone. `log` has all that it prints; a terminal is
    its own.
    """
    return await asyncio.to_thread(
        fork, module, *arguments, folder=folder, environment=environment, log=log
    )


def fork(
    module: str, *arguments: str, folder: Path, environment: Mapping[str, str], log: Path
) -> ForkedProcess:
    """Run a module, as `forked` does; the first one is waited for."""
    parameters = (module, arguments, folder, dict(environment), log.absolute())
    process = _FORKS.Process(target=_run, args=parameters)
    process.start()
    return ForkedProcess(process)


def _run(
    module: str, arguments: tuple[str, ...], folder: Path, environment: dict[str, str], log: Path
) -> None:
    """Become the module's process."""
    os.chdir(folder)
    os.setsid()
    out = os.open(log, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    for descriptor in (0, 1, 2) if os.isatty(out) else (1, 2):
        os.dup2(out, descriptor)
    if os.isatty(out):
        sys.stdin = sys.__stdin__ = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))
        sys.stdout = sys.__stdout__ = _lines_to(1)
        sys.stderr = sys.__stderr__ = _lines_to(2)
    if "LD_PRELOAD" in environment:  # only a new program has the library
        os.execve(sys.executable, [sys.executable, "-m", module, *arguments], environment)
    os.environ.clear()
    os.environ |= environment
    if (ahead := environment.get("AHEAD")) is not None:
        from tests.fakes.loaded import TOLD  # loaded, with clocks that can be moved

        os.dup2(os.open(ahead, os.O_RDONLY), TOLD)
    sys.argv[1:] = arguments
    try:
        runpy.run_module(_RENAMED.get(module, module), run_name="__main__", alter_sys=True)
    except Exception:
        traceback.print_exc()
        raise SystemExit(1) from None
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # a terminal may be gone: that is no failure
                stream.flush()
        sys.stdout = sys.stderr = None


def _lines_to(descriptor: int) -> io.TextIOWrapper:
    """A stream that writes each line to a terminal at once."""
    raw = io.FileIO(descriptor, "w", closefd=False)
    return io.TextIOWrapper(io.BufferedWriter(raw), line_buffering=True)
