"""The change that a tool call's arguments make."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from gateway.content.diffs import argument_diff
from gateway.registry import DiffRule
from gateway.render.arguments import read_call
from gateway.values import ArgumentDiff
from teams.base import ToolCall

EDIT = DiffRule(old="old_str", new="new_str")
WRITE = DiffRule(path="path", content="content")


async def diff_of(rule: DiffRule, folder: Path | None = None, **arguments: Any):
    call = ToolCall(key="k", id="i", name="t", arguments=json.dumps(arguments), agent=("a",))
    return await argument_diff(call, rule, folder)


async def test_two_arguments_are_one_change_with_all_of_their_lines():
    old = "".join(f"{n}\n" for n in range(20))
    diff = await diff_of(EDIT, old_str=old, new_str=old.replace("7\n", "seven\n", 1), path="a")
    assert diff is not None
    assert diff.arguments == ("old_str", "new_str")
    lines = diff.lines.split("\n")
    assert lines[6:10] == [" 6", "-7", "+seven", " 8"]
    assert len(lines) == 21
    shown = read_call(json.dumps({"path": "a", "old_str": old, "new_str": "x"}), diff)
    assert [(each.name, each.kind) for each in shown] == [
        ("path", "value"),
        ("change of old_str, new_str", "diff"),
    ]


async def test_a_written_file_is_compared_with_the_one_in_the_work_folder(tmp_path: Path):
    old = "".join(f"{n}\n" for n in range(40))
    (tmp_path / "a.md").write_text(old)
    diff = await diff_of(WRITE, tmp_path, path="a.md", content=old.replace("20\n", "twenty\n20"))
    assert diff == ArgumentDiff(
        arguments=("content",),
        lines="@ 17 lines unchanged\n 17\n 18\n 19\n-20\n-21\n+twenty\n+2021\n 22\n 23\n 24\n"
        "@ 15 lines unchanged",
    )
    ended = await diff_of(WRITE, tmp_path, path="a.md", content=old[:-1])
    assert ended is not None
    assert ended.lines.endswith(" 38\n-39\n+39\n\\ no line end here")


@pytest.mark.parametrize(
    ("path", "note"),
    [
        ("new.md", "The file does not exist yet."),
        ("same.md", "The file stays as it is."),
        ("../secret", "There is no diff: this is no ordinary file in the thread's work folder."),
        ("link", "There is no diff: this is no ordinary file in the thread's work folder."),
        ("inner/secret", "There is no diff: this is no ordinary file in the thread's work folder."),
        ("second", "There is no diff: this is no ordinary file in the thread's work folder."),
        ("binary", "There is no diff: the file is no text in UTF-8."),
    ],
)
async def test_no_other_file_is_ever_read(tmp_path: Path, path: str, note: str):
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "secret").write_text("hunter2\n")
    (work / "link").symlink_to(tmp_path / "secret")
    (work / "inner").symlink_to(tmp_path)
    os.link(tmp_path / "secret", work / "second")
    (work / "binary").write_bytes(b"\xff\xfe")
    (work / "same.md").write_text("hi")
    assert await diff_of(WRITE, work, path=path, content="hi") == ArgumentDiff(note=note)
    shown = read_call(json.dumps({"path": path, "content": "hi"}), ArgumentDiff(note=note))
    assert [each.kind for each in shown] == ["value", "value", "note"]


@pytest.mark.parametrize("arguments", [{}, {"path": "a"}, {"path": 1, "content": "a"}])
async def test_arguments_of_another_kind_have_no_diff(tmp_path: Path, arguments: dict[str, Any]):
    assert await diff_of(WRITE, tmp_path, **arguments) is None
    assert await diff_of(EDIT, tmp_path, **arguments) is None
    assert await diff_of(WRITE, None, path="a", content="b") is None


async def test_a_change_without_end_is_not_compared_line_by_line():
    old, new = "a\nb\n" * 900, "b\nc\n" * 900
    diff = await diff_of(EDIT, old_str=old, new_str=new)
    assert diff is not None
    assert diff.lines.count("\n-") + diff.lines.count("\n+") + 1 == 3600
    long = await diff_of(EDIT, old_str="a" * 200_000, new_str="b")
    assert long == ArgumentDiff(note="There is no diff: the texts are too long.")
