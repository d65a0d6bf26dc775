"""Items of a transcript, from events."""

from __future__ import annotations

import pytest

from gateway.events import BROKE_OFF, HumanText, InputRequested, Notice, ToolFinished, ToolStarted
from gateway.items import (
    NOBODY,
    Agent,
    AgentItem,
    HumanItem,
    NoticeItem,
    RequestItem,
    ToolItem,
    ToolState,
    TurnItem,
)

AGENT = Agent(name="a")
CALL = ToolItem(key="c", agent=AGENT, tool="rm")


def finished(*, failed: bool = False, unknown: bool = False, stopped: bool = False) -> ToolFinished:
    return ToolFinished(
        thread="t",
        agent="a",
        call="c",
        tool="rm",
        result="out\x1b[0m",
        failed=failed,
        unknown=unknown,
        stopped=stopped,
        duration=1.5,
    )


def test_a_message_without_a_name_is_somebodys() -> None:
    item = HumanItem.of(HumanText(author="", text="Hi\x07", inbox=3))
    assert (item.key, item.author, item.inbox) == ("human-3", NOBODY, 3)
    assert "\x07" not in item.text


def test_a_message_that_broke_off_says_so() -> None:
    broken = AgentItem(key="m", agent=AGENT, text="H", ending="broken")
    whole = AgentItem(key="m", agent=AGENT, text="H")
    assert (broken.broken, broken.mark) == (True, BROKE_OFF)
    assert (whole.broken, whole.mark) == (False, "")


def test_a_call_that_begins_has_its_arguments() -> None:
    event = ToolStarted(thread="t", agent="a", call="c", tool="rm", arguments='{"path": "x"}')
    begun = CALL.begun(event)
    assert begun.written == event.arguments
    assert "x" in begun.arguments
    assert "x" in begun.summary
    assert begun.state == "running"


@pytest.mark.parametrize(
    ("event", "decision", "state", "ending"),
    [
        (finished(), "", "done", "done"),
        (finished(failed=True), "", "failed", "failed"),
        (finished(failed=True), "denied: no", "denied", "failed"),
        (finished(unknown=True), "", "unknown", "done"),
        (finished(stopped=True), "", "stopped", "stopped after 1.5 s"),
    ],
)
def test_a_call_that_ends_has_its_outcome(
    event: ToolFinished, decision: str, state: ToolState, ending: str
) -> None:
    call = ToolItem(key="c", agent=AGENT, tool="rm", decision=decision).ended(event)
    assert (call.state, call.ending, call.duration) == (state, ending, 1.5)
    assert "\x1b" not in call.result


def test_a_request_is_shown_as_it_is_asked() -> None:
    event = InputRequested(
        thread="t",
        request="r",
        request_kind="choice",
        agent="a",
        prompt="Which?\x07",
        options=("one\x07", "two"),
    )
    item = RequestItem.of(event, AGENT)
    assert (item.key, item.request, item.asked) == ("request-r", "r", event)
    assert "\x07" not in item.prompt + "".join(item.options)
    assert item.outcome == ""


def test_a_notice_tells_others_less_than_the_operator() -> None:
    event = Notice(thread="t", text="It failed.", for_operator="401 of the provider")
    item = NoticeItem(
        key="n", text=event.for_operator, level="error", incident="ab12", notice=event
    )
    assert (item.word, item.log, item.told) == ("error", " (parley log ab12)", "It failed.")
    plain = NoticeItem(key="n", text="Hi")
    assert (plain.word, plain.log, plain.told) == ("note", "", "Hi")


def test_a_turn_that_fails_ends_early() -> None:
    assert TurnItem(key="t", outcome="failed").early
    assert not TurnItem(key="t", outcome="waiting").early
