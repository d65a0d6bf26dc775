"""Laws of pauses that hold for every adapter."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import pytest

HOURS, DAYS = 7200.0, 9 * 86_400.0
TIMES = 8
"""Times that a process dies in a row: more than a platform tries to deliver."""


class BackfillHarness(Protocol):
    """A platform with its people, and processes that serve it."""

    def process(self) -> AbstractAsyncContextManager[None]:
        """A process that is connected, and has noted that."""
        ...

    async def say(self, text: str) -> None:
        """Let somebody ask the team something, in a conversation of its own."""
        ...

    async def pass_time(self, seconds: float) -> None:
        """Let time go by, for a process, too."""
        ...

    async def heard(self) -> list[str]:
        """The texts that the running process has taken so far."""
        ...

    async def cards(self) -> int:
        """The number of cards that offer an answer.

        Raises NotImplementedError where there are none.
        """
        ...

    async def unread(self) -> int:
        """The number of places that are still to be read."""
        ...


class BackfillContract:
    """Subclass it with a fixture `harness`."""

    async def _until(self, harness: BackfillHarness, texts: list[str]) -> None:
        async with asyncio.timeout(20):
            while sorted(await harness.heard()) != sorted(texts) or await harness.unread():
                await harness.pass_time(1)
                await asyncio.sleep(0.01)

    async def test_what_was_said_in_a_pause_is_heard_once(self, harness: BackfillHarness) -> None:
        async with harness.process():
            pass
        said = ["first", "second", "third"]
        for text in said:
            await harness.pass_time(60)
            await harness.say(text)
        await harness.pass_time(400)
        for _ in range(2):
            async with harness.process():
                await self._until(harness, said)

    async def test_what_is_old_is_offered_once(self, harness: BackfillHarness) -> None:
        async with harness.process():
            pass
        await harness.say("hours ago")
        await harness.pass_time(HOURS)
        try:
            await harness.cards()
        except NotImplementedError:
            pytest.skip("there are no cards")
        for _ in range(2):
            async with harness.process():
                async with asyncio.timeout(20):
                    while not await harness.cards() or await harness.unread():
                        await harness.pass_time(1)
                        await asyncio.sleep(0.01)
                assert await harness.heard() == []
                assert await harness.cards() == 1

    @pytest.mark.parametrize("away", [9.0, 18.0])
    async def test_a_process_that_dies_again_and_again_forgets_nobody(
        self, harness: BackfillHarness, away: float
    ) -> None:
        said: list[str] = []
        for n in range(TIMES):
            async with harness.process():
                await harness.pass_time(60 - away)
            await harness.pass_time(away / 2)
            said.append(f"question {n}")
            await harness.say(said[-1])
            await harness.pass_time(away / 2)
        async with harness.process():
            await self._until(harness, said)

    async def test_a_long_pause_makes_what_a_series_missed_no_older(
        self, harness: BackfillHarness
    ) -> None:
        """It could be heard at the last connection before the pause."""
        said: list[str] = []
        for n in range(3):
            async with harness.process():
                await harness.pass_time(42)
            await harness.pass_time(9)
            said.append(f"question {n}")
            await harness.say(said[-1])
            await harness.pass_time(9)
        async with harness.process():
            await harness.pass_time(42)
        await harness.pass_time(DAYS)
        async with harness.process():
            await self._until(harness, said)
