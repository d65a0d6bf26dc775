"""Data of a config from which wrong parts are taken out."""

from __future__ import annotations

import pytest

from gateway.config.remains import Remains


@pytest.fixture
def remains() -> Remains:
    return Remains({"rules": [{"a": 1}, {"b": 2}, {"c": 3}], "limts": {"x": 1}, "team": "t"})


def test_items_that_stay_keep_their_numbers_in_the_file(remains: Remains) -> None:
    remains.remove([("rules", 0)])
    assert remains.data()["rules"] == [{"b": 2}, {"c": 3}]
    assert remains.in_file(("rules", 1, "c")) == ("rules", 2, "c")
    assert [*remains.removed_tables("rules")] == [(0, {"a": 1})]


def test_something_is_always_removed(remains: Remains) -> None:
    remains.remove([("rules", 1, "absent"), ("rules", 1, "absent too")])
    assert remains.data()["rules"] == [{"a": 1}, {"c": 3}]
    remains.remove([("nothing", "there")])
    assert remains.data() == {}


def test_a_misspelt_key_is_read_as_the_right_one(remains: Remains) -> None:
    assert remains.rename(("limts",), "limits")
    assert remains.data()["limits"] == {"x": 1}
    assert remains.in_file(("limits", "x")) == ("limts", "x")
    assert remains.misspelt(("limits", "x")) == ("limts", "x")
    assert remains.as_meant({"limts": 1, "team": 2}) == {"limits": 1, "team": 2}


def test_a_misspelt_key_beside_the_right_one_stays(remains: Remains) -> None:
    assert not remains.rename(("limts",), "team")
    assert "limts" in remains.data()


def test_a_cause_is_known_with_all_around_it(remains: Remains) -> None:
    remains.blame(("models", "m", "api_key_env"))
    assert remains.is_cause(("models", "m", "api_key"))
    assert not remains.is_cause(("models", "m"))
    assert remains.is_known(("models", "m"))
    assert not remains.is_known(("models", "n"))
    assert remains.follows(("models",), ["n", ("m", "api_key")])
    assert not remains.follows(("models",), ["n", ("m", "model")])
