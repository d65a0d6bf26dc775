"""The list that a model is sent, which need not be made anew for each request.

It is the client's own: a client may keep it, and may change it. So it is sent again, with what is
new at its end, only if nobody holds it any more and nobody has changed it. Otherwise the request
gets a new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import getrefcount

from teams._base.history import History
from teams.models._types import LLMMessage


class HandedList:
    """Makes the lists for one agent's requests, each of some messages and then a whole history."""

    __slots__ = ("_generation", "_handed", "_length")

    def __init__(self, handed: History[LLMMessage] | None = None) -> None:
        self._handed = handed
        self._length = 0
        self._generation: int = 0

    def of(self, first: Sequence[LLMMessage], history: History[LLMMessage]) -> list[LLMMessage]:
        """A list that the client can have."""
        unshared = self.references() == _UNSHARED
        handed = self._handed
        if (
            handed is not None
            and unshared
            and len(handed) == self._length
            and handed.generation == 0
            and history.generation == self._generation
            and handed[: len(first)] == first
        ):
            handed.extend(history[len(handed) - len(first) :])
        else:
            handed = self._handed = History([*first, *history])
            self._generation = history.generation
        self._length = len(handed)
        return handed

    def let_go(self) -> None:
        """Keep no list: it takes memory."""
        self._handed = None

    def references(self) -> int:
        """How many references to the list this Python counts."""
        return getrefcount(self._handed)


_UNSHARED = HandedList(History()).references()
"""What it counts if nobody else holds the list."""
