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
    before, line = _last_line(text.rstrip())
    shown = before.rstrip() if line == WORD else text
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
        end = self._end(text)
        if len(text) - end > MOST_HELD:
            end = len(text)
        shown, self.held = text[:end], text[end:]
        if shown:
            self._in_line = not shown.endswith("\n")
        return shown

    def _end(self, text: str) -> int:
        """The end of what may be shown; space stands before the word."""
        body = text.rstrip()
        before, line = _last_line(body)
        grows = "\n" not in text[len(body) :]
        if line != WORD and not (grows and WORD.startswith(line)):
            return len(body)
        return len(before.rstrip()) if before or not self._in_line else len(body)


def _last_line(text: str) -> tuple[str, str]:
    begin = text.rfind("\n") + 1
    return text[:begin], text[begin:].strip()
