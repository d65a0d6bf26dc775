"""Thoughts within a text, as some models write them."""

from __future__ import annotations

from dataclasses import dataclass, field

_OPENING, _CLOSING = "<think>", "</think>"


@dataclass(slots=True)
class ThoughtParser:
    """Separates a leading `<think>...</think>` from a text in pieces."""

    _state: str = "start"
    _held: str = ""
    _thought: list[str] = field(default_factory=list[str])

    @property
    def thought(self) -> str:
        return "".join(self._thought).strip()

    def read(self, piece: str) -> str:
        """The new part of the text without the thought."""
        if self._state == "text":
            return piece
        self._held += piece
        if self._state == "start" and not self._begin():
            return ""
        if self._state == "thought" and not self._close():
            return ""
        if self._state == "after":
            self._held = self._held.lstrip()
            if not self._held:
                return ""
            self._state = "text"
        text, self._held = self._held, ""
        return text

    def end(self) -> str:
        """The text that was held back; an unfinished thought stays a thought."""
        held, self._held = self._held, ""
        if self._state == "thought":
            self._thought.append(held)
            return ""
        return "" if self._state == "after" else held

    def _begin(self) -> bool:
        """True once the beginning of the text is clear."""
        seen = self._held.lstrip()
        if seen.startswith(_OPENING):
            self._state, self._held = "thought", seen.removeprefix(_OPENING)
            return True
        if _OPENING.startswith(seen):
            return False
        self._state = "text"
        return True

    def _close(self) -> bool:
        """True once the thought is over."""
        thought, mark, rest = self._held.partition(_CLOSING)
        if mark:
            self._state, self._held = "after", rest
        else:
            # Its last characters may be the first ones of the mark.
            keep = len(_CLOSING) - 1
            thought, self._held = self._held[:-keep], self._held[-keep:]
        self._thought.append(thought)
        return bool(mark)
