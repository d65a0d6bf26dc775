"""Waits that platforms ask for."""

import pytest

from gateway.surface import LONGEST_WAIT, seconds_told


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        ("17", 17),
        (0.25, 0.25),
        ("0", 0),
        (-3, 0),
        ("9" * 400, LONGEST_WAIT),
        (1e300, LONGEST_WAIT),
        ("inf", LONGEST_WAIT),
        (10**400, 5),
        ("nan", 5),
        ("soon", 5),
        ("", 5),
        (None, 5),
        ([], 5),
        ({"seconds": 3}, 5),
    ],
)
def test_it_is_a_number_within_reason_or_what_is_usual(told: object, seconds: float):
    assert seconds_told(told, 5) == seconds
