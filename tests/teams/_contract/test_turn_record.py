"""The record of an agent's unfinished turn."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import replace

import pytest

from teams._contract.turn_record import Suspension, TurnRecord
from teams.base import PendingInput
from teams.core import FunctionCall, Image
from teams.messages import MessageFactory, TextMessage, ThoughtEvent
from teams.models import FunctionExecutionResult
from tests.teams._base.test_image import PNG

PICTURE = Image.from_bytes(PNG)


def ok(call_id: str) -> FunctionExecutionResult:
    return FunctionExecutionResult(content=f"result {call_id}", name="look", call_id=call_id)


def record(*results: str) -> TurnRecord:
    """A turn with two calls, of which these have results."""
    made = TurnRecord(message_id="m", phase="tools", batch="b")
    made.calls = [FunctionCall(id=each, name="look", arguments="{}") for each in "12"]
    made.begun = {made.key(0): None, made.key(1): None}
    for each in results:
        made.note_result(made.key(int(each) - 1), ok(each))
    return made


def test_a_suspension_says_all_it_waits_for():
    requests = [
        PendingInput(request_id=each, agent=("a",), kind="text", prompt=f"{each}?") for each in "xy"
    ]
    assert Suspension(tuple(requests)).stop_reason == "Waiting for input: x?; y?"


def test_results_are_in_the_order_of_the_calls():
    done = record("2", "1")
    assert done.begun == {}
    assert [each.content for each in done.round_results()] == ["result 1", "result 2"]
    done.left_out = 1_000
    assert "1,000 more calls" in done.round_results()[-1].content
    assert done.results[done.key(1)].content == "result 2"


def test_a_call_without_a_result_gets_an_error():
    known, missing = record("1").closed_results()
    assert known == ok("1")
    assert (missing.call_id, missing.is_error) == ("2", True)


def test_pictures_are_in_the_order_of_the_calls():
    done, first = record("1", "2"), Image.from_bytes(b"GIF89a and so on")
    done.pictures = {done.key(1): [PICTURE], done.key(0): [first]}
    assert done.round_pictures() == [first, PICTURE]


SAID = TextMessage(content="hi", source="a")
THOUGHT = ThoughtEvent(content="hm", source="a")


@pytest.mark.parametrize(
    "unfinished",
    [
        TurnRecord(),
        record("1"),
        replace(record("1", "2"), left_out=2, pictures={"b:0": [PICTURE]}, thought="hm"),
        replace(record(), taken={"x": None}, produced=deque([SAID]), inner=[THOUGHT], final=SAID),
    ],
    ids=["new", "within calls", "calls done", "almost over"],
)
def test_a_record_survives_json(unfinished: TurnRecord):
    data = json.loads(json.dumps(unfinished.dump(lambda item: item.dump())))
    assert TurnRecord.load(data, MessageFactory().create) == unfinished


def test_what_is_no_record_is_refused():
    with pytest.raises(KeyError):
        TurnRecord.load({}, MessageFactory().create)
