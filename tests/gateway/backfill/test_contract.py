"""The laws of pauses on the smallest platform."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.backfill import pauses
from gateway.backfill.pauses import CONNECTED
from gateway.history import Redelivery
from gateway.store.units import gaps
from tests.contract.backfill import BackfillContract
from tests.fakes.rooms import Rooms, ServedRooms, room
from tests.gateway.backfill.test_pauses import marked, pausing


class RoomHarness:
    """Rooms that deliver nothing live: all is found in their history."""

    def __init__(self, folder: Path) -> None:
        self.rooms, self._folder = Rooms(), folder
        self._run: ServedRooms | None = None

    @asynccontextmanager
    async def process(self) -> AsyncGenerator[None]:
        async with pausing(self.rooms, self._folder, Redelivery()) as (run, _):
            self._run = run
            yield
        self._run = None

    async def say(self, text: str) -> None:
        self.rooms.say(room("lobby", str(len(self.rooms.lines))), text)

    async def pass_time(self, seconds: float) -> None:
        self.rooms.clock.advance(seconds)
        if self._run is not None:
            await marked(self._run, CONNECTED, self.rooms.clock.time())

    async def heard(self) -> list[str]:
        return await self._run.heard() if self._run else []

    async def cards(self) -> int:
        return len(self.rooms.cards)

    async def unread(self) -> int:
        counts = await self._run.store.run(gaps.missed_counts) if self._run else None
        return sum(counts.unread.values()) if counts else 0


class TestTheContract(BackfillContract):
    @pytest.fixture
    def harness(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RoomHarness:
        monkeypatch.setattr(pauses, "MARK_EVERY", 0.006)
        monkeypatch.setattr(pauses, "FROZEN", math.inf)  # minutes go by at once
        return RoomHarness(tmp_path)
