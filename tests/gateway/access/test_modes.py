"""Modes of approval decide on calls that rules ask for or allow."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.access.modes import ASK, EDITS, MEANINGS, PLAN, decision
from gateway.conversation import LOCAL_OPERATOR
from gateway.registry import DiffRule, ToolRule
from gateway.store.turn_records import ApprovalMode
from teams.base import ToolCall

ME = LOCAL_OPERATOR.id
MODES = {name: ApprovalMode(name=name, person=ME) for name in (EDITS, PLAN)}
EDIT = ToolRule(action="ask", paths=("path",), diff=DiffRule(path="path", content="content"))
READ = ToolRule(action="allow", read_only=True)


def call(name: str = "write", path: object = "notes.md", **more) -> ToolCall:
    arguments = json.dumps({"path": path, "content": "x"})
    return ToolCall(key="k:0", id="i", name=name, arguments=arguments, agent=("a",), **more)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A work folder with a link and a second name."""
    work = tmp_path / "work"
    (work / "docs").mkdir(parents=True)
    (work / "out").symlink_to(tmp_path)
    (tmp_path / "secret").write_text("x")
    os.link(tmp_path / "secret", work / "docs/second")
    return work


def found(folder: Path | None, mode: str, rule: ToolRule, asked: ToolCall, *, alone: bool = True):
    chosen = MODES.get(mode, ApprovalMode())
    return decision(chosen, rule, asked, folder, alone=alone)


@pytest.mark.parametrize("path", ["notes.md", "docs/new.md", "docs/../a", "deep/new/file"])
@pytest.mark.parametrize("server", ["", "files"])
def test_accepted_are_edits_that_the_operators_rule_calls_so(folder, path, server):
    assert found(folder, EDITS, EDIT, call(path=path, server=server)) == "allow"
    assert found(folder, EDITS, EDIT, call(path=str(folder / path), server=server)) == "allow"
    assert found(folder, ASK, EDIT, call(path=path, server=server)) == ""


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "../secret", "docs/../../x", "out/secret", "docs/second", "~/x", "a\\b", "", 5],
)
def test_an_edit_that_may_leave_the_folder_asks(folder, path):
    assert found(folder, EDITS, EDIT, call(path=path)) == ""


@pytest.mark.parametrize(
    "change",
    [
        {"diff": None},
        {"paths": ()},
        {"paths": ("other",)},
        {"diff": DiffRule(path="target", content="content")},
        {"quorum": 2},
        {"always_allowed": False},
        {"approvers": ("x:boss",)},
        {"approvers": ("operators", "x:boss")},
        {"because": "this conversation contains files, which others may have written"},
        {"action": "deny"},
    ],
)
def test_the_rule_of_the_tool_stands_above_accepted_edits(folder, change):
    assert found(folder, EDITS, replace(EDIT, **change), call()) == ""


@pytest.mark.parametrize("approvers", [(), ("operators",), ("asker",), (ME,), ("asker", ME)])
def test_whoever_may_approve_alone_accepts(folder, approvers):
    assert found(folder, EDITS, replace(EDIT, approvers=approvers), call()) == "allow"


@pytest.mark.parametrize(
    "asked",
    [
        call("CodeExecutor"),
        call("execute_code"),
        call(within="k:1"),
        call(known=False),
        replace(call(), arguments="no object"),
        replace(call(), arguments="[]"),
    ],
)
def test_what_is_no_edit_asks(folder, asked):
    assert found(folder, EDITS, EDIT, asked) == ""


def test_a_tool_that_only_calls_itself_an_edit_asks(folder):
    said = {"name": "edit_file", "description": "Edits", "parameters": {"diff": "path"}}
    claims = call("edit_file", schema=said, idempotent=True, own_output=True, in_state=True)
    assert found(folder, EDITS, ToolRule(action="ask"), claims) == ""


def test_others_words_and_foreign_text_ask(folder):
    assert found(folder, EDITS, EDIT, call(), alone=False) == ""


def test_a_thread_without_a_folder_asks():
    assert found(None, EDITS, EDIT, call()) == ""


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("action", ["allow", "ask"])
def test_a_plan_refuses_all_that_may_change_something(folder, action, alone):
    rule = replace(EDIT, action=action)
    assert found(folder, PLAN, rule, call(), alone=alone) == "refuse"
    # What the tool says of itself does not count, only the rule, which weighed it.
    assert found(folder, PLAN, rule, call(read_only=True), alone=alone) == "refuse"
    assert found(folder, PLAN, replace(READ, action=action), call("read"), alone=alone) == ""


def test_each_mode_has_a_meaning():
    assert [*MEANINGS] == [ASK, EDITS, PLAN]
