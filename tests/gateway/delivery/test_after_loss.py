"""After a loss the platform is the newer truth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from adapters.slack.simulator.clock import VirtualClock
from gateway.events import (
    HumanText,
    InputResolved,
    Notice,
    SessionEvent,
    ToolFinished,
    ToolStarted,
    TurnFinished,
)
from gateway.gateway import Gateway
from gateway.store.units.losses import add_loss
from gateway.surface import Content, Speech
from tests.fakes.new_store import new_store
from tests.fakes.scripted_surface import Board, EditingSurface, PlainSurface, Surface
from tests.fakes.tested_store import UnitStore, at
from tests.gateway.delivery.delivered import Story, all_told, served
from tests.gateway.delivery.test_service import BEGIN, DONE, asked, delta, said, started
from tests.gateway.scripted import ScriptedTeams, solo
from tests.pairwise import pairwise

pytestmark = pytest.mark.usefixtures("database")

# What the pairs of parameters leave out runs with the chaos tests.
DATABASES = ("sqlite", "postgres")
SURFACES = {"Surface": Surface, "EditingSurface": EditingSurface}

CALLS = ToolStarted(thread="", agent="a", call="c", tool="tool", arguments="{}")
CALLED = ToolFinished(thread="", agent="a", call="c", tool="tool", result="")
PARKED = (
    Notice(thread="", text="Continue?", level="error", command="/retry", label="Continue"),
    TurnFinished(thread="", outcome="interrupted", reason="it may have been done already"),
)
AGAIN = replace(BEGIN, resumed=True)
NEXT = replace(BEGIN, messages=(HumanText(inbox=2, author="Ann", text="And?"),))


async def begun(folder: Path, surface: PlainSurface, board: Board, *events: SessionEvent) -> str:
    """A thread of which this is told, whose process is killed."""
    async with served(folder, surface, clock=VirtualClock()) as gateway:
        story = await Story.begun(gateway)
        await story.tell(*events)
        await board.until(lambda b: b.posted)
        if events[-1].kind == "turn_finished":
            await all_told(gateway, VirtualClock())
        return story.thread


def becomes(board: Board, text: str) -> Content:
    """Let the first message be complete, unknown to the store."""
    posted = board.posted[0]
    content = posted.content
    assert isinstance(content, Speech)
    posted.part = replace(posted.part, content=replace(content, text=text, growing=False))
    return posted.part.content


async def lose(gateway: Gateway) -> None:
    """Lose something, as it is noted when the store is opened."""
    store = gateway.store
    assert isinstance(store, UnitStore)
    await store.write(lambda c: add_loss(at(c, 5e9), "damaged", since=1.0, commits=1))


async def say_unheard(folder: Path, thread: str, *events: SessionEvent, known: bool = True) -> None:
    """Let this be in the store, and on no platform."""
    async with Gateway(new_store(folder), ScriptedTeams(lambda: solo("x"))) as gateway:
        await Story(gateway, thread).tell(*events)
        if not known:
            assert isinstance(gateway.store, UnitStore)
            await gateway.store.write(lambda c: c.execute("DELETE FROM outbox"))


async def after(folder: Path, surface: PlainSurface, thread: str, *events: SessionEvent) -> None:
    """Let this happen in the next process, which has lost something."""
    async with Gateway(new_store(folder), ScriptedTeams(lambda: solo("x"))) as gateway:
        await lose(gateway)
    clock = VirtualClock()
    async with served(folder, surface, clock=clock) as gateway:
        await Story(gateway, thread).tell(*events)
        await all_told(gateway, clock)


RETRIED = {
    "another text": (delta("a", "m", "Uno"), said("a", "m", "Uno.")),
    "the same text": (said("a", "m", "Whole."),),
    "another call": (CALLS, CALLED, said("a", "m", "Uno.")),
}


@pairwise(retried=RETRIED, surface=SURFACES, database=DATABASES, indirect=["database"])
async def test_a_complete_answer_is_not_edited_back_but_answered_below(
    tmp_path: Path, surface: type[PlainSurface], retried: tuple[SessionEvent, ...]
) -> None:
    board = Board()
    thread = await begun(
        tmp_path, surface(board), board, BEGIN, started("a"), CALLS, delta("a", "m", "Wh")
    )
    whole, edits = becomes(board, "Whole."), board.posted[0].edits
    await after(tmp_path, surface(board), thread, *PARKED, AGAIN, *retried, DONE)
    assert (board.posted[0].content, board.posted[0].edits) == (whole, edits)
    (below,) = board.texts[1:]
    assert below.endswith(("Uno.", "a: Whole."))


KNOWN = {
    "known": (Surface, True),
    "unknown": (Surface, False),
    "edited": (EditingSurface, True),
}


@pairwise(stands=["Wh", "Whole."], surface_known=KNOWN, database=DATABASES, indirect=["database"])
async def test_an_answer_that_the_store_knows_to_its_end_is_complete_in_its_place(
    tmp_path: Path, surface_known: tuple[type[PlainSurface], bool], stands: str
) -> None:
    """A message that was said whole is never said again."""
    surface, known = surface_known
    board = Board()
    thread = await begun(
        tmp_path, surface(board), board, BEGIN, started("a"), delta("a", "m", "Wh")
    )
    becomes(board, stands)
    await say_unheard(tmp_path, thread, said("a", "m", "Whole."), DONE, known=known)
    await after(tmp_path, surface(board), thread)
    assert board.texts == ["a: Whole."]


@pytest.mark.parametrize(
    "ending",
    [
        (replace(said("a", "m", "Wh"), ending="broken"), *PARKED),
        (said("a", "m", "Wh"), TurnFinished(thread="", outcome="stopped", reason="stopped")),
        PARKED,
    ],
    ids=["broken", "stopped", "parked"],
)
async def test_half_an_answer_stays_as_it_stands(
    tmp_path: Path, ending: tuple[SessionEvent, ...]
) -> None:
    board = Board()
    thread = await begun(
        tmp_path, Surface(board), board, BEGIN, started("a"), delta("a", "m", "Wh")
    )
    whole = becomes(board, "Whole.")  # somebody tried it again
    await say_unheard(tmp_path, thread, *ending)
    await after(tmp_path, Surface(board), thread)
    assert board.posted[0].content == whole


async def test_a_call_that_ran_does_not_come_to_run_again_in_its_message(tmp_path: Path) -> None:
    board = Board()
    thread = await begun(tmp_path, Surface(board), board, BEGIN, started("a"), CALLS)
    whole = becomes(board, "It rang.")
    await after(tmp_path, Surface(board), thread, *PARKED)
    assert board.posted[0].content == whole
    assert board.texts[1:] == ["-- Continue?"]


async def test_a_question_that_was_answered_keeps_its_answer(tmp_path: Path) -> None:
    board = Board()
    thread = await begun(tmp_path, Surface(board), board, BEGIN, asked("r1"))
    edits = board.posted[0].edits
    closed = InputResolved(thread="", request="r1", outcome="closed", by="")
    await after(tmp_path, Surface(board), thread, closed, *PARKED)
    assert board.posted[0].edits == edits
    assert board.texts == ["? r1? open", "-- Continue?"]


async def test_what_is_asked_next_is_answered_below_and_edited_there(tmp_path: Path) -> None:
    board = Board()
    thread = await begun(tmp_path, Surface(board), board, BEGIN, said("a", "m", "One."), DONE)
    await after(tmp_path, Surface(board), thread)
    clock = VirtualClock()
    async with served(tmp_path, Surface(board), clock=clock) as gateway:
        story = Story(gateway, thread)
        await story.tell(NEXT, started("a"), delta("a", "m2", "Tw"))
        await board.until(lambda b: b.posted[1:])
    async with served(tmp_path, Surface(board), clock=clock) as gateway:  # a crash is no loss
        await Story(gateway, thread).tell(said("a", "m2", "Two."), DONE)
        await all_told(gateway, clock)
    assert board.texts == ["a: One.", "a: Two."]


async def test_what_was_not_shown_is_shown_and_marked_where_nobody_can_know(tmp_path: Path) -> None:
    board = Board(forgets=True)
    async with Gateway(new_store(tmp_path), ScriptedTeams(lambda: solo("x"))) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, said("a", "m", "One."), DONE)
        await lose(gateway)
    await after(tmp_path, Surface(board), story.thread)
    assert board.texts == ["a: One. (perhaps twice)"]


async def test_an_offer_of_before_keeps_its_button(tmp_path: Path) -> None:
    board = Board()
    thread = await begun(tmp_path, Surface(board), board, BEGIN, *PARKED)
    line = board.posted[0].content
    await after(tmp_path, Surface(board), thread, AGAIN, said("a", "m", "One."), DONE)
    assert board.posted[0].content == line
    assert board.texts[-1] == "a: One."
