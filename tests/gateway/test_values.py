"""Values compare, hash and show themselves by their fields."""

from __future__ import annotations

from dataclasses import field, replace

from gateway.values import value


@value
class Letter:
    to: str
    text: str = field(default="", repr=False)
    read: bool = field(default=False, compare=False)


@value
class Parcel(Letter):
    pass


class Everything:
    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


def test_equal_fields_make_equal_values():
    letter = Letter(to="Ann", text="hello")
    assert letter == Letter(to="Ann", text="hello", read=True)
    assert hash(letter) == hash(Letter(to="Ann", text="hello", read=True))
    assert len({letter, replace(letter, read=True), replace(letter, to="Bob")}) == 2


def test_values_of_another_type_are_not_equal():
    assert Letter(to="Ann") != Parcel(to="Ann")
    assert Letter(to="Ann") != ("Ann", "")
    assert Letter(to="Ann") == Everything()


def test_a_value_shows_its_fields_but_hidden_ones():
    assert repr(Letter(to="Ann", text="secret")) == "Letter(to='Ann', read=False)"
    assert repr(Parcel(to="Bob")) == "Parcel(to='Bob', read=False)"
