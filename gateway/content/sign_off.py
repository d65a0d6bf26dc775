"""The word that ends a team's work, which people are not shown.

AutoGen's system messages ask for TERMINATE, on a line of its own at the end of an answer. It is for
the team's termination; the team, its conditions and exports have the text whole.
"""

from __future__ import annotations

from dataclasses import dataclass

WORD = "TERMINATE"
MOST_HELD = 100
"""Characters of a growing text that are held back: a model may send spaces for ever."""


def split_sign_off(text: str) -> tuple[str, str]:
    """Split a text for people from the word on its last line."""
    begin = _begin(text, whole=True)
    shown = text[:begin].rstrip() if begin < len(text) else text
    return shown, text[len(shown) :]


@dataclass(slots=True)
class SignOff:
    """Holds back a growing end that may become the word."""

    held: str = ""
    _in_line: bool = False
    """The text before what is held does not end with a line's end."""

    def take(self, text: str) -> str:
        """The next piece; what of it may be shown by now."""
        text = self.held + text
        begin = _begin(text, whole=False, in_line=self._in_line)
        if len(text) - begin > MOST_HELD:
            begin = len(text)
        shown, self.held = text[:begin], text[begin:]
        if shown:
            self._in_line = not shown.endswith("\n")
        return shown


def _begin(text: str, *, whole: bool, in_line: bool = False) -> int:
    """The place where a last line begins that may be the word."""
    body = text.rstrip()
    begin = body.rfind("\n") + 1
    line = body[begin:].strip()
    ended = whole or "\n" in text[len(body) :]
    is_word = line == WORD or (bool(line) and not ended and WORD.startswith(line))
    return begin if is_word and not (in_line and begin == 0) else len(text)
