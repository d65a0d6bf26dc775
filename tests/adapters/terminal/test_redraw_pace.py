"""Redrawing: as slow as the machine, at once for a reader."""

import asyncio

import pytest

from adapters.terminal import redraw_pace
from adapters.terminal.redraw_pace import LONGEST, SHORTEST, Pace, pause_after


@pytest.mark.parametrize(
    ("cpu", "pause"), [(0.0, SHORTEST), (0.02, SHORTEST), (0.1, 0.3), (9.0, LONGEST)]
)
def test_drawing_takes_a_quarter_of_the_time_at_most(cpu: float, pause: float):
    assert pause_after(cpu) == pytest.approx(pause)


async def test_changes_during_a_pause_are_drawn_once_after_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(redraw_pace, "SHORTEST", 3600.0)
    monkeypatch.setattr(redraw_pace, "LONGEST", 3600.0)
    drawn: asyncio.Queue[None] = asyncio.Queue()

    async def draw() -> None:
        drawn.put_nowait(None)

    pace = Pace(draw)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(pace.run())
        pace.changed()
        pace.changed()
        await drawn.get()
        pace.changed()
        for _ in range(9):
            await asyncio.sleep(0)
        assert drawn.empty()
        pace.changed_by_reader()
        await drawn.get()
        assert drawn.empty()
        running.cancel()
