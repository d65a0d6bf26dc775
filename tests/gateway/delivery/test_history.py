"""Threads under random faults and crashes: complete, ordered, repeats marked."""

import asyncio
import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from adapters.slack.simulator.clock import VirtualClock
from gateway.conversation import ConversationKey
from gateway.surface import (
    Line,
    OutcomeUnknown,
    PlatformUnreachable,
    RateLimited,
    Speech,
    TextLimits,
)
from tests.fakes.scripted_surface import Board, Call, Surface, When
from tests.gateway.delivery.delivered import Story, all_told, served
from tests.gateway.delivery.test_service import (
    BEGIN,
    DONE,
    called,
    calling,
    delta,
    handed,
    said,
    started,
)

TROUBLES = (
    OutcomeUnknown,
    lambda: RateLimited(5.0),
    PlatformUnreachable,
    asyncio.CancelledError,
    ValueError,
)
LIMITS = TextLimits(message=60, messages=9)


@dataclass
class Teller:
    """Lets things happen in a thread, and remembers what agents said."""

    name: str
    chance: random.Random
    messages: list[str] = field(default_factory=list)

    async def turn(self, story: Story) -> None:
        await story.tell(BEGIN)
        for _ in range(self.chance.randint(1, 3)):
            agent = self.chance.choice("ab")
            message = f"{self.name}m{len(self.messages)}"
            await story.tell(started(agent))
            if self.chance.random() < 0.4:
                await story.tell(calling(agent, f"c{message}", "look"))
                await story.tell(called(agent, f"c{message}", "look"))
            words = [f"{message}w{n} " for n in range(self.chance.randint(1, 25))]
            for word in words[: self.chance.randint(0, len(words))]:
                await story.tell(delta(agent, message, word))
                if self.chance.random() < 0.3:
                    await asyncio.sleep(0.001)
            self.messages.append("".join(words))
            await story.tell(said(agent, message, self.messages[-1]))
            if self.chance.random() < 0.3:
                await story.tell(handed(agent, "c"))
        await story.tell(DONE)


def make_trouble(board: Board, chance: random.Random) -> None:
    for _ in range(chance.randint(2, 8)):
        error = chance.choice(TROUBLES)()
        when: When = "after" if chance.random() < 0.5 else "before"
        if isinstance(error, RateLimited | PlatformUnreachable):
            when = "before"
        call: Call = (
            "post" if chance.random() < 0.5 else "edit" if chance.random() < 0.5 else "find"
        )
        if call == "find" and isinstance(error, OutcomeUnknown):
            error = PlatformUnreachable()
        board.fail(call, error, "before" if call == "find" else when, nth=chance.randint(1, 6))


def shown(board: Board, thread: str) -> str:
    """The agents' text in a thread, as it stands there."""
    return "".join(
        posted.part.content.text
        for posted in board.posted
        if isinstance(posted.part.content, Speech) and posted.place.thread == thread
    )


@pytest.mark.parametrize("seed", range(8))
async def test_all_of_it_stands_there_once_and_in_order(tmp_path: Path, seed: int) -> None:
    chance, board, clock = random.Random(seed), Board(), VirtualClock()
    tellers = [Teller(f"t{n}", chance) for n in range(3)]
    threads: list[str] = []
    for life in range(3):
        make_trouble(board, chance)
        async with served(tmp_path, Surface(board, limits=LIMITS), clock=clock) as gateway:
            for n, teller in enumerate(tellers):
                if life == 0:
                    key = ConversationKey(platform="scripted", root=str(n))
                    threads.append((await Story.begun(gateway, key)).thread)
                await teller.turn(Story(gateway, threads[n]))
                clock.advance(1.0)
            if chance.random() < 0.5:
                await asyncio.sleep(0.02)
    board.faults.clear()
    async with served(tmp_path, Surface(board, limits=LIMITS), clock=clock) as gateway:
        await all_told(gateway, clock)
    for teller, thread in zip(tellers, threads, strict=True):
        assert shown(board, thread) == "".join(teller.messages)
    assert not any(posted.part.unsure for posted in board.posted)
    assert not any(isinstance(posted.content, Line) for posted in board.posted)


@pytest.mark.parametrize("seed", range(4))
async def test_where_nothing_can_be_looked_up_what_is_doubled_says_so(
    tmp_path: Path, seed: int
) -> None:
    chance, board, clock = random.Random(seed), Board(forgets=True), VirtualClock()
    teller = Teller("t", chance)
    make_trouble(board, chance)
    async with served(tmp_path, Surface(board, limits=LIMITS), clock=clock) as gateway:
        story = await Story.begun(gateway)
        await teller.turn(story)
        await asyncio.sleep(0.02)
    board.faults.clear()
    async with served(tmp_path, Surface(board, limits=LIMITS), clock=clock) as gateway:
        await all_told(gateway, clock)
    keys = [posted.part.key for posted in board.posted]
    for posted in board.posted:
        if keys.count(posted.part.key) == 1:
            continue
        assert [each.part.unsure for each in board.posted if each.part.key == posted.part.key][-1]
    latest = {posted.part.key: posted for posted in board.posted}
    text = "".join(
        posted.part.content.text
        for posted in latest.values()
        if isinstance(posted.part.content, Speech)
    )
    assert text == "".join(teller.messages)
