"""One reaction that changes, at its own pace."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest

from adapters.progress import Marked, Progress, ProgressMarks
from gateway.client import Outcome, Receipt
from gateway.conversation import ConversationKey
from gateway.surface import BusyState, CallRejected

KEY = ConversationKey(platform="slack", workspace="T", channel="C", root="1")


class Platform:
    """Notes calls, and fails them if it is told to."""

    def __init__(self, *, fails: bool = False, gap: float = 0.0) -> None:
        self.done: list[str] = []
        self.fails = fails
        self.marks = ProgressMarks(self.react, gap)

    async def react(self, marked: Marked, progress: Progress, adds: bool) -> None:
        self.done.append(f"{'+' if adds else '-'}{progress} {marked.message}")
        if self.fails:
            raise CallRejected("missing_scope")

    async def take(
        self, message: str, outcome: Outcome = "turn", meanwhile: Sequence[BusyState] = ()
    ) -> None:
        async def taken() -> Receipt:
            for state in meanwhile:
                self.marks.show(KEY, state)
            return Receipt(inbox=1, thread="t", outcome=outcome)

        await self.marks.mark(taken(), KEY, KEY.channel, message)

    async def until(self, *done: str) -> None:
        async with asyncio.timeout(5):
            while self.done != [*done]:  # noqa: ASYNC110 (it tells nobody)
                await asyncio.sleep(0)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.marks.run())
            yield
            task.cancel()


@pytest.mark.parametrize("fails", [False, True])
async def test_a_reaction_changes_and_no_failure_stops_it(fails: bool) -> None:
    platform = Platform(fails=fails)
    async with platform.running():
        await platform.take("1")
        await platform.until("+seen 1")
        platform.marks.show(KEY, "working")
        platform.marks.show(KEY, "silent")
        await platform.until("+seen 1", "+working 1", "-seen 1")
        platform.marks.show(KEY, "waiting")
        platform.marks.show(KEY, "idle")
        await platform.until("+seen 1", "+working 1", "-seen 1", "+done 1", "-working 1")


async def test_what_is_outdated_is_left_out() -> None:
    platform = Platform()
    await platform.take("1")
    platform.marks.show(KEY, "working")
    platform.marks.show(KEY, "idle")
    async with platform.running():
        await platform.until("+done 1")


async def test_a_turn_may_end_before_its_message_is_taken() -> None:
    platform = Platform()
    await platform.take("1", meanwhile=["working", "idle"])
    async with platform.running():
        await platform.until("+done 1")
        await platform.take("2")
        await platform.until("+done 1", "+seen 2")


async def test_each_change_waits_for_the_rate() -> None:
    platform = Platform(gap=3600)
    async with platform.running():
        await platform.take("1")
        await platform.until("+seen 1")
        await platform.take("2", "queued")
        for _ in range(20):
            await asyncio.sleep(0)
        assert platform.done == ["+seen 1"]


@pytest.mark.parametrize("outcome", ["answer", "command", "refused", "offered"])
async def test_what_begins_no_turn_is_not_marked(outcome: Outcome) -> None:
    platform = Platform()
    await platform.take("1", outcome)
    platform.marks.show(KEY, "working")
    await platform.take("2")
    async with platform.running():
        await platform.until("+seen 2")
