"""The word TERMINATE on a last line is held back."""

import pytest

from gateway.content.sign_off import MOST_HELD, SignOff, split_sign_off


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
        ("Done.\nTERMINATE", "Done.", "\nTERMINATE"),
        ("Done.\n\n \nTERMINATE", "Done.", "\n\n \nTERMINATE"),
        ("Done. \n", "Done. ", "\n"),
        ("Done. \n \nTERMINATE", "Done. ", "\n \nTERMINATE"),
        ("One ", "One ", ""),
        ("  One  two ", "  One  two ", ""),
        (" \n\nTERMINATE", "", " \n\nTERMINATE"),
        ("Done.\nTERMINATE \n", "Done.", "\nTERMINATE \n"),
        ("Done.\nTERMS apply", "Done.\nTERMS apply", ""),
        ("Done.\nTERM\napply", "Done.\nTERM\napply", ""),
        ("TERMINATE", "", "TERMINATE"),
        ("a TERMINATE", "a TERMINATE", ""),
        ("T\nT", "T", "\nT"),
        ("Done.\nTERMINATE\nreally", "Done.\nTERMINATE\nreally", ""),
    ],
)
def test_a_growing_text_shows_no_end_that_may_become_the_word(
    text: str, shown: str, held: str, size: int
) -> None:
    sign_off = SignOff()
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert "".join(map(sign_off.take, pieces)) == shown
    assert split_sign_off(text)[0].startswith(shown)  # the message goes on from there
    assert sign_off.held == held


@pytest.mark.parametrize("more", [" ", "\n", "\t", "\u2028"])
def test_a_model_that_sends_nothing_but_space_for_ever_is_not_held_back(more: str) -> None:
    sign_off = SignOff()
    assert sign_off.take("Done.\nTERMINATE") == "Done."
    for _ in range(20_000):
        sign_off.take(more)
        assert len(sign_off.held) <= MOST_HELD
    assert split_sign_off(f"Done.\nTERMINATE{more * 20_000}")[0] == "Done."
