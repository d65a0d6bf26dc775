"""The time that platforms tell, against the machine's."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from adapters.discord.testing import DiscordSimulator
from adapters.slack.simulator.clock import VirtualClock
from adapters.slack.testing import SlackSimulator
from gateway.base.outside_time import OutsideClock, told_time
from gateway.gateway import Gateway
from tests.adapters.discord.serving import serving
from tests.adapters.slack.serving import served
from tests.fakes.new_store import new_store
from tests.gateway.scripted import ScriptedTeams, solo

DAY = 86400.0
Clock = Callable[[], float]


@asynccontextmanager
async def on_slack(folder: Path, clock: Clock) -> AsyncGenerator[Gateway]:
    async with (
        SlackSimulator(clock=VirtualClock(time.time())) as slack,
        served(slack, folder, clock=clock) as here,
    ):
        yield here.gateway


@asynccontextmanager
async def on_discord(folder: Path, clock: Clock) -> AsyncGenerator[Gateway]:
    async with (
        DiscordSimulator() as discord,
        serving(discord, folder, lambda: solo("one"), gateway_clock=clock) as gateway,
    ):
        yield gateway


PLATFORMS = pytest.mark.parametrize("on", [on_slack, on_discord])
On = Callable[[Path, Clock], AbstractAsyncContextManager[Gateway]]


async def used(folder: Path, at: float) -> None:
    """Make a store that was used at that time."""
    teams = ScriptedTeams(lambda: solo("one"))
    async with Gateway(new_store(folder, clock=lambda: at), teams, clock=lambda: at) as gateway:
        await gateway.client.create_thread()
        await gateway._life.tidy()


@PLATFORMS
async def test_a_long_pause_is_believed_once_the_platform_tells_the_time(
    tmp_path: Path, on: On
) -> None:
    await used(tmp_path, time.time() - 100 * DAY)
    async with on(tmp_path, time.time) as gateway, asyncio.timeout(20):
        while (await gateway.client.status()).troubles:  # noqa: ASYNC110 (a status tells nobody)
            await asyncio.sleep(0.01)


@PLATFORMS
async def test_a_clock_that_is_ahead_of_the_platform_is_said(tmp_path: Path, on: On) -> None:
    await used(tmp_path, time.time())
    async with on(tmp_path, lambda: time.time() + 100 * DAY) as gateway, asyncio.timeout(20):
        while "ahead of the time" not in str((await gateway.client.status()).troubles):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("date", [None, "", "soon", "Mon, 99 Jan 2027 08:00:00 GMT"])
def test_an_answer_without_a_date_tells_nothing(date: str | None) -> None:
    assert told_time({} if date is None else {"Date": date}) is None


def test_a_date_is_told_in_seconds() -> None:
    assert told_time({"Date": "Fri, 15 Jan 2027 08:00:00 GMT"}) == 1_800_000_000


def test_a_clock_that_is_wrong_is_put_right_by_what_a_server_tells() -> None:
    here = VirtualClock(1000.0)
    there = OutsideClock(here.time)
    there.note(985.0)
    assert there() == 1000.0  # the answer was under way
    there.note(400.0)
    here.advance(7)
    assert there() == 407.0
    there.note(1607.0)
    assert there() == 1607.0
    there.note(1006.0)
    assert there() == 1007.0
