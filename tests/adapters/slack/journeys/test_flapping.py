"""Flapping links and processes that keep dying forget nobody.

Slack's four tries to deliver a message all fall into short gaps, of which none is worth a look.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from adapters.slack.connection import socket_mode
from adapters.slack.simulator.call import Call
from adapters.slack.testing import ConnectionReset, ServerError, SlackSimulator, TooManyRequests
from gateway.backfill import pauses
from gateway.backfill.pauses import ALIVE
from gateway.missed import DAY
from tests.adapters.slack.journeys.test_standby import Standby
from tests.adapters.slack.serving import ServedSlack, connected, served

SHORT = 9.0, 3.0
"""Seconds of a gap, and of the time until the next: Slack's tries, whole minutes apart, meet gaps
alone.
"""
LONG = 18.0, 42.0
"""The same, with gaps that are just not worth a look."""
SERIES = 480.0
STEP = 15.0
"""Seconds for which Slack's time goes on at once."""
LOOK_EVERY = 0.002
"""Seconds of the machine's time between two looks of the process."""


@dataclass
class Link:
    """A link to Slack, and what people wrote."""

    slack: SlackSimulator
    run: ServedSlack
    asked: list[str] = field(default_factory=list)
    looks: bool = True
    """The process looks so often that it can be waited for."""

    def __post_init__(self) -> None:
        self._closed = self.slack.faults.add(ServerError(), is_any, times=0)

    async def cut(self) -> None:
        """Cut the sockets, with Slack's API away, until the process has noticed."""
        before = len(self.slack.calls("apps.connections.open"))
        self._closed.times = -1
        await self.slack.sockets.close()
        await self.run.until(
            lambda: (
                len(self.slack.calls("apps.connections.open")) > before
                and not self.slack.sockets.live
            )
        )

    async def mend(self) -> None:
        """Let the process connect, until it has noted that."""
        self._closed.times = 0
        await self.run.until(connected(self.slack))
        await self.noted()

    async def noted(self) -> None:
        """Wait until the process has noted that it is connected."""
        now = f"{self.slack.clock.time():.3f}"
        async with asyncio.timeout(20):
            while now not in (await self.run.gateway.marks.read("slack")).values():  # noqa: ASYNC110 (a store tells nobody)
                await asyncio.sleep(0.005)

    async def wait(self, seconds: float) -> None:
        """Let time go by in which the process lives and looks."""
        while seconds > 0:
            self.slack.clock.advance(min(STEP, seconds))
            seconds -= STEP
            if self.looks and not self._closed.times:
                await self.noted()  # else Slack's time runs away from a slow store
            else:
                await asyncio.sleep(2 * LOOK_EVERY)

    async def ask(self) -> None:
        """Let somebody ask in a thread of its own."""
        self.asked.append(f"question {len(self.asked)}")
        person = self.slack.person(f"person{len(self.asked) % 8}")
        await person.asks("general", self.asked[-1])

    async def flap(self, seconds: float = SERIES, rhythm: tuple[float, float] = LONG) -> None:
        """Cut and mend, while somebody asks in each gap."""
        away, back = rhythm
        for _ in range(round(seconds / (away + back))):
            await self.cut()
            await self.wait(away / 2)
            await self.ask()
            await self.wait(away / 2)
            await self.mend()
            await self.wait(back)

    def reads(self) -> int:
        """Number of uncut looks at the list of channels."""
        return sum(not each.fault for each in self.slack.calls("users.conversations"))

    async def all_heard(self) -> None:
        """Let all that Slack still delivers come, and find each question once."""
        async with asyncio.timeout(20):
            await self.wait(400)  # more than Slack's last try
            while len(await self.run.inbox("text")) < len(self.asked):
                self.slack.clock.advance(1)
                await asyncio.sleep(0.01)
        assert sorted(await self.run.inbox("text")) == sorted(self.asked)

    async def alive(self) -> float:
        """The time until which everything was heard or noted."""
        async with asyncio.timeout(20):
            while not (marks := await self.run.gateway.marks.read("slack", ALIVE)):  # noqa: ASYNC110 (a store tells nobody)
                await asyncio.sleep(0.005)
        return float(marks[ALIVE])


