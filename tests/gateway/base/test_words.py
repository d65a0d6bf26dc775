"""Words of a text, and parts of a search."""

from __future__ import annotations

import pytest

from gateway.base.words import LONGEST, PART, parts_of, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Deploy FAILED, again (twice)!", {"deploy", "failed", "again", "twice"}),
        ("Straße ÄRGER", {"strasse", "ärger"}),
        ("see gateway/store?x=1&y=2", {"see", "gateway", "store", "x", "1", "y", "2"}),
        ("v1.2-rc ends.", {"v1.2-rc", "2-rc", "rc", "ends"}),
        ("100% ... --", {"100%"}),
        ("数据库 down", {"数据", "据库", "库", "down"}),
        ("👍", {"👍"}),
        ("\ud800a\x00b", {"a", "b"}),
        ("", set()),
    ],
    ids=["case", "letters", "address", "marks", "only marks", "dense", "emoji", "odd", "empty"],
)
def test_a_text_has_words(text, words):
    assert words_of(text) >= words
    assert not {word for word in words_of(text) - words if word[0].isalnum()}


@pytest.mark.parametrize(
    ("search", "parts"),
    [
        ("Deploy failed", ("deploy", "failed")),
        ("failed failed.", ("failed",)),
        ("据库", ("据库",)),
        ("数据库", ("数据", "据库")),
        ("库", ("库",)),
        ("a" * 40, ("a" * PART,)),
        (" (... ", ()),
    ],
)
def test_a_search_has_parts(search, parts):
    assert parts_of(search) == parts


@pytest.mark.parametrize("text", ["f3a9" * 40, "ประเทศไทยรวมเลือดเนื้อชาติเชื้อไทย" * 3, "x-" * 90])
def test_each_short_part_of_a_long_word_is_in_one_of_its_pieces(text):
    words = words_of(text)
    assert max(map(len, words)) <= LONGEST
    for begin in range(len(text) - PART):
        for part in parts_of(text[begin : begin + PART]):
            assert any(part in word for word in words)


@pytest.mark.parametrize(
    "said", ["Mail a.b@example.com, please", "x=f(1.5)", "«Ça va» — 東京タワー"]
)
def test_all_that_is_in_a_text_is_found_by_its_parts(said):
    words = words_of(said)
    for begin in range(len(said)):
        for end in range(begin + 1, len(said) + 1):
            for part in parts_of(said[begin:end]):
                assert any(part in word for word in words), said[begin:end]
