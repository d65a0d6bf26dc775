"""Messages that join a team's run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.conversation import Author
from gateway.sessions.steering import Steering, SteeringWatch
from gateway.store.turn_records import ClaimedTurn, QueuedMessage
from teams.messages import ToolCallExecutionEvent
from teams.models import ContextOverflow, FunctionExecutionResult
from tests.fakes.new_store import new_store
from tests.gateway.store.talk import ANN, BOB, begun

LATE = QueuedMessage(inbox=7, author=BOB, text="and this")


class Log:
    """A turn's writer to which messages come."""

    def __init__(self, *waiting: QueuedMessage) -> None:
        self.waiting = waiting

    async def join(self) -> tuple[QueuedMessage, ...]:
        return self.waiting


class Marks:
    """The people who have written in a team's context."""

    def __init__(self) -> None:
        self.people: list[Author] = []

    def add_person(self, person: Author, *, untrusted: bool) -> None:
        self.people.append(person)


@pytest.fixture
async def work(tmp_path: Path) -> ClaimedTurn:
    store = new_store(tmp_path)
    async with store.own():
        return await begun(store)


def steering(
    work: ClaimedTurn, *waiting: QueuedMessage, handoffs: tuple[str, ...] = ()
) -> tuple[Steering, Marks]:
    marks = Marks()
    made = Steering(
        work=work,
        log=cast("Any", Log(*waiting)),
        gate=lambda: cast("Any", SimpleNamespace(handoffs={*handoffs})),
        marks=lambda: cast("Any", marks),
        wanted=True,
    )
    return made, marks


def texts(messages: Any) -> list[str]:
    return [message.to_text() for message in messages]


async def test_a_task_is_given_and_told_once(work: ClaimedTurn) -> None:
    found, _ = steering(work)
    messages = found.untold_messages(anew=False)
    assert messages == [*work.messages]
    assert texts(found.task(messages, handoff_to="")) == ["hi"]
    found.give(9)
    assert found.drain() == [work.messages[0].inbox, 9]
    assert found.drain() == []


async def test_what_the_team_has_is_told_only_anew(work: ClaimedTurn) -> None:
    had = replace(work, messages=(replace(work.messages[0], joined=True),))
    found, marks = steering(had)
    assert found.untold_messages(anew=False) == []
    assert found.untold_messages(anew=True) == [*had.messages]
    assert found.unsaved_messages() == []
    assert marks.people == []
    found, marks = steering(work)
    assert texts(found.unsaved_messages()) == ["hi"]
    assert marks.people == [ANN]


async def test_waiting_messages_join_once_and_mark_who_wrote_them(work: ClaimedTurn) -> None:
    found, marks = steering(work, LATE)
    [joined] = await found.waiting_messages()
    assert "and this" in joined.to_text()
    assert "Bob" in joined.to_text()
    assert (marks.people, found.unheard) == ([BOB], True)
    assert await found.waiting_messages() == []
    found.mark_heard()
    assert not found.unheard


@pytest.mark.parametrize(("handoffs", "joins"), [((), 1), (("c1",), 0)])
async def test_nothing_joins_after_a_hand_off(
    work: ClaimedTurn, handoffs: tuple[str, ...], joins: int
) -> None:
    found, _ = steering(work, LATE, handoffs=handoffs)
    result = FunctionExecutionResult(call_id="c1", name="go", content="", is_error=False)
    event = ToolCallExecutionEvent(source="a", content=[result])
    assert len(await found.after_tools(event)) == joins


class Meter:
    """A meter that notes what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    async def before_request(self, request: Any) -> None:
        self.told.append("before")

    def affords(self, request: Any) -> bool:
        return True

    def after_answer(self, request: Any, answer: Any) -> None:
        self.told.append("answer")

    def after_no_answer(self, request: Any, *, written: int | None) -> None:
        self.told.append(f"no answer {written}")

    def after_error(self, request: Any, error: Exception) -> None:
        self.told.append("error")

    def after_substitution(self, substitution: Any) -> None:
        self.told.append("substitution")


async def test_a_watch_hears_for_the_team_and_its_meter(work: ClaimedTurn) -> None:
    found, _ = steering(work)
    found.unheard = True
    meter, request = Meter(), cast("Any", SimpleNamespace(client="the client"))
    watch = SteeringWatch(cast("Any", meter), found)
    await watch.before_request(request)
    assert not found.unheard
    assert watch.affords(request)
    watch.after_answer(request, cast("Any", None))
    watch.after_no_answer(request, written=3)
    watch.after_error(request, ValueError())
    assert found.overflowed is None
    watch.after_error(request, ContextOverflow("too long"))
    assert found.overflowed == request.client
    watch.after_substitution(cast("Any", None))
    assert meter.told == ["before", "answer", "no answer 3", "error", "error", "substitution"]
