"""Thoughts within a text, as some models write them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from teams.models._thought_marks import ANY, HARMONY, THINK, Mark, Marks

_SENTENCE_ENDS = "\n.!?…。"
_LONGEST = 200
"""Blanks before a thought, and ticks in a row, whose end is waited for."""
_HARMONY_OPENINGS = {mark.opening for mark in HARMONY}
_LEFT_OF_HARMONY = re.compile(r"(<\|end\|>)?(<\|start\|>assistant)?$")


@dataclass(slots=True)
class ThoughtParser:
    """Separates the thoughts from a text in pieces.

    A text may begin with a thought in any model's marks. Those of its own model may open one later,
    too, after a sentence and outside of code; one that is never closed is text after all.
    """

    marks: Marks = field(default_factory=Marks)
    separated: bool = False
    """Thoughts came beside the text, so it does not begin within one."""
    _state: str = "start"
    _held: str = ""
    _mark: Mark | None = None
    """The mark of the open thought; None for one that the request has opened."""
    _certain: bool = True
    """The open thought is one even if it is never closed."""
    _open: list[str] = field(default_factory=list[str])
    _before: str = ""
    """The end of the text before what is held."""
    _code: str = ""
    """The mark of the open code."""
    _thoughts: list[str] = field(default_factory=list[str])
    growth: list[str] | None = None
    """Takes what an open thought gains, if somebody asks."""

    @property
    def thought(self) -> str:
        thoughts = (_LEFT_OF_HARMONY.sub("", each.strip()).strip() for each in self._thoughts)
        return "\n\n".join(filter(None, thoughts))

    def read(self, piece: str) -> str:
        """The new part of the text without the thoughts."""
        if self._state == "text":
            return piece
        self._held += piece
        shown: list[str] = []
        while self._step(shown):
            pass
        return "".join(shown)

    def end(self, *, cut: bool = False) -> str:
        """The text that was held back, unless it is a thought.

        `cut`: the model could not say all.
        """
        held, state = self._held, self._state
        self._held, self._state = "", "text"
        if state != "thought":
            return held
        thought = "".join(self._open) + held
        if self._certain or (cut and not self._before):
            self._thoughts.append(thought)
            return ""
        return f"{self._mark.opening}{thought}" if self._mark else thought

    def _step(self, shown: list[str]) -> bool:
        """Read on; False if more has to come."""
        match self._state:
            case "start":
                return self._begin()
            case "thought":
                return self._close()
            case "watch":
                return self._watch(shown)
            case "after":
                self._held = self._held.lstrip()
                if self._held:
                    self._state = "watch" if self._before else "start"
                return bool(self._held)
            case _:
                shown.append(self._held)
                self._held = ""
                return False

    def _begin(self) -> bool:
        """Find out if the text begins with a thought."""
        seen = self._held.lstrip()
        starts = [*ANY, *self.marks.inside]
        for mark in starts:
            if seen.startswith(mark.opening):
                if mark in HARMONY and not self.marks.inside:
                    self.marks = Marks(inside=HARMONY)
                # A text may begin with a tag of that name, but not with one of the others.
                certain = mark is THINK or mark.opening[0] != "<" or mark.opening[1] == "|"
                return self._open_thought(mark, seen.removeprefix(mark.opening), certain=certain)
        if len(self._held) < _LONGEST and any(mark.opening.startswith(seen) for mark in starts):
            return False
        if self.marks.opened and not self.separated and not self._thoughts:
            return self._open_thought(None, self._held, certain=False)
        self._state = "watch" if self.marks.inside else "text"
        return True

    def _open_thought(self, mark: Mark | None, rest: str, *, certain: bool = True) -> bool:
        self._state, self._mark, self._held, self._certain = "thought", mark, rest, certain
        self._open = []
        return True

    def _close(self) -> bool:
        """Read to the end of the thought."""
        closing = (self._mark or self.marks.opened or ANY[0]).closing
        thought, found, rest = self._held.partition(closing)
        gained = thought if found else self._held[: 1 - len(closing)]
        if self.growth is not None and gained and not (self._mark and self._mark.silent):
            self.growth.append(gained)
        if found:
            if not (self._mark and self._mark.silent):
                self._thoughts.append("".join([*self._open, thought]))
            # Harmony's closing mark opens the channel of the answer.
            self._held = f"{closing}{rest}" if closing in _HARMONY_OPENINGS else rest
            self._state = "after"
        else:  # the last characters may be the first ones of the mark
            self._open.append(gained)
            self._held = self._held[len(gained) :]
        return bool(found)

    def _watch(self, shown: list[str]) -> bool:
        """Read text, up to a thought."""
        place = 0
        for found in _tokens(tuple(self.marks.inside)).finditer(self._held):
            token, between = found[0], self._held[place : found.start()]
            if token[0] == "`":
                if found.end() == len(self._held) and len(token) < _LONGEST:  # more may come
                    self._show(found.start(), shown)
                    return False
                self._pass_code(token, between)
            elif self._may_open(token, found.start(), between):
                mark = next(each for each in self.marks.inside if each.opening == token)
                self._show(found.start(), shown)
                rest = self._held.removeprefix(token)
                return self._open_thought(mark, rest, certain=token[:2] == "<|")
            place = found.end()
        rest = self._held[place:]
        self._code = self._code_after(rest)
        self._show(len(self._held) - _partial(rest, self.marks.inside), shown)
        return False

    def _pass_code(self, ticks: str, before: str) -> None:
        """Go into code, or out of it."""
        inside = self._code_after(before)
        ends = ticks.startswith(inside) if inside.startswith("```") else ticks == inside
        self._code = "" if inside and ends else inside or ticks

    def _code_after(self, text: str) -> str:
        """The mark of the code that is open after the text."""
        within_line = "\n" in text and not self._code.startswith("```")
        return "" if within_line else self._code

    def _may_open(self, token: str, place: int, between: str) -> bool:
        if token.startswith("<|"):  # no text has them
            return True
        before = f"{self._before}{self._held[:place]}".rstrip(" \t")
        return not self._code_after(between) and (not before or before[-1] in _SENTENCE_ENDS)

    def _show(self, length: int, shown: list[str]) -> None:
        text, self._held = self._held[:length], self._held[length:]
        shown.append(text)
        self._before = f"{self._before}{text}"[-64:]


@cache
def _tokens(marks: Sequence[Mark]) -> re.Pattern[str]:
    return re.compile("|".join(["`+", *(re.escape(mark.opening) for mark in marks)]))


def _partial(text: str, marks: Sequence[Mark]) -> int:
    """Number of last characters that may begin a mark."""
    longest = min(len(text), max(len(mark.opening) for mark in marks) - 1)
    lengths = (
        length
        for length in range(longest, 0, -1)
        if any(mark.opening.startswith(text[-length:]) for mark in marks)
    )
    return next(lengths, 0)
