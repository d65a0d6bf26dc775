"""Emoji whose joiners and style selectors are their own."""

import pytest

from gateway.render.emoji import emoji_spans


def kept(text: str) -> list[str]:
    return [text[start:end] for start, end in emoji_spans(text)]


@pytest.mark.parametrize(
    "emoji",
    [
        *(
            "❤️",
            "☎️",
            "©️",
            "⌚️",
            "🅰️",
            "㊙️",
            "1️⃣",
            "#️⃣",
            "🏳️‍🌈",
            "🏳️‍⚧️",
            "🏴‍☠️",
            "👁️‍🗨️",
            "❤️‍🔥",
            "⛓️‍💥",
            "🐻‍❄️",
            "🐦‍⬛",
        ),
        *(
            "👨‍👩‍👧‍👦",
            "👩🏽‍💻",
            "🧑🏿‍🤝‍🧑🏻",
            "👩‍❤️‍💋‍👨",
            "👩‍❤‍💋‍👨",
            "🕵️‍♂️",
            "🕵🏽‍♀️",
            "🏃🏻‍♀️‍➡️",
            "🫱🏻‍🫲🏿",
            "🧑‍🧒‍🧒",
            "🙂‍↕️",
        ),
        "🧑🏻‍🫯‍🧑🏿",  # of Unicode 17
    ],
)
def test_unicodes_own_sequences(emoji: str):
    assert kept(f"a{emoji}b") == [emoji]
    assert kept(f"{emoji}{emoji}") == [emoji, emoji]


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("a\ufe0f", []),
        ("1\ufe0f", []),
        ("😀\ufe0f", []),
        ("👩\ufe0f", []),
        ("❤\ufe0f\ufe0f", ["❤\ufe0f"]),
        ("❤\ufe0e", []),
        ("❤\u200d", []),
        ("\u200d❤", []),
        ("😀\u200d😀", []),
        ("❤️\u200d❤️", ["❤️", "❤️"]),
        ("👩\u200d💻\u200d👩", []),
        ("👩\ufe0f\u200d💻", []),
        ("👩\u200d\u200d💻", []),
        ("a\u200db", []),
        ("\u2800\ufe0f\u3164\u200d\u2060", []),
        ("🏴\U000e0067\U000e007f", []),
        ("plain", []),
    ],
)
def test_all_else_is_none_of_theirs(text: str, own: list[str]):
    assert kept(text) == own


def test_a_long_chain_takes_linear_time():
    assert kept("😀\u200d" * 100_000) == []
    assert len(kept("❤️\u200d" * 100_000)) == 100_000
