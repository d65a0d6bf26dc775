"""Pasted text is text, whatever is in it."""

import pytest
from textual import events
from textual.message import Message

from adapters.terminal.paste import PasteFilter, PasteParser

LINES = "one \x1b[31mred\x1b[0m\rtwo \x1b\rthree\x1b\x1b[A"
CLEANED = "one [31mred[0m\rtwo \rthree[A"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_a_paste_has_no_escapes_in_whatever_pieces_it_comes(size: int):
    sent = f"\x1b[A\x1b\x1b[200~{LINES}\x1b[201~\x1b[B\x1b[201~x"
    paste = PasteFilter()
    got = "".join(paste.feed(sent[at : at + size]) for at in range(0, len(sent), size))
    assert got == f"\x1b[A\x1b\x1b[200~{CLEANED}\x1b[201~\x1b[B\x1b[201~x"


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_a_paste_of_coloured_lines_is_one_paste_and_no_key(size: int):
    sent = f"a\x1b[200~{LINES}\x1b[201~\r"
    parser = PasteParser()
    got: list[Message] = []
    for at in range(0, len(sent), size):
        got += parser.feed(sent[at : at + size])
    assert [getattr(event, "key", None) or getattr(event, "text", None) for event in got] == [
        "a",
        CLEANED,
        "enter",
    ]
    assert isinstance(got[1], events.Paste)
