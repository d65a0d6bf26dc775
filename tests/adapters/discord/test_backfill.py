"""The laws of pauses on Discord."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from adapters.discord.connection import shards
from adapters.discord.connection.shard_state import find_state
from adapters.discord.testing import DiscordSimulator
from gateway.gateway import Gateway
from gateway.store.units import gaps
from tests.adapters.discord.serving import bot_messages, serving
from tests.contract.backfill import BackfillContract
from tests.fakes.tested_store import rows_in
from tests.gateway.scripted import solo

pytestmark = pytest.mark.chaos


class DiscordHarness:
    def __init__(self, discord: DiscordSimulator, folder: Path) -> None:
        self._discord, self._folder = discord, folder
        self._general, self._ann = discord.channel("general"), discord.person("alice")
        self._gateway: Gateway | None = None

    @asynccontextmanager
    async def process(self) -> AsyncGenerator[None]:
        now, team = self._discord.world.clock.now, lambda: solo(*["Fine."] * 40)
        began = now()
        async with serving(
            self._discord, self._folder, team, clock=now, gateway_clock=now
        ) as gateway:
            self._gateway = gateway
            async with asyncio.timeout(10):
                while not await self._is_noted(began):  # noqa: ASYNC110 (a store tells nobody)
                    await asyncio.sleep(0.01)
            yield
        self._gateway = None
        await self._discord.until(lambda: not self._discord.gateway.open_sessions)

    async def _is_noted(self, began: float) -> bool:
        """True once all pauses before this process are in the work list."""
        marks = await self._gateway.marks.read("discord") if self._gateway else {}
        state = find_state(marks, 0, 1, 0.0)
        return state.heard >= began and not state.owed

    async def say(self, text: str) -> None:
        await self._ann.mentions(self._general, text)

    async def pass_time(self, seconds: float) -> None:
        self._discord.advance(seconds)

    async def heard(self) -> list[str]:
        return [str(text) for (text,) in rows_in(self._folder, "SELECT text FROM inbox")]

    async def cards(self) -> int:
        said = bot_messages(self._discord, self._general)
        return sum("Answer now" in str(each.components) for each in said)

    async def unread(self) -> int:
        counts = await self._gateway.store.run(gaps.missed_counts) if self._gateway else None
        return sum(counts.unread.values()) if counts else 0


class TestTheContract(BackfillContract):
    @pytest.fixture
    def harness(
        self, discord: DiscordSimulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> DiscordHarness:
        monkeypatch.setattr(shards, "LOOK_SECONDS", 0.02)
        return DiscordHarness(discord, tmp_path)
