"""The word TERMINATE on a last line is held back."""

import pytest

from gateway.content.sign_off import SignOff, split_sign_off


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Done.\n\nTERMINATE", "Done."),
        ("Done.\n TERMINATE \n\n", "Done."),
        ("TERMINATE", ""),
        ("Say TERMINATE", "Say TERMINATE"),
        ("Done.\nTERMINATED", "Done.\nTERMINATED"),
        ("Done.\nTERMINATE\nmore", "Done.\nTERMINATE\nmore"),
        ("Done.\nTERM", "Done.\nTERM"),
        ("Done.\nterminate", "Done.\nterminate"),
        ("Done. \n", "Done. \n"),
        ("", ""),
    ],
)
def test_the_word_alone_on_the_last_line_is_split_off(text: str, shown: str) -> None:
    assert split_sign_off(text) == (shown, text[len(shown) :])


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
@pytest.mark.parametrize(
    ("text", "shown", "held"),
    [
        ("Done.\nTERMINATE", "Done.\n", "TERMINATE"),
        ("Done.\nTERMINATE \n", "Done.\n", "TERMINATE \n"),
        ("Done.\nTERMS apply", "Done.\nTERMS apply", ""),
        ("Done.\nTERM\napply", "Done.\nTERM\napply", ""),
        ("TERMINATE", "", "TERMINATE"),
        ("a TERMINATE", "a TERMINATE", ""),
        ("T\nT", "T\n", "T"),
        ("Done.\nTERMINATE\nreally", "Done.\nTERMINATE\nreally", ""),
    ],
)
def test_a_growing_text_shows_no_end_that_may_become_the_word(
    text: str, shown: str, held: str, size: int
) -> None:
    sign_off = SignOff()
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert "".join(map(sign_off.take, pieces)) == shown
    assert sign_off.held == held
