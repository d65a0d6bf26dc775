"""Halves of characters are joined, and lone ones replaced."""

from dataclasses import dataclass

import pytest

from teams._base.whole_text import whole_json
from teams.utils import whole_text, whole_texts


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("", ""),
        ("plain", "plain"),
        ("Zürich 🍕", "Zürich 🍕"),
        ("\ud83c\udf55", "🍕"),
        ("a\ud83c", "a\ufffd"),
        ("\udf55b", "\ufffdb"),
        ("\udf55\ud83c", "\ufffd\ufffd"),
        ("\ud83c\ud83c\udf55", "\ufffd🍕"),
        ("🍕\ud83c🍕", "🍕\ufffd🍕"),
        ("\ud83cü", "\ufffdü"),
        ("\x00\ufeff\udfff", "\x00\ufeff\ufffd"),
    ],
)
def test_what_can_t_be_encoded_is_made_whole(text, whole):
    assert whole_text(text) == whole
    assert whole_text(text).encode().decode() == whole


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('["\\ud83d"]', ["\ufffd"]),
        ('["\ud83d"]', ["\ufffd"]),
        (b'["\\ud83c\\udf55"]', ["🍕"]),
        (b'["\xed\xa0\xbd"]', ["\ufffd"]),
        ('["\ud83d"]'.encode("utf-16", "surrogatepass"), ["\ufffd"]),
        ('{"a": "Zürich"}', {"a": "Zürich"}),
    ],
)
def test_json_is_whole_however_its_halves_are_written(text, value):
    assert whole_json(text) == value


def test_a_text_that_is_whole_is_itself():
    for text in ("plain text", "Zürich"):
        assert whole_text(text) is text


@dataclass(frozen=True)
class Named:
    name: str
    parts: tuple[str, ...] = ()
    data: bytes = b""


def test_texts_are_found_wherever_they_stand():
    value = {"\ud83c": [Named("\udf55", ("ok", "\ud83c\udf55"), b"\xff"), 1, None]}
    assert whole_texts(value) == {"\ufffd": [Named("\ufffd", ("ok", "🍕"), b"\xff"), 1, None]}


def test_a_value_whose_texts_are_whole_is_itself():
    value = Named("a", ("b",))
    assert whole_texts(value) is value
    assert whole_texts([1, 2.5, value, frozenset({"x"})]) == [1, 2.5, value, frozenset({"x"})]
