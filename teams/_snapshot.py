"""The compact state format: a snapshot, then deltas that cost what was added since.

A part (snapshot or delta) is JSON: `part` counts from the snapshot, `pool` holds messages, each
once; everything else names them by their number in the pool. `lists` are histories (where they
continue, or from scratch), `values` the small rest, in full when it changed. Objects write
themselves under a path of their own ("planner/context"); teams nest by prefix.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, cast

from pydantic_core import from_json, to_json

from teams._history import History
from teams._transcript import assistant_message
from teams._turn import Item
from teams.messages import BaseChatMessage, TextMessage
from teams.models import AssistantMessage, LLMMessage, UserMessage
from teams.models._dumped import dump_llm_message

T = TypeVar("T")
VERSION = 1


@dataclass(slots=True)
class _Mark:
    history: History[Any]
    generation: int
    length: int

    def grows_to(self, history: History[Any]) -> bool:
        """Whether this is the history that was marked, with nothing but growth since then."""
        return self.history is history and self.generation == history.generation


class SnapshotWriter:
    """Writes parts of one team. Lives as long as deltas shall build on what it wrote before."""

    def __init__(self) -> None:
        self._pool: list[Item] = []
        self._numbers: dict[str, int] = {}
        self._marks: dict[str, _Mark] = {}
        self._values: dict[str, bytes] = {}
        self._written = 0
        self._parts = 0
        self._lists_out: dict[str, list[Any]] = {}
        self._values_out: dict[str, Any] = {}
        self._noting = False

    @classmethod
    def after(cls, reader: SnapshotReader) -> SnapshotWriter:
        """A writer that goes on where the parts of `reader` end.

        It first takes note of what was loaded: whatever is written until `noted` is in the parts.
        """
        writer = cls()
        writer._noting = True
        writer._parts = reader.parts
        writer._pool = list(reader.pool)
        writer._numbers = {item.id: number for number, item in enumerate(reader.pool)}
        return writer

    def noted(self) -> None:
        """From now on, what is written is new."""
        self._noting = False
        self._written = len(self._pool)
        self._values_out = {}

    def items(self, path: str, history: History[T], encode: Callable[[T], Any]) -> None:
        """Write what `history` gained since it was last written under this path."""
        mark = self._marks.get(path)
        start = 0
        if mark is not None and mark.grows_to(history):
            start = mark.length
            if start == len(history):
                return
        self._marks[path] = _Mark(history, history.generation, len(history))
        if not self._noting and (mark is not None or history):
            self._lists_out[path] = [start, [encode(item) for item in history[start:]]]

    def has(self, path: str, history: History[Any], length: int) -> bool:
        """Whether the parts hold so many items of a history that nobody has read from them yet."""
        if self._noting:
            self._marks[path] = _Mark(history, history.generation, length)
        mark = self._marks.get(path)
        return mark is not None and mark.grows_to(history) and mark.length == length

    def value(self, path: str, value: Any) -> None:
        """Write a small JSON value, if it changed."""
        data = to_json(value)
        if self._values.get(path) != data:
            self._values[path] = data
            self._values_out[path] = value

    def item(self, item: Item) -> int:
        """The pool number of a message or event."""
        number = self._numbers.get(item.id)
        if number is not None and self._pool[number] is item:
            return number
        self._numbers[item.id] = number = len(self._pool)
        self._pool.append(item)
        return number

    def llm_message(self, message: LLMMessage) -> Any:
        """A model message: where it stands for a chat message, the number of that; in a list if it
        is the model's own; else its data.
        """
        if type(message) is UserMessage:
            number, said = self._said(message)
            if isinstance(said, BaseChatMessage) and said.to_model_message() is message:
                return number
        elif type(message) is AssistantMessage:
            number, said = self._said(message)
            if type(said) is TextMessage and _says(message, said):
                return [number]
        return dump_llm_message(message)

    def _said(self, message: UserMessage | AssistantMessage) -> tuple[int, Item | None]:
        """The chat message that this one stands for, with its number."""
        number = self._numbers.get(message.origin(), -1)
        return number, None if number < 0 else self._pool[number]

    def finish(self) -> bytes:
        """The part that says what changed since the last one; b"" if nothing did."""
        pool = [item.dump() for item in self._pool[self._written :]]
        if self._parts and not (pool or self._lists_out or self._values_out):
            return b""
        part = {
            "parley_state": VERSION,
            "part": self._parts,
            "pool": pool,
            "lists": self._lists_out,
            "values": self._values_out,
        }
        self._written = len(self._pool)
        self._lists_out, self._values_out = {}, {}
        self._parts += 1
        return to_json(part)


class SnapshotReader:
    """A snapshot and its deltas, folded into one.

    Empty parts, which say that nothing changed, may be left out or not. Raises ValueError where a
    part is missing or not what `SnapshotWriter` wrote.
    """

    def __init__(
        self,
        parts: Sequence[bytes],
        decode: Callable[[Mapping[str, Any]], Item],
        decode_llm: Callable[[Any], LLMMessage],
    ) -> None:
        self._decode_llm = decode_llm
        self.pool: list[Item] = []
        self.parts = 0
        self._lists: dict[str, list[Any]] = {}
        self._values: dict[str, Any] = {}
        for position, data in enumerate(parts):
            if data:
                self._fold(_part(position, data), decode)
        if not self.parts:
            raise ValueError("There is no snapshot to load.")

    def items(self, path: str, decode: Callable[[Any], T]) -> list[T]:
        """The history written under this path; empty if there is none."""
        items: list[Any] = self._lists.get(path, [])
        return [decode(item) for item in items]

    def value(self, path: str, default: Any = None) -> Any:
        """The value last written under this path."""
        return self._values.get(path, default)

    def item(self, number: Any) -> Item:
        """The message or event with this pool number."""
        return self.pool[int(number)]

    def chat_message(self, number: Any) -> BaseChatMessage:
        """The chat message with this pool number."""
        item = self.item(number)
        if type(item) is not TextMessage and not isinstance(item, BaseChatMessage):
            raise ValueError(
                f"Broken state: a chat message was expected, found {type(item).__name__}."
            )
        return item

    def llm_messages(self, path: str) -> list[Callable[[], LLMMessage]]:
        """The history of model messages under this path, each as a function that makes it: the
        inverse of `SnapshotWriter.llm_message`.
        """
        pool = self.pool
        entries: list[Any] = self._lists.get(path, [])
        return [
            said.to_model_message  # by far the most: no call for each
            if type(data) is int and type(said := pool[data]) is TextMessage
            else self._llm_message(data)
            for data in entries
        ]

    def _llm_message(self, data: Any) -> Callable[[], LLMMessage]:
        if type(data) is int:
            return self.chat_message(data).to_model_message
        if type(data) is not list:
            message = self._decode_llm(data)
            return lambda: message
        (number,) = cast("list[int]", data)
        said = self.item(number)
        if type(said) is not TextMessage:
            raise ValueError(f"Broken state: a text was expected, found {type(said).__name__}.")
        return partial(_answer, said)

    def _fold(self, part: Mapping[str, Any], decode: Callable[[Mapping[str, Any]], Item]) -> None:
        if part["part"] == 0:
            self.pool, self.parts, self._lists, self._values = [], 0, {}, {}
        elif part["part"] != self.parts:
            raise ValueError(
                f"The saved state lacks a part: number {self.parts} should come next, "
                f"found number {part['part']}."
            )
        self.parts += 1
        self.pool.extend(decode(item) for item in part["pool"])
        for path, (start, items) in part["lists"].items():
            self._lists.setdefault(path, [])[start:] = items
        self._values.update(part["values"])


def _answer(said: TextMessage) -> AssistantMessage:
    """What the model said as an agent's own message."""
    return assistant_message(said.content, said.source, None, said.id)


def _says(message: AssistantMessage, said: TextMessage) -> bool:
    return (
        message.content == said.content
        and message.source == said.source
        and message.thought is None
    )


def _part(number: int, data: bytes) -> Mapping[str, Any]:
    try:
        # Only keys come again: what is said and its ids would fill the cache of the whole process.
        part: Any = from_json(data, cache_strings="keys")
    except ValueError as error:
        raise ValueError(f"Part {number} of the saved state is not JSON: {error}") from error
    found = cast("dict[str, Any]", part) if isinstance(part, dict) else {}
    match found.get("parley_state"):
        case None:
            raise ValueError(f"Part {number} of the saved state is not a part of a team's state.")
        case version if version != VERSION:
            raise ValueError(
                f"Part {number} of the saved state has version {version!r}; "
                f"this release reads {VERSION}."
            )
        case _:
            return found
