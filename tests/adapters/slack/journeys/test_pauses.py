"""After a pause longer than Slack's retries nobody is forgotten."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from adapters.slack.simulator.state import Message
from adapters.slack.testing import AppSettings, Person, SlackSimulator
from gateway.app.operator import owner_status
from gateway.conversation import ConversationKey
from gateway.store.decisions import NewThread
from gateway.store.units import adapters as adapter_units
from gateway.store.units import gaps, rows
from tests.adapters.slack.pause_child import AheadClock
from tests.adapters.slack.serving import ServedSlack, served
from tests.fakes.forked import forked
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import is_written

READS = frozenset({"conversations.history", "conversations.replies", "users.conversations"})
ANSWERS = ("fine",) * 200
MINUTES = 60.0


def simulated(*, slow: bool = False) -> SlackSimulator:
    """A workspace that bounds how fast it is read, and nothing else."""
    slack = SlackSimulator(AppSettings(outside_marketplace=slow), rates=False)
    slack.world.rates.always = READS
    return slack


@dataclass
class Crowd:
    """People with threads of their own, and others who mention the team."""

    slack: SlackSimulator
    folder: Path
    advance: Callable[[float], object]
    threads: int = 60
    mentions: int = 20
    between: float = 3.0
    """Seconds from one mention to the next."""
    asked: dict[str, tuple[Person, str, Message]] = field(default_factory=dict)
    """By what they wrote: who, in which channel, and in which thread."""
    roots: list[Message] = field(default_factory=list)

    async def arrange(self) -> None:
        """Let the threads be there, and Parley end."""
        store = new_store(self.folder)
        async with store.own():
            for n in range(self.threads):
                root = await self.slack.person(f"p{n}").says("general", f"thread {n}")
                self.roots.append(root)
                key = ConversationKey(
                    platform="slack", workspace="T0HOME", channel=root.channel, root=root.ts
                )
                new = NewThread(id=f"t{n}", team="demo", definition="1")
                await store.run(rows.create_thread, new, key=key)
            self.advance(5 * MINUTES)
            await store.run(
                adapter_units.mark, "slack", "alive", f"{self.slack.world.clock.time():.3f}"
            )
            self.advance(MINUTES)

    async def write(self) -> None:
        """Let all write within two minutes."""
        new = self.slack.add_channel("new")
        for n, root in enumerate(self.roots):
            person = self.slack.person(f"p{n}")
            await person.says("general", f"reply {n}", thread=root)
            self.asked[f"reply {n}"] = person, "general", root
            self.advance(1)
        for n in range(self.mentions):
            person = self.slack.person(f"m{n}")
            new.members.add(person.id)
            text = f"mention {n}"
            place = ("general", "new", person.direct)[n % 3]
            said = await (person.tells(text) if n % 3 == 2 else person.asks(place, text))
            self.asked[text] = person, place, said
            self.advance(self.between)

    @property
    def nearly_too_old(self) -> float:
        """Seconds after which only the last ones are younger than 15 minutes."""
        return 15 * MINUTES - self.mentions * self.between / 2

    def outcomes(self) -> Counter[str]:
        """Numbers of people by what they got."""
        return Counter(self._outcome(place, root) for _, place, root in self.asked.values())

    def _outcome(self, place: str, root: Message) -> str:
        said = self.slack.messages(place, root)
        bots = [each for each in said if each.author == self.slack.bot.id]
        cards = sum("Answer now" in each.buttons for each in bots)
        answers = sum("fine" in each.text for each in bots)
        return {(0, 0): "nothing", (1, 0): "card", (0, 1): "answer"}.get(
            (cards, answers), f"{cards} cards, {answers} answers"
        )


async def unread(run: ServedSlack) -> int:
    return sum((await run.store.run(gaps.missed_counts)).unread.values())


async def pass_time(run: ServedSlack, *, left: int = 0, step: float = 5.0) -> None:
    """Let time go on until so little is left to read."""
    made = -1
    async with asyncio.timeout(40):
        while await unread(run) > left:
            if made == (made := len(run.slack.calls())):
                run.slack.clock.advance(step)
            await asyncio.sleep(0.01)


async def all_written(folder: Path) -> None:
    """Wait until everything that was said is on the platform."""
    async with asyncio.timeout(40):
        while True:
            if is_written(folder):
                return
            await asyncio.sleep(0.01)


SIZES = [
    pytest.param((8, 4), id="twelve people"),
    pytest.param((60, 20), id="eighty people", marks=(pytest.mark.chaos, pytest.mark.nightly)),
]


@pytest.mark.parametrize("size", SIZES)
async def test_all_who_wrote_in_a_pause_are_heard(tmp_path: Path, size: tuple[int, int]) -> None:
    async with simulated() as slack:
        crowd = Crowd(slack, tmp_path, slack.clock.advance, *size)
        await crowd.arrange()
        await crowd.write()
        slack.clock.advance(crowd.nearly_too_old)
        async with served(slack, tmp_path, answers=ANSWERS, parallel=80) as run:
            await run.until(lambda: slack.calls("conversations.replies"))
            running, status = await owner_status(run.store)
            assert running
            assert "still to be read" in status
            await pass_time(run)
            await run.until(lambda: not crowd.outcomes()["nothing"])
            assert set(crowd.outcomes()) == {"answer", "card"}
            _, status = await owner_status(run.store)
            assert f"{sum(size)} missed messages found" in status
            assert "to be read" not in status
            assert slack.per_minute("conversations.replies") <= 50


@pytest.mark.parametrize("size", SIZES)
async def test_they_are_heard_at_a_page_a_minute_across_restarts(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with simulated(slow=True) as slack:
        crowd = Crowd(slack, tmp_path, slack.clock.advance, *size)
        await crowd.arrange()
        await crowd.write()
        slack.clock.advance(crowd.nearly_too_old)
        for left in (size[0] * 3 // 4, size[0] // 2, 0, 0):  # ends in the middle, twice
            async with served(slack, tmp_path, answers=ANSWERS, parallel=80) as run:
                await pass_time(run, left=left, step=60.0)
                await all_written(tmp_path)
                if not left:  # what a run has begun to post, the next one may look up: in a minute
                    await run.until(
                        lambda: slack.clock.advance(1) or not crowd.outcomes()["nothing"]
                    )
        assert set(crowd.outcomes()) == {"answer", "card"}
        for method in ("conversations.history", "conversations.replies"):
            assert slack.per_minute(method) <= 3  # with what was refused


@pytest.mark.chaos
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("seed", "size"),
    [
        (0, (10, 6)),
        *(pytest.param(seed, (30, 12), marks=pytest.mark.nightly) for seed in (0, 1)),
    ],
)
async def test_kills_in_the_work_off_lose_and_double_nothing(
    tmp_path: Path, seed: int, size: tuple[int, int]
) -> None:
    clock, rng = AheadClock(), Random(seed)
    slack = SlackSimulator(clock=clock, rates=False)
    slack.world.rates.always = READS

    def advance(seconds: float) -> None:
        clock.offset += seconds

    async with slack:
        slack.world.deliveries.retry_after = ()  # the pause is longer
        # So far apart that some are young enough, however long a real process takes to start.
        crowd = Crowd(slack, tmp_path, advance, *size, between=30.0)
        await crowd.arrange()
        await crowd.write()
        advance(crowd.nearly_too_old)
        for last in (*(False,) * 4, True):
            limit = len(slack.calls()) + rng.randrange(10, 2 * size[0])
            async with child(slack, tmp_path, clock.offset):
                if last:
                    await slack.until(lambda: not crowd.outcomes()["nothing"], within=200)
                else:
                    await slack.until(lambda limit=limit: len(slack.calls()) >= limit, within=60)
            advance(rng.choice((1.0, 45.0)))  # less or more than what Slack itself repeats
        assert set(crowd.outcomes()) == {"answer", "card"}
    store = new_store(tmp_path)
    async with store.own():
        texts = await store.write(lambda c: [row[0] for row in c.fetch("SELECT text FROM inbox")])
    assert len(texts) == len(set(texts))


@asynccontextmanager
async def child(slack: SlackSimulator, folder: Path, offset: float) -> AsyncGenerator[None]:
    """A process that serves the workspace, and is killed."""
    process = await forked(
        *("tests.adapters.slack.pause_child", slack.api_url, slack.bot_token),
        *(str(folder), f"{offset}"),
        folder=Path.cwd(),
        environment=os.environ,
        log=folder / "log",
    )
    try:
        yield
    finally:
        process.kill()
        await process.wait()
