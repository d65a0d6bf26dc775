"""Words of several scripts, and the scripts themselves."""

import pytest
import regex

from gateway.render.mixed_words import mixed_words

EVERY = [chr(each) for each in range(0x110000) if not 0xD800 <= each < 0xE000]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pay \u0440\u0430ypal now", "'\u0440\u0430ypal' mixes Latin and Cyrillic letters."),
        ("g\u03bf\u03bfgle.com", "'g\u03bf\u03bfgle' mixes Latin and Greek letters."),
        ("\u03b1\u0434x", "'\u03b1\u0434x' mixes Latin and Greek and Cyrillic letters."),
        (
            "\u03c1\u0435\u0441\u043e",
            "'\u03c1\u0435\u0441\u043e' mixes Greek and Cyrillic letters.",
        ),
        ("p\u200b\u0430y", "'p\u0430y' mixes Latin and Cyrillic letters."),
        ("p\u0301\u0430", "'p\u0301\u0430' mixes Latin and Cyrillic letters."),
        ("pay4\u0440\u0430", "'pay4\u0440\u0430' mixes Latin and Cyrillic letters."),
        ("adm\u0456n_x", "'adm\u0456n' mixes Latin and Cyrillic letters."),
        ("p\u0430y p\u0430y", "'p\u0430y' mixes Latin and Cyrillic letters."),
        ("\uff50\u0430y", "'\uff50\u0430y' mixes Latin and Cyrillic letters."),
    ],
)
def test_a_word_of_several_scripts_is_named(text: str, said: str):
    assert mixed_words([text]) == said


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "\u041f\u0440\u0438\u0432\u0435\u0442, world",
        "\u03bb-calculus",
        "żółć",
        "\u0395\u03bb\u03bb\u03ac\u03b4\u03b1",
        "\u043c\u0438\u0440 2",
        "日本語",
        "api_\u043a\u043b\u044e\u0447",
        "",
    ],
)
def test_words_of_one_script_are_not(text: str):
    assert mixed_words([text]) == ""


def test_many_are_counted_and_long_ones_cut():
    text = " ".join(f"p\u0430{number}" for number in range(10))
    assert mixed_words([text]).endswith("; so do 7 other words.")
    assert len(mixed_words(["p\u0430" * 10_000])) < 100


@pytest.mark.parametrize("script", ["Latin", "Greek", "Cyrillic"])
def test_the_scripts_are_those_of_unicode(script: str):
    """A letter is found out by a neighbour of another script."""
    other = "\u044f" if script == "Latin" else "a"
    letters = regex.findall(rf"\p{{Script={script}}}", "".join(EVERY))
    found = [each for each in letters if each.isalpha()]
    missing = [each for each in found if f"{script}" not in mixed_words([f"{other}{each}"])]
    assert not missing
