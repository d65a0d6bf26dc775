"""Pasted text, without its escape characters.

Textual reads an escape sequence within a bracketed paste as keys, so that a few lines of coloured
terminal output, pasted, would send themselves to the team line by line.
"""

from collections.abc import Iterable

from textual._xterm_parser import XTermParser
from textual.message import Message

ESC = "\x1b"
BEGIN, END = f"{ESC}[200~", f"{ESC}[201~"


class PasteFilter:
    """Removes escape characters from pastes in input of any pieces."""

    def __init__(self) -> None:
        self._pasting = False
        self._held = ""
        """Text that may become the start or end mark of a paste."""

    def feed(self, data: str) -> str:
        """Filter the next piece; a paste's last characters may come later."""
        return "".join(map(self._filtered, data))

    def _filtered(self, character: str) -> str:
        held, mark = self._held + character, END if self._pasting else BEGIN
        if held == mark:
            self._pasting, self._held = not self._pasting, ""
            return held if mark is END else character
        if mark.startswith(held):
            self._held = held
            return "" if self._pasting else character
        self._held = ESC if character == ESC else ""
        if not self._pasting:
            return character
        return held.replace(ESC, "")


class PasteParser(XTermParser):
    """Textual's reader of what a terminal sends, behind a filter."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._filter = PasteFilter()

    def feed(self, data: str) -> Iterable[Message]:
        """Parse the data; empty data ends it."""
        cleaned = self._filter.feed(data)
        return super().feed(cleaned) if cleaned or not data else ()
