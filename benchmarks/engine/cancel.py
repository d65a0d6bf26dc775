"""Cancelling a run where it waits: how long until it is over."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from benchmarks.engine.api import Engine

PATIENCE = 5.0
"""Seconds after which a run counts as hanging."""


async def in_model(engine: Engine) -> float:
    """The model does not answer.

    Its client listens to cancellation as the SDKs do.
    """
    waiting = asyncio.Event()
    base = type(engine.model())

    class Hanging(base):
        async def create(self, messages: Any, *, cancellation_token: Any = None, **_: Any) -> Any:
            future = asyncio.ensure_future(asyncio.Event().wait())
            if cancellation_token is not None:
                cancellation_token.link_future(future)
            waiting.set()
            await future

    return await _cancelled(engine, engine.assistant("a", Hanging(lambda _: "")), waiting)


async def in_tool(engine: Engine) -> float:
    """A tool waits for something that does not come."""
    waiting = asyncio.Event()

    async def wait() -> str:
        """Wait."""
        waiting.set()
        await asyncio.Event().wait()
        return "never"

    return await _cancelled(engine, _caller(engine, wait), waiting)


async def in_stubborn_tool(engine: Engine) -> float:
    """A tool that does not let itself be cancelled."""
    waiting, over = asyncio.Event(), asyncio.Event()

    async def wait() -> str:
        """Wait."""
        waiting.set()
        while not over.is_set():
            try:
                await over.wait()
            except asyncio.CancelledError:
                continue
        return "late"

    try:
        return await _cancelled(engine, _caller(engine, wait), waiting)
    finally:
        over.set()


async def in_thread(engine: Engine) -> float:
    """A tool that is a plain function and blocks for ten seconds."""
    waiting, loop = asyncio.Event(), asyncio.get_running_loop()

    def wait() -> str:
        """Wait."""
        loop.call_soon_threadsafe(waiting.set)
        time.sleep(PATIENCE + 1)
        return "late"

    return await _cancelled(engine, _caller(engine, wait), waiting)


def _caller(engine: Engine, tool: Any) -> Any:
    model = engine.model(lambda n: [engine.call(n, "wait")])
    return engine.assistant("a", model, tools=[tool])


async def _cancelled(engine: Engine, agent: Any, waiting: asyncio.Event) -> float:
    """Seconds from cancellation to the run's end; infinite without an end."""
    team = engine.RoundRobinGroupChat([agent], max_turns=2)
    token = engine.CancellationToken()
    run = asyncio.ensure_future(team.run(task="Begin.", cancellation_token=token))
    await waiting.wait()
    start = time.perf_counter()
    token.cancel()
    done, _ = await asyncio.wait([run], timeout=PATIENCE)
    seconds = time.perf_counter() - start
    if done:
        run.exception() if not run.cancelled() else None
        return seconds
    return float("inf")


CANCELS: dict[str, Callable[[Engine], Awaitable[float]]] = {
    "cancel while the model is asked": in_model,
    "cancel while a tool waits": in_tool,
    "cancel while a tool ignores it": in_stubborn_tool,
    "cancel while a plain function blocks": in_thread,
}
