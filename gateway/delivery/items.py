"""Items of a thread, each shown as one or more messages.

An item's `id` is the same whenever the thread's events are read again; `seq` is that of the event
it began with.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from gateway.conversation import ConversationKey
from gateway.events import InputRequested
from gateway.surface import Activity, ActivityStatus, Line


@dataclass(slots=True, kw_only=True, eq=False)
class SpeechItem:
    """An agent's words, the calls before them, and the hand-offs after them.

    `growing`: more may come. `resuming`: what stands is of an interrupted attempt.
    """

    id: str
    seq: int
    asker: str
    agent: str
    growing: bool = True
    resuming: bool = False
    acts: dict[str, Activity] = field(default_factory=dict[str, Activity])
    leaves: list[Activity] = field(default_factory=list[Activity])
    _pieces: list[str] = field(default_factory=list[str])

    @property
    def text(self) -> str:
        """All of it so far."""
        self._pieces = ["".join(self._pieces)]
        return self._pieces[0]

    @property
    def activity(self) -> tuple[Activity, ...]:
        """All that it did."""
        return (*self.acts.values(), *self.leaves)

    def say(self, text: str, *, replace: bool) -> None:
        """Add to the text, or let another one stand there."""
        if replace:
            self._pieces.clear()
        self._pieces.append(text)

    def act(self, id: str, title: str, status: ActivityStatus) -> None:
        """Tell of a tool call."""
        self.acts[id] = Activity(id=id, kind="tool", title=title, status=status)


@dataclass(slots=True, kw_only=True, eq=False)
class CardItem:
    """A question to people.

    `place` is where it stands if not in its thread.

    `request` and `mentions` are None until they were looked up.
    """

    id: str
    seq: int
    asker: str
    request_id: str
    request: InputRequested | None = None
    place: ConversationKey | None = None
    outcome: str = ""
    by: str = ""
    mentions: tuple[str, ...] | None = None
    link: str = ""


@dataclass(slots=True, kw_only=True, eq=False)
class LineItem:
    """A line of the gateway's own.

    `place` is where it stands if not in its thread, and then only below a card: that with the id
    `below`.
    """

    id: str
    seq: int
    asker: str
    line: Line
    place: ConversationKey | None = None
    below: str = ""


@dataclass(slots=True, kw_only=True, eq=False)
class FileItem:
    """A file in the thread's folder."""

    id: str
    seq: int
    asker: str
    path: str


Item: TypeAlias = SpeechItem | CardItem | LineItem | FileItem


def place_of(item: Item) -> ConversationKey | None:
    """Where it stands; None for its thread."""
    return item.place if isinstance(item, CardItem | LineItem) else None
