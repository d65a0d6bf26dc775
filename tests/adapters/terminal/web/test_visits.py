"""Sizes that a request may ask for; addresses are in test_server.py."""

import pytest

from adapters.terminal.web.visits import bounded_size


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ((100, 30), (100, 30)),
        ((1, 10**30), (2, 500)),
        ((-5, 0), (2, 2)),
        ((True, 3.5), (80, 24)),
        (("90", None), (80, 24)),
        (([], {}), (80, 24)),
    ],
)
def test_a_size_is_two_numbers_within_bounds(said, meant):
    assert bounded_size(*said) == meant
