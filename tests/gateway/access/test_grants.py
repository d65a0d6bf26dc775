"""Scopes of approvals for the rest of a thread."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from gateway.access.grants import (
    NARROWEST,
    arguments_hash,
    covers,
    grant_scope,
    offered_folders,
    scope_text,
)
from gateway.store.records import Request
from teams.base import ToolCall

PATHS = ("path",)


def call(arguments: Any) -> ToolCall:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ToolCall(key="k", id="i", name="write", arguments=text, agent=("a",))


def scope_for(kind: Any, asked: ToolCall, folder: Path, paths: tuple[str, ...] = PATHS) -> str:
    request = Request(
        id="r",
        engine_id="e",
        thread="t",
        turn="u",
        kind="approval",
        agent=("a",),
        prompt="",
        asked_at=0.0,
        arguments_hash=arguments_hash(asked.arguments),
        below=offered_folders(asked, paths, folder),
    )
    scope = grant_scope(kind, request)
    assert scope is not None
    return scope


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A work folder, a neighbour of like name, and links."""
    work = tmp_path / "work"
    for name in ("reports/old", "reports-secret"):
        (work / name).mkdir(parents=True)
    (work / "reports/q1.md").write_text("1")
    (work / "reports/elsewhere").symlink_to(tmp_path)
    (work / "linked").symlink_to("reports")
    (tmp_path / "passwords").write_text("x")
    os.link(tmp_path / "passwords", work / "reports/second-name")
    return work


@pytest.mark.parametrize(
    ("path", "covered"),
    [
        ("reports/q2.md", True),
        ("./reports//old/q3.md", True),
        ("reports/new/deep/q4.md", True),
        ("reports/old/../q2.md", True),
        ("reports", True),
        ("reports-secret/q2.md", False),
        ("reports/../q2.md", False),
        ("reports/new/../../q2.md", False),
        ("../work/reports/q2.md", False),
        ("/etc/passwd", False),
        ("reports/elsewhere/passwords", False),
        ("linked/q2.md", False),
        ("reports/second-name", False),
        ("reports/q1.md/deeper", False),
        ("reports\\..\\..\\x", False),
        ("~/reports/x", False),
        ("reports/$HOME", False),
        ("file:///reports/x", False),
        (" reports/x", False),
        ("reports/x\0y", False),
        ("reports/x\u202ey", False),
        ("", False),
        (None, False),
        (["reports/x"], False),
    ],
)
def test_a_grant_below_a_folder_covers(folder: Path, path: Any, covered: bool):
    scope = scope_for("approve_below", call({"path": "reports/q1.md", "mode": 1}), folder)
    assert scope_text(scope) == "path below reports/"
    assert covers(scope, call({"path": path, "mode": 2}), PATHS, folder) == covered


def test_an_absolute_path_counts_within_the_work_folder_alone(folder: Path):
    scope = scope_for("approve_below", call({"path": f"{folder}/reports/q1.md"}), folder)
    assert covers(scope, call({"path": f"{folder}/reports/x"}), PATHS, folder)
    assert not covers(scope, call({"path": f"{folder}x/reports/x"}), PATHS, folder)


def test_every_declared_path_has_to_lie_below_its_folder(folder: Path):
    paths = ("source", "target")
    asked = call({"source": "reports/q1.md", "target": "x.md"})
    scope = scope_for("approve_below", asked, folder, paths)
    assert scope_text(scope) == "source below reports/, any target here"
    assert covers(scope, call({"source": "reports/a", "target": "old/b"}), paths, folder)
    assert not covers(scope, call({"source": "a", "target": "b"}), paths, folder)
    assert not covers(scope, call({"source": "reports/a"}), paths, folder)
    assert not covers(scope, call({"source": "reports/a", "target": "b"}), ("source",), folder)
    assert not covers(scope, call({"source": "reports/a", "target": "b"}), paths, None)
    assert not covers(scope, call("[]"), paths, folder)


@pytest.mark.parametrize(
    "arguments",
    [{}, {"path": "../x"}, {"path": "linked/x"}, {"path": "d" * 60 + "/x"}, {"path": 1}],
)
def test_no_folder_is_offered_where_it_cannot_be_told(folder: Path, arguments: Any):
    assert offered_folders(call(arguments), PATHS, folder) == ()
    assert offered_folders(call({"path": "reports/q1.md"}), (), folder) == ()
    assert offered_folders(call({"path": "reports/q1.md"}), PATHS, None) == ()


def test_exactly_these_arguments_are_these_characters(folder: Path):
    scope = scope_for("approve_same", call('{"path": "a"}'), folder)
    assert covers(scope, call('{"path": "a"}'), (), None)
    assert not covers(scope, call('{"path":"a"}'), (), None)
    assert scope_text(scope) == f"exactly the arguments {scope.removeprefix('same:')[:12]}"


def test_any_arguments_are_any(folder: Path):
    scope = scope_for("approve_always", call({"path": "a"}), folder)
    assert covers(scope, call({"path": "/etc/passwd"}), PATHS, folder)
    assert scope_text(scope) == "any arguments"
    assert not covers("a later version's", call({}), PATHS, folder)
    assert NARROWEST[0] == "approve"
