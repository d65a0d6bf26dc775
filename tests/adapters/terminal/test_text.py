"""Formats of arguments, numbers and times."""

import pytest

from adapters.terminal.text import (
    first_lines,
    format_age,
    format_duration,
    format_tokens,
    one_line_arguments,
    pretty_arguments,
    shorten,
)


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ('{"path": "a.txt", "lines": [1, 2]}', 'path: "a.txt"\nlines: [1, 2]'),
        ('{"text": "a\\nforged: true"}', 'text: "a\\nforged: true"'),
        ('{"text": "\\u202e\\u00e9"}', 'text: "\u202eé"'),
        ('{"path": "a", "path": "b"}', '{"path": "a", "path": "b"}'),
        ("{}", ""),
        ('"text"', '"text"'),
        ('{"half": ', '{"half": '),
        ("", ""),
    ],
)
def test_arguments_are_shown_whole_and_unambiguous(arguments: str, shown: str):
    assert pretty_arguments(arguments) == shown


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ('{"command": "ls  -la\\nrm"}', "ls -la rm"),
        ('{"a": 1, "b": "x"}', "a=1 b=x"),
        ("{}", ""),
        ("not json\n", "not json"),
        ("[1]", "[1]"),
    ],
)
def test_arguments_in_a_row(arguments: str, shown: str):
    assert one_line_arguments(arguments) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0"), (999, "999"), (1000, "1.0k"), (9949, "9.9k"), (25_300, "25k"), (1_200_000, "1.2M")],
)
def test_tokens(count: int, shown: str):
    assert format_tokens(count) == shown


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
