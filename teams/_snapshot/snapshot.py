"""The compact state format: a snapshot, then small deltas.

A part (snapshot or delta) counts from the snapshot. It holds messages, each once (`pool.py`);
everything else names them by their number. `lists` are histories (where they continue, or from
scratch), `values` the small rest, in full when it changed. Objects write themselves under a path of
their own ("planner/context"); teams nest by prefix.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from teams._contract.turn_record import Item
from teams._messages.base import BaseChatMessage, as_chat_message
from teams._messages.chat import TextMessage
from teams._messages.factory import MessageFactory
from teams._snapshot.part import Block, Gain, Part, from_bytes, read_part, to_bytes, write_part
from teams._snapshot.pool import ORIGIN, Pool
from teams.models._json import dump_llm_message
from teams.models._types import AssistantMessage, LLMMessage, UserMessage

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class HistoryLike(Protocol[T_co]):
    """A `History`, or what behaves like one."""

    @property
    def generation(self) -> int:
        """Changes whenever anything but growth at the end happens."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, index: slice, /) -> Sequence[T_co]: ...


_LINES = 64
"""Lines of a list that are kept apart, before they take more room than what stands in them."""


@dataclass(slots=True)
class _Mark:
    history: HistoryLike[Any]
    generation: int
    length: int

    def grows_to(self, history: HistoryLike[Any]) -> bool:
        """True if the marked history has only grown since."""
        return self.history is history and self.generation == history.generation


class _SavedList:
    """A history as the parts have it."""

    def __init__(self, lines: Sequence[bytes] = (), length: int = 0) -> None:
        self._lines = list(lines)
        self.length = length

    def copy(self) -> _SavedList:
        return _SavedList(self._lines, self.length)

    def add(self, gain: Gain) -> None:
        count, line = gain
        if isinstance(count, list):
            (count,) = count
            self._lines, self.length = [], 0
        if count:
            self._lines.append(line)
            self.length += count
            if len(self._lines) > _LINES:
                self.line()

    def line(self) -> bytes:
        if len(self._lines) != 1:
            self._lines = [b"[%b]" % b",".join([line[1:-1] for line in self._lines])]
        return self._lines[0]

    def entries(self) -> list[Any]:
        return from_bytes(self.line()) if self.length else []


def _add_gain(lists: dict[str, _SavedList], path: str, gain: Gain) -> None:
    found = lists.get(path)
    if found is None:
        found = lists[path] = _SavedList()
    found.add(gain)


class SavedItems(Collection[T], Generic[T]):
    """A history in the parts, made when it is iterated over."""

    __slots__ = ("_list", "_make")

    def __init__(self, saved: _SavedList, make: Callable[[Sequence[Any]], list[T]]) -> None:
        self._list = saved
        self._make = make

    def __len__(self) -> int:
        return self._list.length

    def __iter__(self) -> Iterator[T]:
        return iter(self._make(self._list.entries()))

    def __contains__(self, item: object) -> bool:
        return item in list(self)


