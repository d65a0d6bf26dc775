"""Search in a thread's items, and a walk through its results."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from gateway.items import (
    AgentItem,
    HandoffItem,
    HumanItem,
    Item,
    NoticeItem,
    RequestItem,
    ThoughtItem,
    ToolItem,
)
from gateway.render.sanitize import one_line

NOTHING = "No match was found."


def pattern_of(words: str) -> re.Pattern[str]:
    """The words as they stand, in capitals or not."""
    return re.compile(re.escape(words), re.IGNORECASE)


@dataclass(slots=True)
class Walk:
    """A walk through `count` places, in a ring."""

    count: int = 0
    at: int = -1
    """The place where one is; -1 before the first step."""

    def step(self, step: int) -> None:
        """Go on, or back; the first step leads to the first place."""
        self.at = (self.at + step) % self.count if self.count and self.at >= 0 else 0

    def __str__(self) -> str:
        return f"{self.at + 1:,} of {self.count:,}" if self.count else NOTHING


@dataclass(frozen=True, slots=True)
class Found:
    """A place: an item, and how many further places it has below."""

    key: str
    below: int


class ThreadSearch:
    """Places of some words in a thread, kept while the thread grows."""

    def __init__(self, words: str) -> None:
        self.words = words
        self.pattern = pattern_of(words)
        self.walk = Walk()
        self._counts: dict[str, tuple[Item, int]] = {}
        self._keys: list[str] = []
        self._sums: list[int] = []

    def read(self, items: Sequence[Item]) -> None:
        """Count anew; only changed items are read again. The place stays."""
        before, place = self.found, self.walk.at
        counts: dict[str, tuple[Item, int]] = {}
        for item in items if self.words else ():
            known = self._counts.get(item.key)
            if known is None or known[0] is not item:
                known = item, len(self.pattern.findall(item_text(item)))
            counts[item.key] = known
        first = self._first_of(before.key) if before else 0
        self._counts = counts
        self._keys = [key for key, (_, count) in counts.items() if count]
        self._sums = list(accumulate(counts[key][1] for key in self._keys))
        self.walk.count = self._sums[-1] if self._sums else 0
        if before is not None and before.key in counts:
            place += self._first_of(before.key) - first
        self.walk.at = max(-1, min(place, self.walk.count - 1))

    @property
    def found(self) -> Found | None:
        """The place where one is."""
        if not 0 <= self.walk.at < self.walk.count:
            return None
        index = bisect_right(self._sums, self.walk.at)
        return Found(self._keys[index], self._sums[index] - 1 - self.walk.at)

    def begin(self, top: str, items: Sequence[Item]) -> None:
        """Stand at the first place from this item on.

        Without one, at the last place above.
        """
        above = True
        self.walk.at = self.walk.count - 1
        for item in items if self.walk.count else ():
            above = above and item.key != top
            if not above and self._counts[item.key][1]:
                self.walk.at = self._first_of(item.key)
                return

    def _first_of(self, key: str) -> int:
        """The number of places above an item."""
        if key not in self._keys:
            return 0
        return self._sums[index - 1] if (index := self._keys.index(key)) else 0


def item_text(item: Item) -> str:
    """Everything that an item says, also what is folded."""
    match item:
        case HumanItem(text=text) | AgentItem(text=text) | ThoughtItem(text=text):
            return text
        case ToolItem(tool=tool, arguments=arguments, result=result):
            return f"{tool}\n{arguments}\n{result}"
        case HandoffItem(target=target, text=text):
            return f"{target.name}\n{one_line(text)}"
        case RequestItem(outcome=outcome):
            asked = item.tool if item.kind == "approval" else item.prompt
            return f"{asked}\n{outcome}"
        case NoticeItem(command=command, text=text):
            return f"{command}\n{text}"


def place_in(item: Item, pattern: re.Pattern[str], below: int) -> int | None:
    """A place's line in a result, or character in a message."""
    match item:
        case ToolItem(result=text) | HumanItem(text=text):
            places = [found.start() for found in pattern.finditer(text)]
        case _:
            return None
    if below >= len(places):
        return None
    at = places[-1 - below]
    return at if isinstance(item, HumanItem) else len(text[: at + 1].splitlines()) - 1


def found_lines(items: Sequence[Item], words: str) -> Iterator[str]:
    """Each line with the words, behind the name of who said it."""
    pattern = pattern_of(words)
    for item in items:
        for line in item_text(item).splitlines():
            if pattern.search(line):
                yield f"{_said_by(item)}: {line.strip()}"


def _said_by(item: Item) -> str:
    match item:
        case HumanItem():
            return item.author
        case ToolItem(agent=agent, tool=tool):
            return f"tool: {agent.name} {tool}"
        case NoticeItem():
            return item.word
        case _:
            return item.agent.name
