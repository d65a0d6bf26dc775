"""A model that says nothing: the status first, then one line."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest

from gateway.events import ModelSilent, SpeakerStarted, TurnFinished
from gateway.sessions import silence
from gateway.surface import Line
from tests.fakes.scripted_surface import Board, Surface
from tests.gateway.delivery.delivered import Story, served
from tests.gateway.delivery.test_service import BEGIN, DONE, said
from tests.gateway.journeys.test_stopped import Held
from tests.gateway.scripted import ScriptedTeams, calls, ends, of, opened, solo, until


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silence, "LOOK", 0.005)
    monkeypatch.setattr(silence, "STEPS", (0.01, 0.02))


@pytest.mark.usefixtures("quick")
async def test_a_silence_is_told_as_it_lasts_and_once_it_is_over(tmp_path: Path) -> None:
    model = Held("Well.")
    async with opened(tmp_path, ScriptedTeams(lambda: solo(model))) as gateway:
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "go")
        await until(gateway, thread, lambda e: isinstance(e, ModelSilent) and e.seconds == 0.02)
        model.door.open()
        events = await until(gateway, thread, ends)
    told = [(each.seconds, each.over) for each in of(ModelSilent, events)]
    assert told[-2:] in ([(0.01, False), (0.02, False)], [(0.02, False), (0.02, True)])
    assert len(told) <= 3


@pytest.mark.usefixtures("quick")
async def test_a_tool_that_takes_long_is_no_models_silence(tmp_path: Path) -> None:
    async def wait() -> str:
        """Wait."""
        await asyncio.sleep(0.1)
        return "done"

    team = partial(solo, calls("wait"), "Well.", tools=[wait], messages=2)
    async with opened(tmp_path, ScriptedTeams(team)) as gateway:
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "go")
        events = await until(gateway, thread, ends)
    assert not of(ModelSilent, events)


def test_each_step_of_the_first_minutes_has_words_of_its_own() -> None:
    words = [silent(step).text.rpartition("for ")[2] for step in silence.STEPS[:6]]
    assert words == ["30 s.", "60 s.", "90 s.", "2 minutes.", "3 minutes.", "4 minutes."]


def silent(seconds: float, *, over: bool = False) -> ModelSilent:
    return ModelSilent(thread="", seconds=seconds, over=over)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(30, "silent for 30 s."), (120, "silent for 2 minutes."), (3600, "silent for 60 minutes.")],
)
def test_how_long_it_lasts(seconds: float, text: str) -> None:
    assert silent(seconds).text == f"The model has been {text}"
    assert silent(seconds, over=True).text == f"The model was {text}"


async def test_half_a_minute_is_the_status_and_two_minutes_are_one_line_that_is_edited(
    tmp_path: Path,
) -> None:
    board = Board()
    async with served(tmp_path, Surface(board)) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, SpeakerStarted(thread="", agent="a"), silent(30))
        await board.until(lambda b: "silent" in b.busy)
        assert board.texts == []
        await story.tell(silent(120))
        await board.until(lambda b: b.posted)
        assert lines(board) == [("The model has been silent for 2 minutes.", "/stop")]
        await story.tell(silent(180))
        await board.until(
            lambda b: lines(b) != [("The model has been silent for 2 minutes.", "/stop")]
        )
        assert lines(board) == [("The model has been silent for 3 minutes.", "/stop")]
        await story.tell(silent(180, over=True), said("a", "m", "Well."), DONE)
        await story.told()
    assert lines(board) == [("The model was silent for 3 minutes.", "")]
    assert len(board.posted) == 2


async def test_a_turn_that_is_stopped_in_a_silence_takes_the_button_back(tmp_path: Path) -> None:
    board = Board()
    async with served(tmp_path, Surface(board)) as gateway:
        story = await Story.begun(gateway)
        stopped = TurnFinished(thread="", outcome="stopped")
        await story.tell(BEGIN, silent(30), silent(120), stopped)
        await story.told()
    assert all(not command for _, command in lines(board))


async def test_an_answer_that_ends_the_turn_at_once_ends_the_silence(tmp_path: Path) -> None:
    board = Board()
    async with served(tmp_path, Surface(board)) as gateway:
        story = await Story.begun(gateway)
        await story.tell(BEGIN, silent(120))
        await board.until(lambda b: b.posted)
        await story.tell(said("a", "m", "Well."), DONE)
        await story.told()
    assert lines(board) == [("The model was silent for 2 minutes.", "")]


def lines(board: Board) -> list[tuple[str, str]]:
    shown = [each.content for each in board.posted]
    return [
        (each.text, each.command)
        for each in shown
        if isinstance(each, Line) and each.text.startswith("The model")
    ]
