"""The whole adapter with its SDK and a real gateway."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters.slack import Config
from adapters.slack.adapter import SlackAdapter
from adapters.slack.testing import SlackSimulator
from gateway.access.authority import Access
from gateway.app.stores import AnyStore
from gateway.config.routes import Route
from gateway.control.socket_server import serve_control
from gateway.gateway import Gateway
from gateway.gateway import Limits as Bounds
from gateway.registry import ToolRule
from gateway.store.tokens import TokenStore
from gateway.store.units import gaps, outbox
from teams.base import Team
from teams.models.replay import ReplayChatCompletionClient
from tests.fakes.held_catch_up import HeldCatchUp
from tests.fakes.new_store import new_store
from tests.gateway.scripted import ScriptedTeams, model, solo

PATIENCE = 40.0
OPERATOR = "slack:T0HOME:U0BOSS"
EVERYWHERE: dict[str, Any] = {
    "adapter": "slack",
    "channels": ["*"],
    "dm": True,
    "users": ["members"],
}


def config_of(slack: SlackSimulator, **more: Any) -> Config:
    values = {
        "bot_token": slack.bot_token,
        "app_token": slack.app_token,
        "api_url": slack.api_url,
        **more,
    }
    return Config.model_validate({name: value for name, value in values.items() if value})


@dataclass
class ServedSlack:
    """A workspace that is served, and what happened in the gateway."""

    slack: SlackSimulator
    gateway: Gateway
    client: ReplayChatCompletionClient
    adapter: asyncio.Task[None]
    store: AnyStore
    teams: ScriptedTeams

    @property
    def asked(self) -> int:
        """Number of the model's calls."""
        return len(self.client.create_calls)

    def heard(self, n: int = -1) -> Any:
        """Messages that the model received at its n-th call."""
        return self.client.create_calls[n]["messages"]

    async def inbox(self, column: str = "outcome") -> list[Any]:
        """A column of everything that was taken, in order."""
        return await self.store.write(
            lambda c: [row[0] for row in c.fetch(f"SELECT {column} FROM inbox ORDER BY id")]
        )

    async def accepted(self, n: int) -> None:
        """Wait until n messages were taken."""
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while len(await self.inbox()) < n:
            assert asyncio.get_running_loop().time() < deadline, await self.inbox()
            await asyncio.sleep(0.01)

    async def all_begun(self) -> None:
        """Wait until no message waits for a turn."""
        async with asyncio.timeout(PATIENCE):
            while "queued" in await self.inbox():  # noqa: ASYNC110 (a store tells nobody)
                await asyncio.sleep(0.01)

    async def caught_up(self) -> None:
        """Wait until nothing is left to read after a pause."""
        async with asyncio.timeout(PATIENCE):
            while (await self.store.run(gaps.missed_counts)).unread:  # noqa: ASYNC110 (a store tells nobody)
                await asyncio.sleep(0.01)

    async def noted(self) -> None:
        """Wait until something is to be read later."""
        async with asyncio.timeout(PATIENCE):
            while not (await self.store.run(gaps.missed_counts)).unread:  # noqa: ASYNC110 (a store tells nobody)
                await asyncio.sleep(0.01)

    async def delivered(self) -> None:
        """Wait until everything is on the platform."""
        async with asyncio.timeout(PATIENCE):
            while await self.store.run(outbox.undelivered_threads, "slack"):  # noqa: ASYNC110 (in the store)
                await asyncio.sleep(0.01)

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until something holds, in the workspace or in the gateway."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not condition():  # noqa: ASYNC110 (a model that is asked tells nobody)
                    await asyncio.sleep(0.01)
        except TimeoutError:
            if self.adapter.done():
                self.adapter.result()  # nobody else says why it has ended
            raise

    async def settled(self) -> None:
        """Wait until all that was sent to the app is acknowledged."""
        await self.until(lambda: not self.slack.unacknowledged)


def connected(slack: SlackSimulator, n: int = 2) -> Callable[[], bool]:
    return lambda: len(slack.sockets.live) >= n


@asynccontextmanager
async def served(
    slack: SlackSimulator,
    folder: Path,
    make: Callable[[ReplayChatCompletionClient], Team] | None = None,
    *,
    answers: Sequence[Any] = ("fine",) * 20,
    routes: Sequence[dict[str, Any]] = (EVERYWHERE,),
    settings: dict[str, Any] | None = None,
    rules: dict[str, ToolRule] | None = None,
    keys: dict[str, Any] | None = None,
    parallel: int = 16,
    clock: Callable[[], float] = time.time,
    meanwhile: Callable[[Gateway], Awaitable[None]] | None = None,
) -> AsyncGenerator[ServedSlack]:
    """A gateway with the adapter, once it is connected.

    `meanwhile` happens between the look for missed messages and their acceptance.
    """
    client = model(*answers)
    teams = ScriptedTeams(lambda: make(client) if make else solo(client), rules=rules or {})
    store = new_store(folder)
    access = Access([OPERATOR], routes=[Route.model_validate(route) for route in routes])
    config = config_of(slack, **(settings or {}))
    tokens = TokenStore(store, keys or {})
    bounds = Bounds(parallel_turns=parallel)
    others = list(slack.sockets.live)
    gateway = Gateway(store, teams, access=access, limits=bounds, tokens=tokens, clock=clock)
    async with gateway, serve_control(gateway):
        host: Any = HeldCatchUp(gateway, meanwhile) if meanwhile else gateway
        running = SlackAdapter(config, clock=slack.world.clock).run(host)
        task = asyncio.get_running_loop().create_task(running, name="adapter slack")
        try:
            if config.mode == "socket":
                while not connected(slack)():
                    await asyncio.wait([task], timeout=0.01)
                    if task.done():
                        await task
            yield ServedSlack(slack, gateway, client, task, store, teams)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            # What is sent next is for the next process, not for these connections.
            await slack.until(lambda: all(each in others for each in slack.sockets.live))
