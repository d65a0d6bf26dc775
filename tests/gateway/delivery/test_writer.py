"""Writer of one thread."""

import asyncio
from pathlib import Path
from typing import Any

from adapters.slack.simulator.clock import VirtualClock
from gateway.events import MessageFinished, TextDelta, TurnFinished, TurnStarted
from gateway.surface import Place, Use
from tests.fakes.scripted_surface import Board, Surface
from tests.gateway.delivery.delivered import ANN, Story, all_told, say, served
from tests.gateway.scripted import solo

BEGIN = TurnStarted(thread="", asker=ANN.id, asked_at=2_000_000.0)
DONE = TurnFinished(thread="", outcome="done")


def delta(agent: str, message: str, text: str, **more) -> TextDelta:
    return TextDelta(thread="", agent=agent, message=message, text=text, **more)


def said(agent: str, message: str, text: str) -> MessageFinished:
    return MessageFinished(thread="", agent=agent, message=message, text=text)


async def test_an_answer_comes_to_stand_in_the_thread(tmp_path: Path) -> None:
    board = Board()
    async with served(tmp_path, Surface(board), lambda: solo("Hello there.")) as gateway:
        await say(gateway, "hi")
        await all_told(gateway)
    assert board.texts == ["solo: Hello there."]
    assert board.busy[-1] == "idle"
    assert board.posted[0].place.asker == ANN.id


class LateEnds(Surface):
    """Gives last states of messages no turn until it may."""

    def __init__(self, board: Board, **more: Any) -> None:
        super().__init__(board, **more)
        self.may_end = asyncio.Event()

    async def ready(self, place: Place, use: Use) -> None:
        await super().ready(place, use)
        if use == "final":
            await self.may_end.wait()


async def test_a_new_message_does_not_wait_for_the_end_of_one_above_it(tmp_path):
    board, clock = Board(), VirtualClock()
    surface = LateEnds(board)
    async with served(tmp_path, surface, clock=clock) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, delta("a", "m", "One"))
        await board.until(lambda b: b.texts == ["a: One"])
        await story.tell(said("a", "m", "One two."), DONE)
        while not gateway.vitals.owed:  # noqa: ASYNC110 (a figure tells nobody)
            await asyncio.sleep(0.005)
        assert [(each.adapter, each.limit, each.threads) for each in gateway.vitals.owed] == [
            ("scripted", "finals", 1)
        ]
        await story.tell(BEGIN, said("b", "n", "Another."), DONE)
        while len(board.posted) < 2:
            await asyncio.sleep(0.005)
            clock.advance(0.25)
        assert board.texts == ["a: One", "b: Another."]
        surface.may_end.set()
        await all_told(gateway, clock)
        assert board.texts == ["a: One two.", "b: Another."]
        assert gateway.vitals.owed == []
