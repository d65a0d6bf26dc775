"""Public names for kinds of tools and other parts."""

from __future__ import annotations

import teams.kinds


def test_each_name_is_there_once():
    names = teams.kinds.__all__
    assert sorted(set(names)) == sorted(names)
    assert all(hasattr(teams.kinds, name) for name in names)
    assert {*names} <= {*dir(teams.kinds)}


def test_a_name_that_is_not_there_is_missed():
    assert not hasattr(teams.kinds, "NoKind")
