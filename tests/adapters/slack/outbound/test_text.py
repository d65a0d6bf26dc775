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
    whole = neutral(text)
    shown = ""
    for end in range(len(text) + 1):
        now = settled(neutral(text[:end]))
        assert whole.startswith(now)
        shown = now if len(now) > len(shown) else shown
    assert len(shown) > len(whole) * 0.7


def test_hardly_a_random_text_ever_takes_anything_back() -> None:
    pieces = [piece for text in TEXTS.values() for piece in (text[:9], text[9:30], text[30:])]
    chance = random.Random(5)
    wrong = 0
    for _ in range(300):
        text = "".join(chance.choice(pieces) for _ in range(5))
        whole = neutral(text)
        starts = (settled(neutral(text[:end])) for end in range(0, len(text), 3))
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


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<!channel> <@U123> <#C1|general>", "&lt;!channel> &lt;@U123> &lt;#C1|general>"),
        ("<!subteam^S1|all> @here", "&lt;!subteam^S1|all> \uff20here"),
        (
            "`<!here>` `<@U123>` `<!subteam^S1>`",
            "`\u2039!here>` `\u2039@U123>` `\u2039!subteam^S1>`",
        ),
        ("`<https://evil.example|bank>`", "`\u2039https://evil.example|bank>`"),
        ("$<!here>$ \\(<!channel>\\)", "`\u2039!here>` `\u2039!channel>`"),
        ("$<@U123>$", "`\u2039@U123>`"),
        ("$$<https://evil.com|good.com>$$", "`\u2039https://evil.com|good.com>`"),
        ("a <b>tag</b>, 5 < 6, x <- y", "a &lt;b>tag&lt;/b>, 5 < 6, x <- y"),
        ("`</div>` `<!DOCTYPE html>` `<#if x>`", "`</div>` `<!DOCTYPE html>` `<#if x>`"),
        ("```cpp\nstd::vector<T> v;\n```", "```cpp\nstd::vector<T> v;\n```"),
        ("###### Deep\n\n---\n- [x] done", "###### Deep\n\n---\n- [x] done"),
    ],
)
def test_only_what_slack_acts_on_is_changed(text: str, shown: str) -> None:
    assert neutral(text) == shown


def test_a_formula_waits_until_it_is_whole() -> None:
    assert settled(neutral("So \\(a^2 and more ")) == "So "
    assert settled(neutral("So \\(a^2\\) and more ")) == "So `a²` and more "
    assert settled(neutral("It costs $5 and more ")) == "It costs $5 and more "
