"""Steps of the demo model's agents."""

from __future__ import annotations

import json

from gateway.demo.rules import (
    ASK,
    FRONT_DESK,
    MOST_CALLS,
    REVIEWER,
    SPECIALIST,
    Step,
    ToolReturn,
    View,
    next_step,
)

TOOLS = frozenset({"calculator", "clock", "transfer_to_reviewer", "transfer_to_front_desk", ASK})
DRAFT = "My results: 2*3 = 6; 1+1 = 2"


def returned(tool: str, argument: str, text: str, *, failed: bool = False) -> ToolReturn:
    return ToolReturn(tool=tool, argument=argument, text=text, failed=failed)


def view(request: str, *results: ToolReturn, agent: str = SPECIALIST, notes: str = "") -> View:
    given = (notes,) if notes else ()
    return View(agent=agent, tools=TOOLS, request=request, notes=given, returned=results)


def calls(step: Step) -> list[tuple[str, dict[str, object]]]:
    return [(call.name, json.loads(call.arguments)) for call in step.calls]


def test_a_view_tells_results_from_answers() -> None:
    result = returned("calculator", "1+1", "2")
    seen = view("?", returned(ASK, "", "no", failed=True), returned(ASK, "", "Tokyo"), result)
    assert seen.results == [result]
    assert (seen.asked, seen.clarification) == (True, "Tokyo")
    assert (view("?").asked, view("?").clarification) == (False, "")


def test_a_note_has_the_drafts_to_check() -> None:
    assert view("?", notes=DRAFT).drafts == ["2*3", "1+1"]
    assert view("?", notes="Hello").drafts == []


def test_work_goes_to_the_specialist() -> None:
    desk = View(
        agent=FRONT_DESK, tools=frozenset({"transfer_to_specialist"}), request="what is 2*3?"
    )
    assert calls(next_step(desk)) == [("transfer_to_specialist", {})]


def test_a_result_is_checked_before_it_is_told() -> None:
    assert calls(next_step(view("what is 2*3?"))) == [("calculator", {"expression": "2*3"})]
    step = next_step(view("what is 2*3?", returned("calculator", "2*3", "6")))
    assert (step.text, calls(step)) == ("My results: 2*3 = 6", [("transfer_to_reviewer", {})])
    again = next_step(view("what is 2*3?", agent=REVIEWER, notes=DRAFT))
    assert [each["expression"] for _, each in calls(again)] == ["2*3", "1+1"]


def test_a_failure_is_told_without_its_class() -> None:
    step = next_step(view("what is 1/0?", returned("calculator", "1/0", "E: no", failed=True)))
    assert step == Step("`1/0` has no result: no")


def test_a_missing_value_is_asked_for_once() -> None:
    [(tool, asked)] = calls(next_step(view("what time is it?")))
    assert (tool, "Tokyo" in str(asked["options"])) == (ASK, True)
    step = next_step(view("what time is it?", returned(ASK, "", "Tokyo")))
    assert calls(step) == [("clock", {"place": "Tokyo"})]


def test_a_message_has_a_bound_of_calls() -> None:
    many = " and ".join(f"what is {n}+1" for n in range(MOST_CALLS + 3))
    assert len(next_step(view(many)).calls) == MOST_CALLS


def test_talk_names_the_rules_and_what_can_be_tried() -> None:
    desk = View(agent=FRONT_DESK, tools=frozenset({"transfer_to_specialist"}), request="Hello")
    assert "a team of three" in next_step(desk).text
    alone = View(agent="me", tools=frozenset({"clock"}), request="Nonsense")
    said = next_step(alone).text
    assert "did not understand that" in said
    assert "the time:" in said
    assert "a calculation:" not in said
