"""`Window`: which slice of a long transcript is mounted. Pure.

The cost of every redraw follows the number of mounted widgets, so it is bounded: about 30 turns or
150 widgets at the end, more towards the top as the reader asks for it, the far end dropped above
250.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gateway.items import AgentItem, HandoffItem, HumanItem, Item, NoticeItem

TAIL_TURNS = 30
TAIL_WEIGHT = 150
STEP_TURNS = 15
STEP_WEIGHT = 75
AROUND_WEIGHT = 30
MOST_WEIGHT = 250
_LIST_ITEM = re.compile(r"^ *(?:[-*+]|\d+[.)]) ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Window:
    """Items `start` to `end` (exclusive) of the transcript are mounted."""

    start: int = 0
    end: int = 0

    @classmethod
    def tail(cls, items: Sequence[Item]) -> Window:
        """The end of the transcript."""
        return cls(_back(items, len(items), TAIL_TURNS, TAIL_WEIGHT), len(items))

    @classmethod
    def around(cls, items: Sequence[Item], index: int) -> Window:
        """An item with some above and below."""
        start = _back(items, index, STEP_TURNS, AROUND_WEIGHT)
        end, room = index + 1, AROUND_WEIGHT
        while end < len(items) and room > 0:
            room -= weight(items[end])
            end += 1
        return cls(start, end)

    def following(self, items: Sequence[Item]) -> Window:
        """The window extended by new items, or the tail if too large."""
        grown = Window(self.start, len(items))
        return grown if grown._weight(items) <= MOST_WEIGHT else Window.tail(items)

    def earlier(self, items: Sequence[Item]) -> Window:
        """More above; the far end goes where that is too much."""
        start, end = _back(items, self.start, STEP_TURNS, STEP_WEIGHT), self.end
        room = MOST_WEIGHT
        for index in range(start, self.end):
            room -= weight(items[index])
            if room < 0 and index > self.start:
                end = index
                break
        return Window(start, end)

    def later(self, items: Sequence[Item]) -> Window:
        """More below; the far end goes where that is too much."""
        end = self.end
        turns, room = 0, STEP_WEIGHT
        while end < len(items) and turns <= STEP_TURNS and room > 0:
            room -= weight(items[end])
            turns += isinstance(items[end], HumanItem)
            end += 1
        start, room = end, MOST_WEIGHT
        while start > self.start and room > 0:
            start -= 1
            room -= weight(items[start])
        return Window(start, end)

    def _weight(self, items: Sequence[Item]) -> int:
        return sum(weight(item) for item in items[self.start : self.end])


def _back(items: Sequence[Item], end: int, turns: int, most: int) -> int:
    """The start of a slice before `end`, limited by turns and weight."""
    start = end
    while start and most > 0 and turns > 0:
        start -= 1
        most -= weight(items[start])
        turns -= isinstance(items[start], HumanItem)
    return start


def is_shown_for(item: Item, agent: str) -> bool:
    """True for the agent's items and for those to everybody."""
    match item:
        case HumanItem() | NoticeItem():
            return True
        case HandoffItem():
            return agent in (item.agent.name, item.target.name)
        case _:
            return item.agent.name == agent


def weight(item: Item) -> int:
    """Approximate number of widgets for an item: Markdown mounts one per block."""
    match item:
        case AgentItem(text=text):
            return 3 + text.count("\n\n") + 4 * len(_LIST_ITEM.findall(text)) + text.count("|")
        case _:
            return 1
