"""A gateway that serves a simulated platform with its real adapter."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks.gateway.scenarios import new_store
from benchmarks.gateway.teams import DoNothing, OneTeam, solo
from gateway.access.authority import Access
from gateway.adapter import Adapter
from gateway.gateway import Gateway, Limits
from teams.models import CreateResult, LLMMessage

Figures = dict[str, list[float]]
TOKENS = 1000
RATE = 100
"""Tokens per second of the answer whose calls are counted."""
PIECES = [f"word{number} " for number in range(TOKENS)]
FIRST = ("I'", "m", " here", ".")
"""Tokens of an answer whose first one is no whole word, `BETWEEN` seconds apart."""
BETWEEN = 0.05
SERVED = """
store = { folder = "store" }
health = { port = 0 }
"""
THREADS = 50
"""Among which the messages of a burst are spread."""


class Speaking(DoNothing):
    """Answers with `FIRST`, and knows when its last answer began."""

    began = 0.0

    def __init__(self) -> None:
        super().__init__(*FIRST, pause=BETWEEN)

    async def create_stream(
        self, messages: Sequence[LLMMessage], **_: Any
    ) -> AsyncGenerator[str | CreateResult, None]:
        """The pieces in time; the first one at `began`."""
        self.began = time.perf_counter()
        async for piece in super().create_stream(messages):
            yield piece


@asynccontextmanager
async def served(
    adapter: Adapter,
    model: DoNothing,
    person: str,
    connected: Callable[[], object],
    *,
    stream: bool = True,
    parallel: int = 16,
) -> AsyncGenerator[Gateway]:
    """A gateway on a new store, with its adapter."""
    with tempfile.TemporaryDirectory(prefix="parley-benchmark-") as folder:
        teams = OneTeam(lambda: solo(model, stream=stream))
        limits = Limits(parallel_turns=parallel, shutdown=0.1)
        store, access = new_store(Path(folder)), Access([person])
        platforms = (adapter.name,)
        async with (
            Gateway(store, teams, access=access, limits=limits, platforms=platforms) as gateway,
            asyncio.TaskGroup() as group,
        ):
            running = group.create_task(adapter.run(gateway), name="adapter")
            await until(connected)
            yield gateway
            running.cancel()


async def started(count: int, config: str, connected: Callable[[], object]) -> Figures:
    """Start `parley serve` so many times: seconds to connection, and memory.

    The platform reports the connection; memory is resident then. `config` is the `[adapters.NAME]`
    table.
    """
    figures: Figures = {"start": [], "resident": []}
    for _ in range(count):
        with tempfile.TemporaryDirectory(prefix="parley-benchmark-") as folder:
            path = Path(folder) / "config.toml"
            path.write_text(f"{SERVED}{config}")
            start = time.perf_counter()
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "gateway.cli", "serve", "--config", str(path)),
                stderr=asyncio.subprocess.DEVNULL,
            )
            await until(connected)
            figures["start"].append(time.perf_counter() - start)
            figures["resident"].append(resident(process.pid))
            process.terminate()
            await process.wait()
            await until(lambda: not connected())
    return figures


def resident(pid: int) -> float:
    """Bytes of a process that are resident."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return float(pages * os.sysconf("SC_PAGE_SIZE"))


async def until(holds: Callable[[], object]) -> None:
    """Wait until something is so, looking every half millisecond."""
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 (what is looked at tells nobody)
            await asyncio.sleep(0.0005)


async def time_first(
    figures: Figures,
    model: Speaking,
    ask: Callable[[], Awaitable[object]],
    answered: Callable[[], object],
) -> None:
    """Add the seconds to text, from the question and the first token."""
    start = time.perf_counter()
    await ask()
    await until(answered)
    shown = time.perf_counter()
    figures["first"].append(shown - start)
    figures["token"].append(shown - model.began)


def answer(scenarios: dict[str, Callable[[int], Awaitable[Figures]]]) -> None:
    """Run the command line's scenario, and print its figures as JSON."""
    scenario = scenarios[sys.argv[1]]

    async def run() -> Figures:
        return await scenario(int(sys.argv[2]))

    print(json.dumps(asyncio.run(run())))
