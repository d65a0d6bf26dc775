"""Agents' text without mentions, hidden addresses, or tricks on any surface."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.render.outbound import AT, label, markdown, mrkdwn, plain

PINGS = re.compile(r"@(?:everyone|here|channel)|<[@#!]", re.IGNORECASE)
TRICKS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize("write", [markdown, mrkdwn])
@pytest.mark.parametrize(
    "text",
    [
        "@everyone",
        "`@here`",
        "```\n@channel\n```",
        "<@U123>",
        "<!channel>",
        "<!subteam^S1|all>",
        "<@&42>",
        "<#C1|general>",
        "@\u200beveryone",
        "<\u202e@U1>",
        "@EVERYONE",
        "a@everyonehttps://e.example",
        "`<@U1>`",
    ],
)
def test_nobody_is_mentioned(write, text):
    shown = write(text)
    assert not PINGS.search(shown)
    assert not TRICKS.search(shown)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[my bank](https://evil.example/x)", "my bank (https://evil.example/x)"),
        ("<https://evil.example|my bank>", "my bank (https://evil.example)"),
        ("![chart](https://evil.example/?q=secret)", "chart (https://evil.example/?q=secret)"),
        ("![](https://evil.example/a)", "(https://evil.example/a)"),
        ('[a](https://evil.example "https://good.example")', "a (https://evil.example)"),
        (
            "[[a](https://x.example)](https://y.example)",
            "a (https://x.example) (https://y.example)",
        ),
        (
            "[https://good.example](https://evil.example)",
            "https://good.example (https://evil.example)",
        ),
        ("[https://a.example](https://a.example)", "https://a.example"),
        ("<https://a.example/x>", "https://a.example/x"),
        ("[a]: https://evil.example", "\\[a]: https://evil.example"),
        ("[a](javascript:alert(1))", "a (javascript:alert(1) )"),
        ("a list [x] (and y)", "a list [x] (and y)"),
        ("mail me at a@example.com", "mail me at a@example.com"),
    ],
)
def test_an_address_stands_beside_its_words(text, shown):
    assert markdown(text) == shown
    assert mrkdwn(text) == shown.replace("&", "&amp;")


def test_while_an_answer_grows_only_known_hosts_are_links():
    text = "See https://docs.example/a, https://evil.example/?d=1. and www.evil.example!"
    assert markdown(text, hosts=["docs.example"]) == (
        "See https://docs.example/a, `https://evil.example/?d=1`. and `www.evil.example`!"
    )
    tricks = "https://docs.example@evil.example https://docs.example.evil.example"
    assert "`" in markdown(tricks, hosts=["docs.example"]).split()[0]
    assert "`" in markdown(tricks, hosts=["docs.example"]).split()[1]
    assert markdown("[a](https://evil.example)", hosts=[]) == "a (`https://evil.example`)"


def test_code_stays_as_it_is():
    code = "Look:\n```python\nx = [a](https://b.example)\nif a < b & c: pass\n```\nand `[c](d)`."
    assert markdown(code) == code
    assert mrkdwn(code) == code.replace("&", "&amp;").replace("<", "&lt;")


def test_a_fence_that_is_not_closed_yet_is_code_and_one_that_is_none_is_not():
    assert markdown("```\n[a](https://b.example)") == "```\n[a](https://b.example)"
    assert markdown("``` not ` code\n[a](https://b.example)").endswith("a (https://b.example)")


def test_a_label_is_one_short_line_without_marks():
    assert label("Hello\n<@U1> @here  world", 40) == f"Hello \u2039@U1> {AT}here world"
    assert label("x" * 50, 10) == "x" * 9 + "\u2026"


MARKS = st.lists(
    st.sampled_from(
        [
            *(
                "[",
                "]",
                "(",
                ")",
                "<",
                ">",
                "|",
                "`",
                "~",
                "@",
                "!",
                "#",
                "&",
                "\n",
                "\\",
                " ",
                '"',
            ),
            *("```", "@everyone", "<@U1>", "<!here>", "https://e.example/a", "www.e.example"),
            *("[a](https://e.example)", "\u200b", "\u202e", "\x1b[31m", "word"),
        ]
    )
).map("".join)


@given(MARKS)
@example("[[a](b)](c)")
def test_however_the_marks_are_put_together_nothing_comes_through(text):
    for shown in (markdown(text), mrkdwn(text)):
        assert not PINGS.search(shown)
        assert not TRICKS.search(shown)
    assert not re.search(r"<(?!$)[^&]", mrkdwn(text))
    assert "\x1b" not in plain(text)
    assert len(label(text, 20)) <= 20


def test_masks_in_masks_take_no_long_time():
    text = markdown("[" * 20_000 + "a" + "](https://e.example)" * 20_000)
    assert "](" not in text


@given(MARKS)
def test_every_prefix_of_a_growing_text_is_safe(text):
    for end in range(0, len(text), 7):
        assert not PINGS.search(markdown(text[:end], hosts=[]))
