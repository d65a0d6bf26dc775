"""The marks of answers that left something unsaid."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from adapters.terminal.lines import LineTranscript
from adapters.terminal.plain_text import PlainText
from adapters.terminal.run_output import Output, OutputStyle
from gateway.app.replay import Replay
from gateway.events import (
    MARKS,
    Ending,
    MessageFinished,
    SessionEvent,
    dump_event,
    load_event,
)
from gateway.picture import Picture
from gateway.sessions.live_team import transcript
from gateway.store.units import threads
from gateway.transcript import markdown
from tests.fakes.news import apply_all, news_of
from tests.fakes.scripted_model import ScriptedModel, says
from tests.gateway.scripted import of, opened, solo, turn

HALF = "Once upon a time"


def answer(end: str) -> Any:
    refused = end == "refusal"
    made = says(HALF).model_copy(update={"finish_reason": "content_filter" if refused else end})
    if refused:
        made.mark_refused()
    return made


async def told(folder: Path, *ends: str) -> list[SessionEvent]:
    """Events of a turn for each of these ends."""
    model = ScriptedModel(*map(answer, ends))
    async with opened(folder, lambda: solo(model)) as gateway:
        thread = (await gateway.client.create_thread()).id
        return [event for _ in ends for event in await turn(gateway, thread, "tell")]


@pytest.mark.parametrize(
    ("end", "ending"),
    [
        ("length", "cut"),
        ("content_filter", "filtered"),
        ("refusal", "refused"),
        ("stop", ""),
        ("unknown", ""),
    ],
)
async def test_an_end_is_told_in_every_form(
    tmp_path: Path, end: str, ending: Ending, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    events = await told(tmp_path, end)
    (finished,) = of(MessageFinished, events)
    assert (finished.text, finished.ending) == (HALF, ending)
    mark, count = MARKS[ending], int(bool(ending))
    assert json.loads(dump_event(finished))["ending"] == ending
    assert load_event(dump_event(finished)) == finished
    document = markdown(await _thread(tmp_path), events)
    assert document.count(f"{HALF}\n\n> {mark}") == count
    assert (f'ending="{ending}"' in Replay().line(finished)) is bool(ending)
    plain = "".join(map(PlainText(names=False).append, news_of(events)))
    assert plain == f"{HALF}\n{mark}\n" if mark else f"{HALF}\n"
    assert _lines(events).count(f"  {mark}") == count
    assert [each.message for each in caplog.records].count(f"an answer of solo is {ending}") == (
        count
    )
    (_, model_reads) = transcript(events)
    assert model_reads.to_text() == (f"{HALF}\n\n{mark}" if ending else HALF)


async def _thread(folder: Path) -> Any:
    async with opened(folder, lambda: solo("x")) as gateway:
        (thread,) = await gateway.store.run(threads.threads)
        return thread


def _lines(events: Sequence[SessionEvent]) -> list[str]:
    picture = Picture()
    lines = LineTranscript(picture)
    apply_all(picture, events)
    return "\n".join(lines.new_lines()).splitlines()


@pytest.mark.parametrize(
    ("style", "out", "err"),
    [
        ("text", f"{HALF}\n{MARKS['cut']}\n", ""),
        ("final", f"{HALF}\n", f"parley: {MARKS['cut']}\n"),
    ],
)
async def test_a_run_says_it(tmp_path: Path, style: OutputStyle, out: str, err: str) -> None:
    written, aside, picture = io.StringIO(), io.StringIO(), Picture()
    output = Output(style, written, aside, names=False, verbose=False)
    for event in await told(tmp_path, "length"):
        picture.apply(event)
        output.show(event, picture)
    output.finish()
    assert (written.getvalue(), aside.getvalue()) == (out, err)


async def test_a_later_whole_answer_has_no_mark(tmp_path: Path) -> None:
    events = await told(tmp_path, "length", "stop")
    assert [each.ending for each in of(MessageFinished, events)] == ["cut", ""]
    assert markdown(await _thread(tmp_path), events).count(MARKS["cut"]) == 1


@pytest.mark.parametrize(("stored", "ending"), [(True, "broken"), (False, "")])
def test_what_broke_off_in_earlier_versions_still_did(stored: bool, ending: str) -> None:
    body = {"kind": "message_finished", "thread": "t", "agent": "a", "message": "m", "text": "x"}
    event = load_event(json.dumps({**body, "broken": stored}))
    assert isinstance(event, MessageFinished)
    assert (event.ending, event.broken) == (ending, stored)
