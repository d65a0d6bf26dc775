"""Lists that know if they only grew."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from teams._base.history import History, LazyHistory

Change = Callable[[History[int]], object]


def assign(history: History[int]) -> None:
    history[0] = 5


def delete(history: History[int]) -> None:
    del history[1:]


def twice(history: History[int]) -> None:
    history *= 2


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (lambda history: history.clear(), []),
        (lambda history: history.replace([4]), [4]),
        (lambda history: history.insert(1, 9), [3, 9, 1, 2]),
        (lambda history: history.pop(0), [1, 2]),
        (lambda history: history.remove(1), [3, 2]),
        (lambda history: history.reverse(), [2, 1, 3]),
        (lambda history: history.sort(), [1, 2, 3]),
        (assign, [5, 1, 2]),
        (delete, [3]),
        (twice, [3, 1, 2, 3, 1, 2]),
    ],
    ids=["clear", "replace", "insert", "pop", "remove", "reverse", "sort", "set", "del", "times"],
)
def test_a_change_makes_another_generation(change: Change, left: list[int]):
    history = History([3, 1, 2])
    change(history)
    assert history == left
    assert history.generation == 1


@pytest.mark.parametrize(
    ("growth", "left"),
    [
        (lambda history: history.append(4), [3, 1, 2, 4]),
        (lambda history: history.extend([4, 5]), [3, 1, 2, 4, 5]),
        (lambda history: history.precede_by([7, 8]), [7, 8, 3, 1, 2]),
    ],
    ids=["append", "extend", "what was there before"],
)
def test_growth_is_no_change(growth: Change, left: list[int]):
    history = History([3, 1, 2])
    growth(history)
    assert history == left
    assert history.generation == 0


def test_nothing_is_cleared_without_a_change():
    history = History[int]()
    history.clear()
    assert history.generation == 0
    assert History([1, 2]).pop() == 2


def loaded() -> LazyHistory[int]:
    """A history of three saved items and an added one."""
    history = LazyHistory[int]()
    history.replace_by_saved([1, 2, 3])
    history.append(4)
    return history


@pytest.mark.parametrize("place", [3, -1, slice(3, 9), slice(-1, None)], ids=str)
def test_what_was_added_is_there_without_the_saved_items(place: int | slice):
    history = loaded()
    assert history[place] == [1, 2, 3, 4][place]
    assert len(history) == 4
    assert not history.is_read


@pytest.mark.parametrize("place", [0, -2, slice(1, 4), slice(None, None, -1)], ids=str)
def test_whoever_asks_for_a_saved_item_reads_them_all(place: int | slice):
    history = loaded()
    generation = history.generation
    assert history[place] == [1, 2, 3, 4][place]
    assert history.is_read
    assert history.generation == generation
    assert list(history) == history.items() == [1, 2, 3, 4]


def test_a_replaced_or_cleared_history_has_no_saved_items():
    history = loaded()
    history.replace([9])
    assert list(history) == [9]
    other = loaded()
    generation = other.generation
    other.clear()
    assert (list(other), other.is_read) == ([], True)
    assert other.generation != generation