class SnapshotWriter:
    """Writer of one team's snapshot and the deltas that build on it."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.item = pool.number
        """The number of a message or event."""
        self._lists: dict[str, _SavedList] | None = None
        """The lists in the parts of a loaded team, while they may be copied."""
        self._marks: dict[str, _Mark] = {}
        self._values: dict[str, bytes] = {}
        self._written = 0
        self._parts = 0
        self._seen: list[str] = []
        """The histories of the snapshot that is written."""
        self._gains: dict[str, Gain] = {}
        self._values_out: dict[str, bytes] = {}
        self._noting = False

    @classmethod
    def for_team(cls, types: MessageFactory) -> SnapshotWriter:
        """Begin with a snapshot of a team with these message types."""
        return cls(Pool(types.create))

    @classmethod
    def after(cls, reader: SnapshotReader) -> SnapshotWriter:
        """A writer that goes on where the parts of `reader` end.

        It first notes what was loaded: whatever is written until `end_noting` is in the parts.
        """
        writer = cls(reader.pool)
        writer._noting = True
        writer._parts = reader.parts
        writer._lists = {path: each.copy() for path, each in reader.lists.items()}
        return writer

    def end_noting(self) -> None:
        """From now on, what is written is new."""
        self._noting = False
        self._written = len(self._pool)
        self._values_out = {}

    def for_next_snapshot(self) -> SnapshotWriter:
        """Begin with a snapshot that copies what this writer has written."""
        writer = SnapshotWriter(self._pool)
        writer._lists = self._lists
        writer._marks = self._marks
        return writer

    def items(self, path: str, history: HistoryLike[T], encode: Callable[[T], Any]) -> None:
        """Write what `history` gained since it was last written under this path."""
        if not self._parts:
            self._seen.append(path)
        mark = self._marks.get(path)
        start, length = 0, len(history)
        if mark is not None and mark.grows_to(history):
            start = mark.length
            if start == length:
                return
            mark.length = length
        else:
            self._marks[path] = _Mark(history, history.generation, length)
        if not self._noting and (mark is not None or length):
            entries = [encode(item) for item in history[start:]]
            count = len(entries)
            gain = self._gains[path] = (count if start else [count], to_bytes(entries))
            if self._lists is not None:
                _add_gain(self._lists, path, gain)

    def has(self, path: str, history: HistoryLike[Any], length: int) -> bool:
        """True if the parts hold this unread history, so many items."""
        if self._noting:
            self._marks[path] = _Mark(history, history.generation, length)
        mark = self._marks.get(path)
        if mark is None or not mark.grows_to(history) or mark.length != length:
            return False
        if not self._parts:
            self._seen.append(path)
        return True

    def value(self, path: str, value: Any) -> None:
        """Write a small JSON value, if it changed."""
        data = b"null" if value is None else to_bytes(value)  # most often there is no turn record
        if self._values.get(path, b"null") != data:
            self._values[path] = self._values_out[path] = data

    def llm_message(self, message: LLMMessage) -> Any:
        """A model message as `Pool.llm_messages` reads it."""
        if type(message) is UserMessage:
            number, said = self._pool.find(message.origin())
            if isinstance(said, BaseChatMessage) and said.to_model_message() is message:
                return number
            if message.origin():  # a part of what was said, or what a model is told instead
                return {**dump_llm_message(message), ORIGIN: message.origin()}
        elif type(message) is AssistantMessage:
            number, said = self._pool.find(message.origin())
            if type(said) is TextMessage and _says(message, said):
                return -1 - number
        return dump_llm_message(message)

    def finish(self) -> bytes:
        """Make the part with all changes since the last; b"" for none."""
        blocks = self._pool.blocks(self._written)
        if self._parts == 0 and self._lists is not None:
            self._gains = {
                path: (each.length, each.line())
                for path in self._seen
                if (each := self._lists.get(path)) is not None
            }
        elif self._parts and not (blocks or self._gains or self._values_out):
            return b""
        part = Part(self._parts, blocks, self._gains, self._values_out)
        self._written = len(self._pool)
        self._gains, self._values_out = {}, {}
        self._parts += 1
        return write_part(part)


class SavedParts:
    """A snapshot and its deltas, folded into one.

    Empty parts, which say that nothing changed, may be left out or not. Raises ValueError where a
    part is missing, damaged, or not what `SnapshotWriter` wrote.
    """

    def __init__(self, parts: Sequence[bytes]) -> None:
        self._begin()
        for position, data in enumerate(parts):
            if data:
                self._fold(read_part(position, data))
        if not self.parts:
            raise ValueError("There is no snapshot to load.")

    def _begin(self) -> None:
        self.parts = 0
        self.blocks: list[Block] = []
        self.lists: dict[str, _SavedList] = {}
        self.values: dict[str, bytes] = {}

    def _fold(self, part: Part) -> None:
        if part.number == 0:
            self._begin()
        elif part.number != self.parts:
            raise ValueError(
                f"The saved state lacks a part: number {self.parts} should come next, "
                f"found number {part.number}."
            )
        self.parts += 1
        self.blocks += part.blocks
        for path, gain in part.lists.items():
            _add_gain(self.lists, path, gain)
        self.values.update(part.values)


class SnapshotReader:
    """A saved state of which only what is asked for is made."""

    def __init__(self, parts: Sequence[bytes], types: MessageFactory) -> None:
        """Raises ValueError as `SavedParts` does."""
        saved = SavedParts(parts)
        self.parts, self.lists, self._values = saved.parts, saved.lists, saved.values
        self.pool = Pool(types.create)
        foreign: list[int] = []  # of users' own types, whose shape nobody here vouches for
        for block in saved.blocks:
            start = len(self.pool)
            self.pool.add_block(block)
            for kind, places in block.others.items():
                if not types.is_built_in(kind):
                    foreign += [start + place for place in places]
        self.pool.items(foreign)

    def value(self, path: str, default: Any = None) -> Any:
        """The value last written under this path."""
        data = self._values.get(path)
        return default if data is None else from_bytes(data)

    def item(self, number: Any) -> Item:
        """The message or event with this number."""
        return self.pool.item(number)

    def chat_message(self, number: Any) -> BaseChatMessage:
        """The chat message with this number."""
        return self.pool.chat_message(number)

    def items(self, path: str) -> list[Item]:
        """The messages and events under this path."""
        return self.pool.items(self._list(path).entries())

    def chat_messages(self, path: str) -> list[BaseChatMessage]:
        """The chat messages under this path."""
        return list(map(as_chat_message, self.items(path)))

    def plain_items(self, path: str) -> list[Any]:
        """The data under this path, which are no messages."""
        return self._list(path).entries()

    def items_later(self, path: str) -> Collection[Item]:
        """The messages and events under this path, made later."""
        return SavedItems(self._list(path), self.pool.items)

    def llm_messages_later(self, path: str) -> Collection[LLMMessage]:
        """The model messages under this path, made later."""
        return SavedItems(self._list(path), self.pool.llm_messages)

    def _list(self, path: str) -> _SavedList:
        return self.lists.get(path) or _SavedList()


def _says(message: AssistantMessage, said: TextMessage) -> bool:
    return (
        message.content == said.content
        and message.source == said.source
        and message.thought is None
    )
