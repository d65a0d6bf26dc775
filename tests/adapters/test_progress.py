"""One reaction that changes, within the platform's rate."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from adapters.progress import REMEMBERED, Marked, ProgressMarks
from gateway.adapter import AuthError
from gateway.conversation import ConversationKey
from gateway.errors import GatewayError
from gateway.surface import CallRejected, Place, Progress, RateLimited

KEY = ConversationKey(platform="slack", workspace="T", channel="C", root="1")
HERE = Place(key=KEY, thread="t")


class Platform:
    """Notes calls, and fails those that it is told to."""

    def __init__(self, *fails: GatewayError, always: GatewayError | None = None) -> None:
        self.done: list[str] = []
        self.fails = list(fails)
        self.always = always
        self.marks = ProgressMarks(self.react, lambda: 100.0)

    async def react(self, marked: Marked, progress: Progress, adds: bool) -> None:
        self.done.append(f"{'+' if adds else '-'}{progress} {marked.message}")
        if error := self.fails.pop(0) if self.fails else self.always:
            raise error

    def mark(self, message: str, *marks: Progress, at: float = 200.0) -> None:
        for progress in marks:
            self.marks.mark(HERE, message, progress, at)

    async def until(self, *done: str) -> None:
        async with asyncio.timeout(5):
            while self.done != [*done]:  # noqa: ASYNC110 (it tells nobody)
                await asyncio.sleep(0)
        for _ in range(5):
            await asyncio.sleep(0)
        assert self.done == [*done]

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.marks.run())
            yield
            task.cancel()


@pytest.mark.parametrize("always", [None, CallRejected("missing_scope")])
async def test_a_reaction_changes_and_no_failure_stops_it(always: GatewayError | None) -> None:
    platform = Platform(always=always)
    async with platform.running():
        platform.mark("1", "seen")
        await platform.until("+seen 1")
        platform.mark("1", "working", "working")
        await platform.until("+seen 1", "+working 1", "-seen 1")
        platform.mark("1", "done")
        await platform.until("+seen 1", "+working 1", "-seen 1", "+done 1", "-working 1")


async def test_a_mark_is_taken_away() -> None:
    platform = Platform()
    async with platform.running():
        platform.mark("1", "working")
        await platform.until("+working 1")
        platform.mark("1", "off")
        await platform.until("+working 1", "-working 1")


async def test_what_is_outdated_is_left_out() -> None:
    platform = Platform()
    platform.mark("1", "seen", "working", "done")
    platform.mark("2", "working", "off")
    async with platform.running():
        await platform.until("+done 1")


async def test_marks_of_an_earlier_process_are_taken_away() -> None:
    platform = Platform()
    platform.mark("1", "working", at=50.0)
    platform.mark("1", "working", at=150.0)
    async with platform.running():
        await platform.until("-seen 1")
        platform.mark("1", "done")
        await platform.until("-seen 1", "+done 1", "-working 1")


async def test_a_call_that_was_too_early_is_made_later() -> None:
    platform = Platform(RateLimited(0.01))
    async with platform.running():
        platform.mark("1", "seen")
        await platform.until("+seen 1", "+seen 1")


async def test_it_waits_as_long_as_it_is_told_to_and_then_does_what_is_wanted() -> None:
    platform = Platform(RateLimited(0.05))
    async with platform.running():
        platform.mark("1", "seen")
        await platform.until("+seen 1")
        platform.mark("1", "done")
        await platform.until("+seen 1", "+done 1")


async def test_with_too_many_the_oldest_are_left_out() -> None:
    platform = Platform()
    for n in range(REMEMBERED + 2):
        platform.mark(str(n), "seen")
    async with platform.running():
        await platform.until(*(f"+seen {n + 2}" for n in range(REMEMBERED)))


async def test_marks_that_were_forgotten_meanwhile_are_taken_away() -> None:
    platform = Platform()
    async with platform.running():
        platform.mark("1", "done")  # the others of this message are forgotten, or of no use
        async with asyncio.timeout(5):
            while len(platform.done) < 3:  # noqa: ASYNC110 (it tells nobody)
                await asyncio.sleep(0)
    assert sorted(platform.done) == ["+done 1", "-seen 1", "-working 1"]


async def test_credentials_that_are_refused_are_seen() -> None:
    platform = Platform(always=AuthError("revoked"))
    platform.mark("1", "seen")
    with pytest.raises(AuthError):
        await platform.marks.run()
