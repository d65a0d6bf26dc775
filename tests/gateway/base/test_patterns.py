"""Patterns of operators, matched by RE2."""

import pytest

from gateway.base.patterns import check_pattern, matches_whole


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("[^@,]+@example[.]com", "ann@example.com", True),
        ("[^@,]+@example[.]com", "ann@example.com,bob", False),
        ("a.c", "a\u00e9c", True),
        ("a.c", "a\nc", False),
        ("(?s)a.c", "a\nc", True),
        ("a.c", "a\ud800c", True),
        ("", "", True),
    ],
)
def test_a_pattern_fits_the_whole_text_or_not(pattern, text, fits):
    assert matches_whole(pattern, text) is fits


def test_a_pattern_that_others_would_backtrack_on_is_matched_at_once():
    assert not matches_whole("(x+)+y", "x" * 200_000)


@pytest.mark.parametrize("pattern", ["(?=x)", "(a)\\1", "(", "[a"])
def test_what_re2_cannot_match_is_refused(pattern):
    with pytest.raises(ValueError, match=r"invalid|missing"):
        check_pattern(pattern)
