"""The part of a long text that a transcript shows."""

import pytest

from adapters.terminal.excerpt import (
    HEAD_LINES,
    MOST_CHARACTERS,
    MOST_LINES,
    TAIL_LINES,
    around,
    ends_of,
    is_long,
)

LINES = "\n".join(f"line {number}" for number in range(3409))


@pytest.mark.parametrize(
    "text", ["", "hello", "a\n" * (MOST_LINES - 1), "a" * MOST_CHARACTERS, "\n\n", "á\tb"]
)
def test_a_short_text_is_shown_whole(text: str):
    assert not is_long(text)
    assert str(ends_of(text)) == str(around(text, 0)) == text


def test_a_long_text_shows_its_beginning_and_its_end():
    shown = str(ends_of(f"look at this:\n{LINES}\nand tell me why")).splitlines()
    assert shown[0] == "look at this:"
    assert shown[HEAD_LINES] == f"… {3411 - HEAD_LINES - TAIL_LINES:,} more lines"
    assert shown[-2:] == ["line 3408", "and tell me why"]
    assert len(shown) == HEAD_LINES + 1 + TAIL_LINES


@pytest.mark.parametrize(
    "text", ["x" * 200_000, "x " * 100_000, "x" * 190_000 + "\n" + "y" * 10_000]
)
def test_long_lines_are_cut_by_characters(text: str):
    shown = ends_of(text)
    assert text.startswith(shown.first)
    assert text.endswith(shown.last)
    assert len(str(shown)) < MOST_CHARACTERS
    assert "characters" in shown.between or "2 more lines" in shown.between


@pytest.mark.parametrize("at", [0, 1, 500, 20_000, len(LINES) - 1])
def test_a_place_is_shown_with_its_surroundings(at: int):
    shown = around(LINES, at)
    start = LINES.index(shown.first)
    assert start <= at <= start + len(shown.first)
    assert bool(shown.before) == (start > 0)
    assert shown.rest == LINES[start + len(shown.first) :]
    assert shown.first.count("\n") < MOST_LINES
