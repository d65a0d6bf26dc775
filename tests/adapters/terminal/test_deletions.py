"""Deletions that can be undone for a while."""

from adapters.terminal.deletions import UNDO, Deletions
from tests.fakes.hand_clock import HandClock


def begun(*threads: str) -> tuple[Deletions, HandClock, list[str]]:
    clock, deleted = HandClock(), list[str]()
    deletions = Deletions(clock, deleted.append)
    for thread in threads:
        deletions.begin(thread)
        clock.advance(1)
    return deletions, clock, deleted


def test_each_thread_is_deleted_ten_seconds_after_it_was_asked_for():
    deletions, clock, deleted = begun("a", "b")
    assert "a" in deletions
    clock.advance(UNDO - 2)
    assert deleted == ["a"]
    assert "a" not in deletions
    clock.advance(UNDO)
    assert deleted == ["a", "b"]


def test_asking_twice_deletes_once():
    _, clock, deleted = begun("a", "a")
    clock.advance(2 * UNDO)
    assert deleted == ["a"]


def test_the_last_ones_are_undone_first():
    deletions, clock, deleted = begun("a", "b", "c")
    assert [deletions.undo(), deletions.undo()] == ["c", "b"]
    clock.advance(UNDO)
    assert deleted == ["a"]
    assert deletions.undo() is None


def test_the_end_of_the_process_leaves_nothing_over():
    deletions, clock, deleted = begun("a", "b")
    assert deletions.finish() == ["a", "b"]
    clock.advance(2 * UNDO)
    assert deleted == []
