"""Formats of arguments and numbers; the drawn part of a growing text."""

import pytest

from adapters.terminal.text import (
    MOST_LINES,
    drawable_length,
    first_lines,
    format_age,
    format_cost,
    format_duration,
    format_tokens,
    shorten,
    typed_number,
)
from gateway.agent_state import Used

ROWS = "".join(f"line {number}\n" for number in range(MOST_LINES + 50))
TABLE = "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * (MOST_LINES + 50)


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0"), (999, "999"), (1000, "1.0k"), (9949, "9.9k"), (25_300, "25k"), (1_200_000, "1.2M")],
)
def test_tokens(count: int, shown: str):
    assert format_tokens(count) == shown


@pytest.mark.parametrize(
    ("used", "shown"),
    [
        (Used(), ""),
        (Used(900, 100, unpriced=1000), "price unknown"),
        (Used(900, 100, cost=1234.5), "cost 1,234.50"),
        (Used(900, 100, cost=0.25, unpriced=10), "cost over 0.25"),
        (Used(900, 100, cost=0.0004), "cost <0.01"),
    ],
)
def test_costs(used: Used, shown: str):
    assert format_cost(used) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.04, "<0.1s"),
        (0.05, "0.1s"),
        (9.44, "9.4s"),
        (12, "12s"),
        (59.6, "1m 00s"),
        (185, "3m 05s"),
        (3725, "1h 02m"),
    ],
)
def test_durations(seconds: float, shown: str):
    assert format_duration(seconds) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(-5, "now"), (59, "now"), (60, "1m"), (7199, "1h"), (90_000, "1d"), (864_000, "10d")],
)
def test_ages(seconds: float, shown: str):
    assert format_age(seconds) == shown


def test_long_text_is_cut_and_says_so():
    assert shorten("abcdef", 4) == "abc…"
    assert shorten("abcd", 4) == "abcd"
    assert first_lines("a\nb\nc", 2) == ("a\nb", 1)
    assert first_lines("a\nb", 2) == ("a\nb", 0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no line end",
        ROWS,
        "```python\nshort\n",
        f"```python\n{ROWS}```\n",
        f"```python\n{ROWS}```\nand more",
        f"~~~\n{ROWS}```\n~~~\n",
        f"{TABLE}\n",
        f"{TABLE}\nand more",
    ],
    ids=[
        "empty", "one line", "plain lines", "short fence", "closed fence", "text behind",
        "other marks inside", "closed table", "text behind a table",
    ],
)  # fmt: skip
def test_all_is_drawn_unless_a_long_block_is_open(text: str):
    assert drawable_length(text) == len(text)


@pytest.mark.parametrize(
    "head", ["```python\n", "    \n~~~~\n~~~\n", "before\n\n```\nx\n```\n````\n```\n"]
)
def test_a_long_open_fence_is_drawn_to_its_first_lines(head: str):
    drawn = (head + ROWS)[: drawable_length(head + ROWS)]
    fence = drawn[max(drawn.rfind("\n````"), drawn.rfind("\n~~~~"), 0) :].lstrip("\n")
    assert fence.count("\n") == MOST_LINES
    assert drawable_length(head + ROWS + "the next line") == len(drawn)


def test_a_long_open_table_is_drawn_to_its_first_rows():
    text = f"See:\n\n{TABLE}| 1 |"
    drawn = text[: drawable_length(text)]
    assert drawn.count("\n") == MOST_LINES + 2
    assert drawn.endswith("| 1 | 2 |\n")


@pytest.mark.parametrize(
    ("typed", "number"),
    [
        ("3", 3),
        ("", 0),
        ("-1", 0),
        ("²", 0),
        ("9" * 9, 999_999_999),
        ("9" * 20, 0),
        ("9" * 9999, 0),
    ],
)
def test_numbers_that_people_type(typed: str, number: int):
    assert typed_number(typed) == number
