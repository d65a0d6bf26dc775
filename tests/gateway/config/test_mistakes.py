"""One mistake in a table: its place and its words."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import Discriminator, Field, ValidationError

from gateway.config.mistakes import Mistake
from gateway.config.remains import Remains
from teams.kinds import Secret, Section


class Inner(Section):
    """A table in a table."""

    size: int = 3
    """Size of it, in rooms."""

    needed: str
    """Name of it."""


class Table(Section):
    """A table."""

    mode: Literal["queue", "steer"] = "queue"
    """Effect of a message."""

    names: list[str] = Field(default_factory=list)
    """Names."""

    inner: Inner | None = None
    """Another table."""

    key: Secret | None = None
    """A secret."""


class Round(Section):
    """A round table."""

    type: Literal["round"]


class Square(Section):
    """A square table."""

    type: Literal["square"]


class Typed(Section):
    """A table of some kind."""

    type: str = "a"
    """Kind of it."""

    size: int = 3
    """Size of it."""

    one: Annotated[Round | Square, Discriminator("type")] | None = None
    """A table of one of two kinds."""


def mistake(written: dict[str, Any]) -> tuple[Mistake, Remains]:
    """The mistake of a table, and what is left of it."""
    remains = Remains(written)
    with pytest.raises(ValidationError) as caught:
        Table.model_validate(remains.data())
    [details] = caught.value.errors()
    return Mistake(Table, details, written, remains), remains


@pytest.mark.parametrize(
    ("written", "path", "said"),
    [
        ({"mode": "ster"}, ("mode",), "found 'ster', expected 'queue' or 'steer'; did you mean"),
        ({"names": "a"}, ("names",), "found 'a', expected a list; write [\"a\"], in brackets"),
        ({"names": [1]}, ("names", 0), 'found 1, expected text; write "1", in quotes'),
        ({"inner": {}}, ("inner", "needed"), "is missing: name of it"),
        ({"inner": []}, ("inner",), "expected a table"),
        ({"mdoe": "queue"}, ("mdoe",), "there is no setting 'mdoe'; did you mean 'mode'?"),
        ({"key": [1]}, ("key",), "found something else"),
    ],
)
def test_a_mistake_is_described_at_its_place(
    written: dict[str, Any], path: tuple[str | int, ...], said: str
) -> None:
    found, _ = mistake(written)
    assert found.path == path
    assert said in found.describe()


def test_a_missing_setting_makes_its_table_unusable() -> None:
    assert mistake({"inner": {}})[0].unusable == ("inner",)
    assert mistake({"mode": "ster"})[0].unusable == ("mode",)


def test_a_misspelt_key_gets_its_right_name() -> None:
    found, remains = mistake({"mdoe": "steer"})
    assert found.is_unknown_name
    assert not found.means_the_type
    assert found.rename(remains)
    assert remains.data() == {"mode": "steer"}
    other, left = mistake({"zzz": 1})
    assert not other.rename(left)
    assert not mistake({"mode": "ster"})[0].is_unknown_name


@pytest.mark.parametrize(
    ("written", "path", "means"),
    [
        ({"type": "b", "sise": 1}, ("sise",), False),
        ({"tpye": "b"}, ("tpye",), True),
        ({"one": {"tpye": "b"}}, ("one", "tpye"), True),
    ],
)
def test_a_misspelt_key_may_stand_for_the_kind(
    written: dict[str, Any], path: tuple[str, ...], means: bool
) -> None:
    remains = Remains(written)
    with pytest.raises(ValidationError) as caught:
        Typed.model_validate(remains.data())
    [found] = [Mistake(Typed, each, written, remains) for each in caught.value.errors()]
    assert (found.path, found.means_the_type) == (path, means)


def test_a_mistake_that_was_told_before_follows() -> None:
    found, remains = mistake({"inner": {}})
    assert not found.follows(remains)
    remains.blame(("inner", "needed"))
    assert found.follows(remains)
    again, left = mistake({"mode": "ster"})
    assert not again.follows(left)
    left.blame(("mode",))
    assert again.follows(left)
