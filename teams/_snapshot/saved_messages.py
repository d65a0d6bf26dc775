"""Messages of a saved state, and others in their place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from teams._base.malformed import malformed_is_value_error
from teams._messages.base import BaseChatMessage
from teams._snapshot.block import block_of, message_of
from teams._snapshot.description import REST
from teams._snapshot.part import Gain, Part, from_bytes, to_bytes, write_part
from teams._snapshot.pool import ORIGIN
from teams._snapshot.snapshot import SavedParts
from teams.model_context._auto import THREAD_CONTEXT, without_summary


class SavedMessages:
    """The messages in a snapshot with its deltas.

    Raises ValueError for parts that are not whole.
    """

    def __init__(self, parts: Sequence[bytes]) -> None:
        with malformed_is_value_error("a saved state"):
            self._saved = SavedParts(parts)
            self._rows: list[list[Any]] = [from_bytes(each.line) for each in self._saved.blocks]

    def with_metadata(self) -> Iterator[Mapping[str, Any]]:
        """Data of the messages whose metadata say where they come from."""
        for message in map(message_of, (row for rows in self._rows for row in rows)):
            if message.get("metadata"):
                yield message

    def replace(self, messages: Mapping[str, BaseChatMessage]) -> bytes:
        """The state as a snapshot, with other messages for these ids.

        No summary of replaced ones is left.
        """
        change = _Change(messages)
        rows = [[*map(change.row, each)] for each in self._rows]
        lists: dict[str, Gain] = {}
        places: dict[str, int] = {}
        for path, saved in self._saved.lists.items():
            before = saved.entries()
            after = change.value(before)
            lists[path] = saved.length, to_bytes(after)
            changed = (
                place
                for place, entry in enumerate(before)
                if (entry in change.numbers if type(entry) is int else entry != after[place])
            )
            if (first := next(changed, None)) is not None:
                places[path + REST] = first
        values: dict[str, bytes] = {}
        for path, saved in self._saved.values.items():
            value = change.value(from_bytes(saved))
            if path in places:
                value = without_summary(value or {}, places[path])
            values[path] = to_bytes(value)
        return write_part(Part(0, [*map(block_of, rows)], lists, values))


class _Change:
    """Other messages for some ids, also where models were told them."""

    def __init__(self, messages: Mapping[str, BaseChatMessage]) -> None:
        self._data = {name: message.dump() for name, message in messages.items()}
        self._contents: dict[bytes, Any] = {}
        """Texts that models are told instead, by the JSON of those they were told."""
        self._rows = 0
        self.numbers: set[int] = set()
        """Entries of lists that stand for the messages."""

    def row(self, row: Any) -> Any:
        """The next message of all; its earlier words are noted."""
        before, number = message_of(row), self._rows
        self._rows += 1
        if before.get("type") == "ContextSummaryEvent" and self._data:
            return {**before, "content": ""}
        if (after := self._data.get(before.get("id", ""))) is None:
            return row
        self.numbers |= {number, -1 - number}
        self._contents[to_bytes(before["content"])] = after["content"]
        for told in before.get("context", ()):
            self._contents[to_bytes(told["content"])] = after["content"]
        return after

    def value(self, value: Any) -> Any:
        """JSON data, changed at any depth."""
        if isinstance(value, list):
            return [*map(self.value, cast("list[Any]", value))]
        if not isinstance(value, dict):
            return value
        data = cast("dict[str, Any]", value)
        if (after := self._data.get(str(data.get("id")))) is not None:
            return after
        if "content" in data and data.get("type", "UserMessage") == "UserMessage":
            of = self._data.get(data.get(ORIGIN, ""))
            told = of["content"] if of else self._contents.get(to_bytes(data["content"]))
            return data if told is None else {**data, "content": told}
        changed = {name: self.value(each) for name, each in data.items()}
        if "summary" in changed and changed.get("messages") != data.get("messages"):
            return without_summary(changed, 0)  # a context that is saved as it is documented
        if THREAD_CONTEXT in changed and self._data:
            changed[THREAD_CONTEXT] = without_summary(changed[THREAD_CONTEXT], 0)
        return changed
