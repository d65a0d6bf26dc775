"""Policy, approval, and a journal of tool calls."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.conversation import Author
from gateway.errors import ToolFailed
from gateway.events import InputRequested, ToolFinished, ToolStarted
from gateway.registry import ToolRule
from gateway.sessions.context_marks import ContextMarks
from gateway.sessions.event_bus import LocalBus
from gateway.sessions.human_requests import HumanRequests
from gateway.sessions.known_tools import KnownTools
from gateway.sessions.large_results import LargeResults
from gateway.sessions.tool_gate import NOT_RUN, STOPPED, UNKNOWN, ToolGate
from gateway.sessions.turn_settings import TurnSettings
from gateway.store.records import CallRow
from gateway.store.turn_records import ApprovalMode, TurnUpdate
from teams.base import InputRequired, ToolCall
from teams.tools import TextResultContent, ToolResult

ANN = Author(id="x:ann", name="Ann")
CALL = ToolCall(key="k1", id="c1", name="send", arguments="{}", agent=("a",))
ALLOW = ToolRule(action="allow", output="trusted")


class Log:
    """A turn's writer that keeps what is written."""

    thread, turn = "t", "u"

    def __init__(self) -> None:
        self.written: list[TurnUpdate] = []
        self.meter = SimpleNamespace(vitals=SimpleNamespace(tools=Counter()), tool_calls=0)

    async def write(self, record: TurnUpdate) -> None:
        self.written.append(record)

    async def approval_mode(self) -> ApprovalMode:
        return ApprovalMode()

    async def until_speaking(self) -> None:
        pass

    @property
    def calls(self) -> list[tuple[str, str]]:
        return [(row.status, row.outcome) for update in self.written for row in update.calls]

    def events(self, kind: type) -> list[Any]:
        return [each for update in self.written for each in update.events if isinstance(each, kind)]


class Tool:
    """A tool that counts how often it ran."""

    def __init__(self, error: Exception | None = None) -> None:
        self.ran = 0
        self._error = error

    async def __call__(self, call: ToolCall) -> ToolResult:
        self.ran += 1
        if self._error:
            raise self._error
        return ToolResult(name=call.name, result=[TextResultContent(content="sent")])


def gate(log: Log, rule: ToolRule = ALLOW, calls: tuple[CallRow, ...] = ()) -> ToolGate:
    writer = cast("Any", log)
    return ToolGate(
        writer,
        HumanRequests(writer, (), TurnSettings(), ANN.id),
        ContextMarks(lambda call, author: rule, people=[ANN]),
        KnownTools(cast("Any", None), LocalBus(), lambda *_: None, lambda *_: None),
        calls,
        LargeResults(1000),
    )


async def test_a_call_runs_once_and_its_result_is_kept() -> None:
    log, tool = Log(), Tool()
    found = gate(log)
    result = await found.intercept(CALL, tool)
    again = await found.intercept(CALL, tool)
    assert (result.to_text(), again.to_text(), tool.ran) == ("sent", "sent", 1)
    assert log.calls == [("started", "allowed"), ("finished", "done")]
    assert len(log.events(ToolStarted)) == len(log.events(ToolFinished)) == 1


async def test_a_forbidden_call_does_not_run() -> None:
    log, tool = Log(), Tool()
    rule = ToolRule(action="deny", reason="never on a Friday")
    result = await gate(log, rule).intercept(CALL, tool)
    assert (result.is_error, tool.ran) == (True, 0)
    assert "never on a Friday" in result.to_text()
    assert log.calls == [("settled", "refused")]


async def test_a_call_that_needs_approval_suspends_the_run() -> None:
    log, tool = Log(), Tool()
    with pytest.raises(InputRequired):
        await gate(log, ToolRule(action="ask")).intercept(CALL, tool)
    [asked] = log.events(InputRequested)
    assert (asked.tool, tool.ran) == ("send", 0)
    assert [status for status, _ in log.calls] == ["shown"]


async def test_a_call_that_fails_is_told_as_that() -> None:
    log = Log()
    with pytest.raises(ToolFailed):
        await gate(log).intercept(CALL, Tool(ValueError("no")))
    [finished] = log.events(ToolFinished)
    assert (finished.failed, finished.result) == (True, "ValueError: no")


async def test_a_hand_off_passes_and_is_known() -> None:
    log, tool = Log(), Tool()
    found = gate(log)
    await found.intercept(replace(CALL, handoff=True), tool)
    assert (found.handoffs, tool.ran, log.written) == ({"c1"}, 1, [])


@pytest.mark.parametrize(
    ("stopped", "status", "said"),
    [
        (True, "started", STOPPED),
        (False, "started", UNKNOWN),
        (True, "suspended", NOT_RUN),
        (False, "suspended", ""),
    ],
)
def test_calls_that_have_not_ended_are_closed_with_the_turn(
    stopped: bool, status: Any, said: str
) -> None:
    row = CallRow(key="k1", agent=("a",), tool="send", arguments_hash="h", status=status)
    rows, events = gate(Log(), calls=(row,)).close_calls(stopped=stopped)
    assert [each.status for each in rows] == ["unknown"] * bool(said)
    assert [each.result for each in events if isinstance(each, ToolFinished)] == (
        [said] if said else []
    )


async def test_a_call_whose_outcome_a_crash_hid_is_not_repeated() -> None:
    log, tool = Log(), Tool()
    result = await gate(log).intercept(replace(CALL, begun=True), tool)
    assert (result.to_text(), tool.ran) == (UNKNOWN, 0)
    assert log.calls == [("unknown", "")]