def is_any(call: Call) -> bool:
    """True of each call."""
    return True


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the process look at once; Slack has its own time."""
    monkeypatch.setattr(socket_mode, "FIRST_WAIT", 0.005)
    monkeypatch.setattr(socket_mode, "LONGEST_WAIT", 0.02)
    monkeypatch.setattr(pauses, "MARK_EVERY", LOOK_EVERY)
    monkeypatch.setattr(pauses, "FROZEN", math.inf)


@asynccontextmanager
async def link(slack: SlackSimulator, folder: Path) -> AsyncGenerator[Link]:
    """A served workspace behind a link that can be cut."""
    async with served(slack, folder, answers=("fine",) * 80, parallel=80) as run:
        flapping = Link(slack, run)
        await flapping.noted()
        yield flapping


@pytest.mark.parametrize(
    "rhythm", [LONG, pytest.param(SHORT, marks=pytest.mark.chaos)], ids=["long", "short"]
)
async def test_a_link_that_flaps_for_eight_minutes_forgets_nobody(
    tmp_path: Path, rhythm: tuple[float, float]
) -> None:
    async with SlackSimulator(rates=False) as slack, link(slack, tmp_path) as flapping:
        await flapping.flap(rhythm=rhythm)
        await flapping.all_heard()
        assert flapping.reads() == 1


READS = ("users.conversations", "conversations.history", "conversations.replies")


async def test_a_short_series_is_left_to_slack_and_moves_the_mark_after_six_minutes(
    tmp_path: Path,
) -> None:
    async with SlackSimulator(rates=False) as slack, link(slack, tmp_path) as flapping:
        before = await flapping.alive()
        await flapping.flap(240)
        await flapping.wait(360 - LONG[1])
        await flapping.noted()
        assert await flapping.alive() == before
        await flapping.wait(60)
        async with asyncio.timeout(20):
            while await flapping.alive() == before:  # noqa: ASYNC110 (a store tells nobody)
                await asyncio.sleep(0.01)
        await flapping.all_heard()
        assert flapping.reads() == 0


async def test_a_process_that_dies_every_minute_does_not_move_the_mark(tmp_path: Path) -> None:
    asked: list[str] = []
    alive: list[float] = []
    async with SlackSimulator(rates=False) as slack:
        for _ in range(8):
            async with link(slack, tmp_path) as flapping:
                alive.append(await flapping.alive())
                await flapping.wait(LONG[1])
                await flapping.noted()
            slack.clock.advance(LONG[0] / 2)
            asked.append(f"question {len(asked)}")
            await slack.person("ann").asks("general", asked[-1])
            slack.clock.advance(LONG[0] / 2)
        async with link(slack, tmp_path) as flapping:
            flapping.asked = asked
            await flapping.all_heard()
            assert flapping.reads() == 1
    assert alive[:5] == alive[:1] * 5
    assert len(set(alive)) == 2


@pytest.mark.parametrize("mark_every", [LOOK_EVERY, 0.0])
async def test_what_a_series_missed_is_not_too_old_after_a_long_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark_every: float
) -> None:
    """It could be heard at the last connection before the pause.

    However often the marks move: none does before the pause is noted.
    """
    monkeypatch.setattr(pauses, "MARK_EVERY", mark_every)
    asked: list[str] = []
    async with SlackSimulator(rates=False) as slack:
        for n in range(4):
            async with link(slack, tmp_path) as flapping:
                await flapping.wait(LONG[1])
            if n < 3:
                slack.clock.advance(LONG[0] / 2)
                asked.append(f"question {n}")
                await slack.person("ann").asks("general", asked[-1])
                slack.clock.advance(LONG[0] / 2)
        slack.world.deliveries.retry_after = ()
        slack.clock.advance(9 * DAY)
        async with link(slack, tmp_path) as flapping:
            flapping.asked = asked
            await flapping.all_heard()


@pytest.mark.chaos
async def test_a_cut_while_the_history_is_read_forgets_nobody(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack, link(slack, tmp_path) as flapping:
        slack.fail("conversations.history", ConnectionReset())
        slack.fail("conversations.replies", ConnectionReset(), times=3)
        await flapping.flap(360)
        await flapping.run.until(lambda: slack.calls("conversations.history"))
        await flapping.flap(SERIES)
        await flapping.all_heard()


@pytest.mark.chaos
async def test_a_refused_read_after_a_series_forgets_nobody(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack, link(slack, tmp_path) as flapping:
        for method in READS:
            slack.fail(method, TooManyRequests(retry_after=30), times=2)
        await flapping.flap()
        await flapping.all_heard()


@pytest.mark.chaos
async def test_the_node_that_takes_over_in_a_series_goes_on_from_the_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Standby(monkeypatch)
    async with SlackSimulator(rates=False) as slack, link(slack, tmp_path) as flapping:
        await flapping.run.gateway.marks.keep("slack", ALIVE, f"{slack.clock.time():.3f}")
        await flapping.flap()
        assert flapping.reads() == 0  # that is for the other node
        node.ours = True
        await flapping.all_heard()
        assert flapping.reads() == 1


async def test_what_slacks_last_try_could_not_store_is_found_by_when_it_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Standby(monkeypatch)
    node.ours = True
    async with SlackSimulator(rates=False) as slack, link(slack, tmp_path) as flapping:
        slack.hold()
        slack.world.deliveries.retry_after = ()
        await flapping.ask()
        await flapping.wait(400)
        await flapping.noted()
        node.away = True
        slack.release()
        await flapping.run.until(lambda: flapping.asked[0] in node.refused)
        slack.clock.advance(3)
        assert all(each.lost for each in slack.deliveries)
        node.away = False
        await flapping.all_heard()


@pytest.mark.parametrize("mark_every", [LOOK_EVERY, 30.0])
async def test_a_process_that_stood_still_looks_for_what_was_said_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark_every: float
) -> None:
    """At once, not only at the next mark."""
    monkeypatch.setattr(pauses, "MARK_EVERY", mark_every)
    monkeypatch.setattr(pauses, "LOOKS", round(mark_every / LOOK_EVERY))
    async with SlackSimulator(rates=False) as slack, link(slack, tmp_path) as flapping:
        flapping.looks = mark_every == LOOK_EVERY
        await flapping.wait(400)
        monkeypatch.setattr(pauses, "FROZEN", 20.0)
        slack.hold()  # the connection is dead, and nobody has noticed
        await flapping.ask()
        slack.world.deliveries.close()
        slack.clock.advance(600)
        await flapping.all_heard()
