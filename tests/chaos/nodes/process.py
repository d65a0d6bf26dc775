"""A process of `parley serve`, forked from one that has loaded it."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import sys
from collections.abc import Mapping
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from pathlib import Path

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["tests.chaos.nodes.loaded"])
_ARGUMENTS = ("serve", "--config", "config.toml")


def load() -> None:
    """Begin to load what the first process needs, and do not wait."""
    forkserver.ensure_running()


async def forked(folder: Path, log: Path, environment: Mapping[str, str]) -> BaseProcess:
    """Start one in a folder."""
    process = _FORKS.Process(target=_serve, args=(folder, log, environment))
    await asyncio.to_thread(process.start)
    return process


async def ended(process: BaseProcess) -> int:
    """Wait for its end; its exit code, negative for a signal."""
    loop, has_ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(process.sentinel, has_ended.set)
    try:
        await has_ended.wait()
    finally:
        loop.remove_reader(process.sentinel)
    code = process.exitcode
    assert code is not None
    return code


def _serve(folder: Path, log: Path, environment: Mapping[str, str]) -> None:
    """Become a node."""
    os.chdir(folder)
    out = os.open(log, os.O_WRONLY | os.O_APPEND)
    os.dup2(out, 1)
    os.dup2(out, 2)
    if "LD_PRELOAD" in environment:  # only a new program has the library
        child = (sys.executable, "-m", "tests.chaos.campaign.child")
        os.execve(sys.executable, [*child, *_ARGUMENTS], dict(environment))
    os.environ.clear()
    os.environ |= environment

    from gateway.cli import main  # loaded with clocks that can be moved
    from tests.chaos.nodes.loaded import TOLD

    os.dup2(os.open(environment["AHEAD"], os.O_RDONLY), TOLD)
    main(_ARGUMENTS, prog_name="parley")
