"""Marks of a team's context decide how strict a tool's rule is."""

import pytest

from gateway.access.tool_policy import MEMORY
from gateway.conversation import Author
from gateway.registry import ToolRule
from gateway.sessions.context_marks import ContextMarks
from teams.base import ToolCall

ANN = Author(id="x:ann", name="Ann")
BOB = Author(id="x:bob", name="Bob")
TRUSTED = {"clock"}


def call(name: str, batch: str = "b", position: int = 0) -> ToolCall:
    return ToolCall(key=f"{batch}:{position}", id="1", name=name, arguments="{}", agent=("a",))


def rules(asked: ToolCall, author: Author) -> ToolRule:
    """Everything is allowed, but for Bob."""
    return ToolRule(
        action="ask" if author.id == BOB.id else "allow",
        read_only=asked.name == "fetch",
        output="trusted" if asked.name in TRUSTED else "foreign",
    )


def marks(*, authors=(), outputs=None, **more) -> ContextMarks:
    found = ContextMarks(rules, people=[ANN], **more)
    found.learn(authors, outputs or {})
    return found


def test_without_marks_the_policy_alone_decides():
    rule = marks().rule(call("mail"))
    assert (rule.action, rule.because) == ("allow", "")


@pytest.mark.parametrize("tool", ["fetch", "mail"])
def test_a_result_marks_what_comes_after_its_batch(tool):
    found = marks()
    assert found.add_output(call(tool, "one"))
    assert found.rule(call("mail", "one", 1)).action == "allow"
    asked = found.rule(call("mail", "two"))
    assert asked.action == "ask"
    assert f"results of {tool}" in asked.because
    assert found.rule(call("fetch", "two")).action == "allow"


def test_what_the_policy_trusts_marks_nothing_now_and_before():
    found = marks(outputs={"clock": 1.0})
    assert not found.add_output(call("clock"))
    assert found.rule(call("mail")).action == "allow"


def test_a_reason_names_few_tools():
    because = marks(outputs=dict.fromkeys("abcd", 1.0), untrusted=True).rule(call("mail")).because
    assert "quotes or files" in because
    assert "results of a, b, c and of other tools" in because


def test_a_memory_marks_once():
    found = marks()
    assert found.add_source("memory")
    assert not found.add_source("memory")
    assert f"results of {MEMORY}" in found.rule(call("mail")).because


def test_the_strictest_author_decides_and_the_reason_says_so():
    rule = marks(authors=[BOB]).rule(call("mail"))
    assert rule.action == "ask"
    assert "somebody whose words" in rule.because


def test_an_approval_holds_until_another_tool_brings_something():
    found = marks(
        outputs={"fetch": 1.0},
        granted={("mail", ""): 2.0, ("mail", "same:1"): 2.0, ("old", ""): 0.5},
    )
    assert sorted(found.granted("mail")) == ["", "same:1"]
    assert found.granted("old") == []
    found.add_output(call("mail"))
    found.add_output(call("fetch"))
    assert found.granted("mail")
    found.add_output(call("search"))
    assert not found.granted("mail")


@pytest.mark.parametrize(
    ("author", "untrusted", "holds"), [(ANN, False, True), (ANN, True, False), (BOB, False, False)]
)
def test_an_approval_holds_until_somebody_else_or_foreign_text_joins(author, untrusted, holds):
    found = marks(authors=[BOB], granted={("mail", ""): 2.0})
    found.add_person(author, untrusted=untrusted)
    assert found.granted("mail") == ([""] if holds else [])


def test_nobody_keeps_the_groups_they_had():
    """A message counts with the groups of its author at that time."""
    before = Author(id="x:ann", name="Ann", groups=frozenset({"guests"}))
    strict = ContextMarks(
        lambda _, author: ToolRule(action="deny" if author.groups else "allow"),
        people=[ANN],
    )
    strict.learn([before], {})
    assert strict.rule(call("mail")).action == "deny"
