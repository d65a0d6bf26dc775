"""Notes about work folders."""

from __future__ import annotations

from pathlib import Path

from gateway.store.work.note import WorkNote, left_out_before, read_note, write_note


def test_a_note_is_read_as_it_was_written(tmp_path: Path) -> None:
    note = WorkNote(versions=("a", "b"), since=5, left_out={"large": "too large"}, loaded_at=7)
    write_note(tmp_path / "notes" / "t", note)
    assert read_note(tmp_path / "notes" / "t") == note
    assert [each.name for each in (tmp_path / "notes").iterdir()] == ["t"]


def test_a_note_of_another_start_of_the_machine_tells_only_what_was_left_out(
    tmp_path: Path,
) -> None:
    (tmp_path / "t").write_text('{"machine": "-", "versions": ["a"], "left_out": {"large": ""}}')
    assert read_note(tmp_path / "t") is None
    assert left_out_before(tmp_path / "t") == ("large",)


def test_no_note_is_none(tmp_path: Path) -> None:
    (tmp_path / "odd").write_text("[]")
    assert [read_note(tmp_path / each) for each in ("odd", "none")] == [None, None]
