"""Agents' texts converted for Slack, from the first word on."""

import random

import pytest

from adapters.slack.outbound.text import cut, length, neutral, opening, settled

HOSTS = {"docs.example"}
TEXTS = {
    "links": "See [the docs](https://docs.example/x) or https://other.example/y, <https://a.example>.",
    "brackets": "A list [1] of [things (not links)] and [a [nested](http://b.example)](http://c.example).",
    "code": "Use `code <!here>` and ``x ` y`` now.\n\n```py\nx = [1]\nurl = 'https://d.example'\n```\nDone.",
    "marks": "**bold** and _italic_ and ~gone~ <@U1> & @here, 5 < 6.",
    "tables": "| a | b |\n|---|---|\n| [l](https://docs.example/t) | `2` |\n\nEnd.",
    "other scripts": "你好 世界。 Grüße aus Köln, 👩\u200d👩\u200d👧 und `ok`.",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_what_was_shown_of_a_growing_text_is_never_taken_back(text: str) -> None:
    whole = neutral(text, HOSTS)
    shown = ""
    for end in range(len(text) + 1):
        now = settled(neutral(text[:end], HOSTS))
        assert whole.startswith(now)
        shown = now if len(now) > len(shown) else shown
    assert len(shown) > len(whole) * 0.7


def test_hardly_a_random_text_ever_takes_anything_back() -> None:
    pieces = [piece for text in TEXTS.values() for piece in (text[:9], text[9:30], text[30:])]
    chance = random.Random(5)
    wrong = 0
    for _ in range(300):
        text = "".join(chance.choice(pieces) for _ in range(5))
        whole = neutral(text, HOSTS)
        starts = (settled(neutral(text[:end], HOSTS)) for end in range(0, len(text), 3))
        wrong += any(not whole.startswith(start) for start in starts)
    assert wrong < 15


def test_a_code_block_grows_by_lines() -> None:
    assert settled("Look:\n```py\nx = 1\ny =") == "Look:\n```py\nx = 1\n"


def test_a_first_word_is_shown_at_once_and_half_a_link_is_not() -> None:
    assert opening("Hel") == "Hel"
    assert opening("# Tit") == "# Tit"
    assert opening("[the") == ""
    assert opening("https://a") == ""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("One paragraph.\n\nAnd ano", "One paragraph."),
        ("One line\nanother", "One line"),
        ("a few words that go on and", "a few words that go on"),
        ("oneword", "oneword"),
    ],
)
def test_a_message_ends_where_a_reader_would_pause(text: str, shown: str) -> None:
    assert cut(text) == shown


def test_lengths_are_those_of_javascript() -> None:
    assert length("abc") == 3
    assert length("a\U0001f469b") == 4
