"""Messages of a saved state, which can be made to say something else there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from teams._base.malformed import malformed_is_value_error
from teams._messages.base import BaseChatMessage
from teams._snapshot.block import block_of, message_of
from teams._snapshot.part import Gain, Part, from_bytes, to_bytes, write_part
from teams._snapshot.pool import ORIGIN
from teams._snapshot.snapshot import SavedParts


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
        """The state as a snapshot, with these messages in place of those with their ids."""
        change = _Change(messages)
        rows = [[*map(change.row, each)] for each in self._rows]
        lists: dict[str, Gain] = {
            path: (saved.length, to_bytes(change.value(saved.entries())))
            for path, saved in self._saved.lists.items()
        }
        values = {
            path: to_bytes(change.value(from_bytes(saved)))
            for path, saved in self._saved.values.items()
        }
        return write_part(Part(0, [*map(block_of, rows)], lists, values))


class _Change:
    """Other messages for some ids, also where models were told them."""

    def __init__(self, messages: Mapping[str, BaseChatMessage]) -> None:
        self._data = {name: message.dump() for name, message in messages.items()}
        self._contents: dict[bytes, Any] = {}
        """What models are told instead, by the JSON of what they were told."""

    def row(self, row: Any) -> Any:
        """The row of a message; the words that it had are noted."""
        before = message_of(row)
        if (after := self._data.get(before.get("id", ""))) is None:
            return row
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
        if data.get("type") == "UserMessage":
            of = self._data.get(data.get(ORIGIN, ""))
            told = of["content"] if of else self._contents.get(to_bytes(data["content"]))
            return data if told is None else {**data, "content": told}
        return {name: self.value(each) for name, each in data.items()}
