"""The laws of pauses on Slack."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from adapters.slack.testing import SlackSimulator
from gateway.backfill import pauses
from gateway.store.units import gaps
from tests.adapters.slack.serving import ServedSlack, served
from tests.contract.backfill import BackfillContract

pytestmark = pytest.mark.chaos


class SlackHarness:
    def __init__(self, slack: SlackSimulator, folder: Path) -> None:
        self._slack, self._folder = slack, folder
        self._run: ServedSlack | None = None

    @asynccontextmanager
    async def process(self) -> AsyncGenerator[None]:
        async with served(self._slack, self._folder, answers=("fine",) * 40) as run:
            self._run = run
            await self._marked()
            yield
        self._run = None

    async def _marked(self) -> None:
        now = f"{self._slack.clock.time():.3f}"
        async with asyncio.timeout(20):
            while self._run and now not in (await self._run.gateway.marks.read("slack")).values():  # noqa: ASYNC110 (a store tells nobody)
                await asyncio.sleep(0.005)

    async def say(self, text: str) -> None:
        await self._slack.person("ann").asks("general", text)

    async def pass_time(self, seconds: float) -> None:
        for _ in range(max(1, min(40, round(seconds / 15)))):
            self._slack.clock.advance(seconds / max(1, min(40, round(seconds / 15))))
            await self._marked()

    async def heard(self) -> list[str]:
        return await self._run.inbox("text") if self._run else []

    async def cards(self) -> int:
        said = self._slack.messages("general")
        return sum("Answer now" in each.buttons for each in said)

    async def unread(self) -> int:
        counts = await self._run.store.run(gaps.missed_counts) if self._run else None
        return sum(counts.unread.values()) if counts else 0


class TestTheContract(BackfillContract):
    @pytest.fixture
    async def harness(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> AsyncIterator[SlackHarness]:
        monkeypatch.setattr(pauses, "MARK_EVERY", 0.002)
        monkeypatch.setattr(pauses, "FROZEN", math.inf)  # minutes go by at once
        async with SlackSimulator(rates=False) as slack:
            yield SlackHarness(slack, tmp_path)
