"""A canvas: its files, revisions and patches, and its tools."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teams.core import CancellationToken
from teams.memory import MemoryContent
from teams.memory.canvas import TextCanvas, TextCanvasMemory
from teams.model_context import UnboundedChatCompletionContext
from teams.models import SystemMessage
from teams.tools import FunctionTool

POEM = "one\ntwo\nthree\nfour\n"
PATCH = """\
--- poem.txt
+++ poem.txt
@@ -1,3 +1,3 @@
 one
-two
+2
 three
"""


@pytest.fixture
def canvas() -> TextCanvas:
    made = TextCanvas()
    made.add_or_update_file("poem.txt", POEM)
    return made


async def run(tool: FunctionTool, **arguments: str) -> Any:
    return await tool.run_json(arguments, CancellationToken())


def test_files_have_revisions_from_one(canvas: TextCanvas):
    canvas.add_or_update_file("poem.txt", b"anew\n")
    canvas.add_or_update_file("empty.txt", "")
    assert canvas.list_files() == {"poem.txt": 2, "empty.txt": 1}
    assert canvas.get_latest_content("poem.txt") == "anew\n"
    assert canvas.get_revision_content("poem.txt", 1) == POEM
    for name, revision in (("poem.txt", 0), ("poem.txt", 3), ("poem.txt", -1), ("no.txt", 1)):
        assert canvas.get_revision_content(name, revision) == ""
    assert canvas.get_latest_content("no.txt") == ""


@pytest.mark.parametrize("content", [3, None, ["a"], b"\xff"])
def test_only_text_is_held(canvas: TextCanvas, content: Any):
    with pytest.raises(ValueError, match=r"text|utf-8"):
        canvas.add_or_update_file("poem.txt", content)
    assert canvas.list_files() == {"poem.txt": 1}


def test_a_diff_names_the_revisions(canvas: TextCanvas):
    canvas.add_or_update_file("poem.txt", "one\n2\nthree\nfour")
    diff = canvas.get_diff("poem.txt", 1, 2)
    assert diff == (
        "--- poem.txt@r1\n+++ poem.txt@r2\n@@ -1,4 +1,4 @@\n one\n-two\n+2\n three\n-four\n+four\n"
        "\\ No newline at end of file\n"
    )
    assert canvas.get_revision_diffs("poem.txt") == [diff]
    assert canvas.get_revision_diffs("no.txt") == []


@pytest.mark.parametrize(
    "patch",
    [PATCH, PATCH.encode(), PATCH.rstrip("\n"), PATCH.partition("poem.txt\n+++ poem.txt\n")[2]],
    ids=["text", "bytes", "no newline at its end", "no names"],
)
def test_a_patch_makes_the_next_revision(canvas: TextCanvas, patch: str | bytes):
    canvas.apply_patch("poem.txt", patch)
    assert canvas.get_latest_content("poem.txt") == "one\n2\nthree\nfour\n"
    assert canvas.list_files() == {"poem.txt": 2}


def test_hunks_after_one_that_grows_still_fit(canvas: TextCanvas):
    patch = "@@ -1 +1,2 @@\n one\n+one and a half\n@@ -4 +5 @@\n-four\n+4\n"
    canvas.apply_patch("poem.txt", patch)
    assert canvas.get_latest_content("poem.txt") == "one\none and a half\ntwo\nthree\n4\n"


LINES = st.lists(st.sampled_from(["", "a", "b", "- c", "\tx", "\u2028y", "\r"]), max_size=8)


@given(old=LINES, new=LINES, ends=st.tuples(st.booleans(), st.booleans()))
def test_a_diff_of_the_canvas_is_a_patch_for_it(
    old: list[str], new: list[str], ends: tuple[bool, bool]
):
    canvas = TextCanvas()
    before = "\n".join(old) + "\n" * ends[0]
    after = "\n".join(new) + "\n" * ends[1]
    for each in (before, after, before):
        canvas.add_or_update_file("a b.txt", each)
    if before != after:
        canvas.apply_patch("a b.txt", canvas.get_diff("a b.txt", 1, 2))
        assert canvas.get_latest_content("a b.txt") == after


@pytest.mark.parametrize(
    ("name", "patch", "problem"),
    [
        ("no.txt", PATCH, "no file 'no.txt'"),
        ("poem.txt", "", "changes one file; this one has 0"),
        ("poem.txt", "Please write 2 instead.", "changes one file; this one has 0"),
        ("poem.txt", PATCH + PATCH.replace("poem", "song"), "this one has 2"),
        ("poem.txt", PATCH.replace(" three", " THREE"), r"Hunk 1 does not fit at line 1.*'THREE'"),
        ("poem.txt", PATCH.replace("-1,3 +1,3", "-2,3 +2,3"), "Hunk 1 does not fit at line 2"),
        ("poem.txt", PATCH.replace("-1,3", "-9,3"), "Hunk 1 does not fit at line 9"),
        ("poem.txt", PATCH.replace("-1,3", "-1,9"), "no unified diff"),
        ("poem.txt", "@@ -0,0 +1 @@\n+x\n@@ -1 +1 @@\n-zero\n+0\n", "Hunk 2 does not fit"),
        ("poem.txt", 7, "found int"),
    ],
)
def test_a_patch_that_does_not_fit_changes_nothing(
    canvas: TextCanvas, name: str, patch: Any, problem: str
):
    with pytest.raises(ValueError, match=problem):
        canvas.apply_patch(name, patch)
    assert canvas.list_files() == {"poem.txt": 1}


async def test_the_context_holds_the_newest_canvas_alone(canvas: TextCanvas):
    memory, context = TextCanvasMemory(canvas), UnboundedChatCompletionContext()
    for content in ("first", "second", "second"):
        canvas.add_or_update_file("poem.txt", content)
        assert (await memory.update_context(context)).memories.results == []
    (shown,) = await context.get_messages()
    assert isinstance(shown, SystemMessage)
    assert "poem.txt (revision 4)\nsecond" in shown.content
    assert "first" not in shown.content
    await memory.clear()
    await memory.update_context(context)
    assert await context.get_messages() == []


async def test_an_unchanged_canvas_leaves_the_context_alone(canvas: TextCanvas):
    memory, context = TextCanvasMemory(canvas), UnboundedChatCompletionContext()
    await memory.update_context(context)
    await context.add_message(SystemMessage(content="others' words"))
    generation = context.history.generation
    await memory.update_context(context)
    assert context.history.generation == generation
    assert len(await context.get_messages()) == 2


async def test_a_canvas_is_neither_searched_nor_added_to():
    memory = TextCanvasMemory()
    await memory.add(MemoryContent(content="x", mime_type="text/plain"))
    assert (await memory.query("x")).results == []
    assert memory.canvas.list_files() == {}
    await memory.close()


async def test_the_tools_follow_the_canvas_after_a_clear():
    memory = TextCanvasMemory()
    update, patch = memory.get_update_file_tool(), memory.get_apply_patch_tool()
    assert [tool.name for tool in (update, patch)] == ["update_file", "apply_patch"]
    await memory.clear()
    made = await run(update, filename="poem.txt", new_content=POEM)
    assert update.return_value_as_string(made) == '{"status": "OK"}'
    changed = await run(patch, filename="poem.txt", patch_text=PATCH)
    assert patch.return_value_as_string(changed) == '{"status": "PATCH APPLIED"}'
    assert memory.canvas.get_latest_content("poem.txt") == "one\n2\nthree\nfour\n"


def test_without_the_extra_it_is_named_when_a_canvas_is_made(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "unidiff", None)
    with pytest.raises(ImportError, match=r"pip install 'parley-gateway\[canvas\]'"):
        TextCanvasMemory()
