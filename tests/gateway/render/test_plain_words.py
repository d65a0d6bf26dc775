"""Plain words of Markdown."""

import pytest

from gateway.render.plain_words import without_marks


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("**bold** and *slanted* and ***both***", "bold and slanted and both"),
        ("__bold__ and _slanted_, a_b_c", "bold and slanted, a_b_c"),
        ("~~gone~~", "gone"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("# A title\n\ntext", "A title\n\ntext"),
        ("#hashtag", "#hashtag"),
        ("> quoted\n> > twice", "quoted\ntwice"),
        ("- one\n* two\n  + three\n1. first", "\u2022 one\n\u2022 two\n\u2022 three\n1. first"),
        ("- [x] done\n- [ ] open", "\u2611 done\n\u2610 open"),
        ("[words](https://example.com) ![picture](a.png)", "words picture"),
        ("`**code**` stays, ``a ` b``", "**code** stays, a ` b"),
        ("```\n# no title\n```\nafter", "# no title\nafter"),
        ("~~~~\n~~~\n~~~~\n*after*", "~~~\nafter"),
        ("```\nnever closed **", "never closed **"),
        ("| a | b |\n|---|:-:|\n| 1 | 2 |", "a \u00b7 b\n1 \u00b7 2"),
        ("before\n\n---\n\nafter", "before\n\n\nafter"),
        (r"\*literal\* 1\. and C:\path", r"*literal* 1. and C:\path"),
        ("", ""),
    ],
)
def test_marks_go_and_words_stay(text: str, plain: str) -> None:
    assert without_marks(text) == plain


def test_no_more_is_read_than_people_are_shown() -> None:
    assert len(without_marks("*" * 1_000_000)) <= 2_000
