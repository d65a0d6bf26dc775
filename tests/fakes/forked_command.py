"""Forks of the tests' own process that become a command of `parley`.

They have its modules already. Descriptors, signals, folder and exit code are those of a process.
What the interpreter does as it ends, and what is imported, has to be seen in a process of its own.
"""

from __future__ import annotations

import io
import multiprocessing
import os
import pty
import sys
import warnings
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TextIO

from gateway.cli import main

NOTHING = Path(os.devnull)

_FORKS = multiprocessing.get_context("fork")


def begin(
    *words: str, stdin: int | Path = NOTHING, stdout: int | Path, stderr: int | Path
) -> BaseProcess:
    """Run the command with these files or descriptors."""
    process = _FORKS.Process(target=_run, args=(words, stdin, stdout, stderr))
    with warnings.catch_warnings():
        # From Python 3.12 on: the run's watchdog is a thread, which holds no lock.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    return process


def code_of(process: BaseProcess, seconds: float) -> int:
    """The exit code, once it has ended."""
    process.join(seconds)
    code = process.exitcode
    assert code is not None, f"it runs after {seconds:g} s"
    return code


def at_a_terminal(*words: str, typed: str, seconds: float) -> tuple[int, str]:
    """Run the command at a terminal; exit code and output."""
    ours, theirs = pty.openpty()
    process = begin(*words, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    os.write(ours, typed.encode())
    shown = b""
    while piece := _read(ours):
        shown += piece
    os.close(ours)
    return code_of(process, seconds), shown.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other side is closed
        return b""


def _run(words: tuple[str, ...], *places: int | Path) -> None:
    """Be the command's process."""
    os.setsid()
    taken = [
        os.open(place, os.O_RDWR | os.O_CREAT, 0o600) if isinstance(place, Path) else place
        for place in places
    ]
    for ours, theirs in enumerate(taken):
        os.dup2(theirs, ours)
    for theirs in {*taken} - {0, 1, 2}:
        os.close(theirs)
    if os.isatty(0):
        os.close(os.open(os.ttyname(0), os.O_RDWR))  # it becomes the session's own
        os.environ["TERM"] = "xterm"
    sys.stdin = sys.__stdin__ = _stream(0, "r")
    sys.stdout = sys.__stdout__ = _stream(1, "w")
    sys.stderr = sys.__stderr__ = _stream(2, "w")
    main(words, prog_name="parley")


def _stream(descriptor: int, mode: str) -> TextIO:
    raw = io.FileIO(descriptor, mode, closefd=False)
    return io.TextIOWrapper(io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw))
