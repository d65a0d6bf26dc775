"""People who write messages with marks, some of them at once."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable
from itertools import count

from tests.chaos.campaign.plan import DIRECT, PEOPLE, Kind, Say, text_of
from tests.chaos.campaign.platform import Platform
from tests.chaos.nodes.judge import Sent
from tests.chaos.nodes.watch import PATIENCE, NotSeen, Watch

LEAST = 3
"""Messages of each conversation."""
OPEN = 2
"""Messages of a conversation that wait for answers at a time."""
BREATH = 1.0
"""Seconds, at most, until somebody who waited writes again."""
CHANNEL = "general"
KINDS: tuple[Kind, ...] = ("plain", "plain", "tool")


class People:
    """Conversations that go on until they are told to end."""

    def __init__(self, watch: Watch, seed: int) -> None:
        self._watch = watch
        self._dice = random.Random(seed)
        self._numbers = count(1)
        self.sent: dict[int, Sent] = {}
        self.ending = False

    async def talk(self, platform: Platform, times: int) -> None:
        """Converse so often in a channel, and with the bot alone."""
        async with asyncio.TaskGroup() as group:
            for person in PEOPLE[:times]:
                group.create_task(self._converse(platform, CHANNEL, PEOPLE))
                group.create_task(self._converse(platform, DIRECT, [person]))

    async def _converse(self, platform: Platform, where: str, people: Iterable[str]) -> None:
        mine: list[int] = []
        people = list(people)
        while not self.ending or len(mine) < LEAST:
            n = next(self._numbers)
            person = self._dice.choice(people)
            said = Say(n, person, where, mine[0] if mine else n, self._dice.choice(KINDS))
            stored = self._watch.stored.intersection(mine)
            await self._say(platform, said)
            self.sent[n] = Sent(n, platform.place_of(n), stored)
            mine.append(n)
            await self._pause(mine)

    async def _say(self, platform: Platform, said: Say) -> None:
        if not await platform.say(said, text_of(said), patience=PATIENCE):
            raise NotSeen(f"{said.n} can't be written, as its thread does not come")

    async def _pause(self, mine: list[int]) -> None:
        """Wait for an answer, for the store, or for nothing."""
        watch, last = self._watch, mine[-1]
        match self._dice.choice(("answer", "store", "nothing")):
            case "answer":
                await watch.until(lambda: last in watch.answered, f"{last} is not answered")
                await asyncio.sleep(self._dice.uniform(0, BREATH))
            case "store":
                await watch.until(lambda: last in watch.stored, f"{last} is not stored")
            case _:
                pass
        await watch.until(
            lambda: len(set(mine) - watch.answered) < OPEN,
            lambda: f"{sorted(set(mine) - watch.answered)} are not answered",
        )
