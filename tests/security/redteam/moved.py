"""Findings: all that the hostile side has moved."""

from __future__ import annotations

from collections import Counter


class Moved:
    """Findings by the place where they were made, each kept once."""

    def __init__(self) -> None:
        self._found: Counter[tuple[str, str]] = Counter()
        self.looked: Counter[str] = Counter()

    def look(self, place: str, times: int = 1) -> None:
        """Count what was looked at: a check that saw nothing proves nothing."""
        self.looked[place] += times

    def note(self, place: str, finding: str) -> None:
        """Note that something moved."""
        self._found[place, finding] += 1

    def check(self, place: str, finding: str, *, moved: bool) -> None:
        """Look at one thing, and note it if it moved."""
        self.look(place)
        if moved:
            self.note(place, finding)

    def lines(self) -> list[str]:
        """The findings, a line each."""
        return [
            f"{place}: {finding}" + (f" ({times} times)" if times > 1 else "")
            for (place, finding), times in sorted(self._found.items())
        ]
