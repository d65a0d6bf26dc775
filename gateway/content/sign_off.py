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
    shown = before[: _end_of_text(before)] if line == WORD else text
    return shown, text[len(shown) :]


@dataclass(slots=True)
class SignOff:
    """Holds back a growing end that may become the word.

    That is blank lines, and after them its first letters.
    """

    held: str = ""
    _in_line: bool = False
    """The text before what is held does not end with a line's end."""

    def take(self, text: str) -> str:
        """The next piece; what of it may be shown by now."""
        if self._in_line and not self.held and "\n" not in text:
            return text
        text = self.held + text
        end = self._end(text)
        if len(text) - end > MOST_HELD:
            end = len(text)
        shown, self.held = text[:end], text[end:]
        if shown:
            self._in_line = not shown.endswith("\n")
        return shown

    def _end(self, text: str) -> int:
        """The end of what may be shown."""
        body = text.rstrip()
        before, line = _last_line(body)
        grows = "\n" not in text[len(body) :]
        may_be_word = line == WORD or (grows and WORD.startswith(line))
        if may_be_word and not before and not self._in_line:
            return 0
        return _end_of_text(before if may_be_word and before else text, self._in_line)


def _last_line(text: str) -> tuple[str, str]:
    begin = text.rfind("\n") + 1
    return text[:begin], text[begin:].strip()


def _end_of_text(text: str, in_line: bool = False) -> int:
    """The end of the last line that is not blank."""
    body = text.rstrip()
    if not body and not in_line:
        return 0
    end = text.find("\n", len(body))
    return len(text) if end < 0 else end
