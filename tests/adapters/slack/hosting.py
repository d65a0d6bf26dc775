"""The adapter on the simulated workspace, with a fake host."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from adapters.slack.adapter import SlackAdapter
from adapters.slack.testing import SlackSimulator
from gateway.access.authority import Access
from gateway.config.routes import Route
from tests.adapters.slack.serving import EVERYWHERE, OPERATOR, PATIENCE, config_of, connected
from tests.fakes.adapter_host import FakeHost, Taken

MOMENT = 0.002
"""Seconds between two looks at what happened."""


@dataclass
class HostedSlack:
    """A workspace, and the host that takes what is said there."""

    slack: SlackSimulator
    host: FakeHost

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until something holds, in the workspace or in the host."""
        async with asyncio.timeout(PATIENCE):
            while not condition():  # noqa: ASYNC110 (neither tells the other)
                await asyncio.sleep(MOMENT)

    async def taken(self, n: int) -> list[Taken]:
        """Return what was taken, once there are n of it."""
        await self.until(lambda: len(self.host.taken) >= n)
        return self.host.taken

    async def settled(self) -> None:
        """Wait until all that was sent to the app is acknowledged."""
        await self.until(lambda: not self.slack.unacknowledged)


@asynccontextmanager
async def hosted(
    slack: SlackSimulator,
    *,
    routes: Sequence[dict[str, Any]] = (EVERYWHERE,),
    host: FakeHost | None = None,
    **settings: Any,
) -> AsyncGenerator[HostedSlack]:
    """The adapter with a host, once it is connected.

    An earlier run's host knows what it has taken.
    """
    access = Access([OPERATOR], routes=[Route.model_validate(route) for route in routes])
    host = host or FakeHost(access)
    adapter = SlackAdapter(config_of(slack, **settings), clock=slack.world.clock)
    others = list(slack.sockets.live)
    task = asyncio.get_running_loop().create_task(adapter.run(host), name="adapter slack")
    run = HostedSlack(slack, host)
    try:
        while not connected(slack)():
            await asyncio.wait([task], timeout=MOMENT)
            if task.done():
                await task
        yield run
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        # What is sent next is for the next process, not for these connections.
        await run.until(lambda: all(each in others for each in slack.sockets.live))
