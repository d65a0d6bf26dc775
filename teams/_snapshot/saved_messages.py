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
from teams.models._errors import NOTES

_LEDGER = frozenset(("task", "facts", "plan"))
"""Keys of what an orchestrator knows: all that it says may repeat them."""


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

    def results_of(self, tool: str) -> set[str]:
        """The texts of all results of a tool."""
        lists = (each.entries() for each in self._saved.lists.values())
        values = map(from_bytes, self._saved.values.values())
        everything = filter(_is_result, _dicts([self._rows, *lists, *values]))
        return {each["content"] for each in everything if each.get("name") == tool}

    def replace(
        self, messages: Mapping[str, BaseChatMessage], results: Mapping[str, str] | None = None
    ) -> bytes:
        """The state as a snapshot, with other messages for these ids.

        Likewise with other texts for these `results` of tools. No summary of what is replaced is
        left. Raises ValueError where it is told in other words, too.
        """
        values = {path: from_bytes(saved) for path, saved in self._saved.values.items()}
        if messages and any(
            each["task"] for each in _dicts([*values.values()]) if each.keys() >= _LEDGER
        ):
            raise ValueError("An orchestrator repeats its task in what it says.")
        change = _Change(messages, results or {})
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
        for path, before in values.items():
            values[path] = change.value(before)
            if path in places:
                values[path] = without_summary(values[path] or {}, places[path])
        told = {path: to_bytes(value) for path, value in values.items()}
        return write_part(Part(0, [*map(block_of, rows)], lists, told))


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    """The objects in JSON data, at any depth."""
    if isinstance(value, dict):
        yield cast("dict[str, Any]", value)
        value = [*cast("dict[str, Any]", value).values()]
    if isinstance(value, list):
        for each in cast("list[Any]", value):
            yield from _dicts(each)


def _is_result(data: Mapping[str, Any]) -> bool:
    """True for the text that a call of a tool has brought."""
    return "call_id" in data and isinstance(data.get("content"), str)


class _Change:
    """Other messages for some ids, also where models were told them."""

    def __init__(self, messages: Mapping[str, BaseChatMessage], results: Mapping[str, str]) -> None:
        self._data = {name: message.dump() for name, message in messages.items()}
        self._results = results
        self._words: dict[str, str] = {}
        """By id, the earlier text of what is replaced."""
        self._contents: dict[bytes, Any] = {}
        """Texts that models are told instead, by the JSON of those they were told."""
        self._rows = 0
        self.numbers: set[int] = set()
        """Entries of lists that stand for the messages."""

    def row(self, row: Any) -> Any:
        """The next message of all; its earlier words are noted."""
        before, number = message_of(row), self._rows
        self._rows += 1
        kind = before.get("type")
        if kind == "ContextSummaryEvent" and (self._data or self._results):
            return {**before, "content": ""}
        if kind == "ToolCallSummaryMessage":
            self._put_summary(before)
        if (after := self._after(before)) is None:
            return self.value(row) if isinstance(row, dict) else row
        self.numbers |= {number, -1 - number}
        self._words[before["id"]] = _words(before["content"])
        self._contents[to_bytes(before["content"])] = after["content"]
        context = after.get("context") or [after]
        for told in before.get("context", ()):
            self._contents[to_bytes(told["content"])] = context[0]["content"]
        return after

    def _put_summary(self, before: Mapping[str, Any]) -> None:
        """Replace results in a message that is made of them."""
        said = before["content"]
        for result in before["results"]:
            if (text := result["content"]) in self._results:
                put = self._results[text]
                said = said.replace(text, put) if text in said else put
        if said != before["content"]:
            data = {name: self.value(each) for name, each in before.items()}
            self._data[before["id"]] = {**data, "content": said}

    def _after(self, before: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Another message in its place; None to leave what is there."""
        said = before.get("content")
        if isinstance(said, str) and said in NOTES:
            return None
        return self._data.get(str(before.get("id")))

    def value(self, value: Any) -> Any:
        """JSON data, changed at any depth."""
        if isinstance(value, list):
            return [*map(self.value, cast("list[Any]", value))]
        if not isinstance(value, dict):
            return value
        data = cast("dict[str, Any]", value)
        if (after := self._after(data)) is not None:
            return after
        told: Any = None
        if _is_result(data):
            told = self._results.get(data["content"])
        elif "content" in data and data.get("type", "UserMessage") == "UserMessage":
            told = self._told(data["content"], data.get(ORIGIN, ""))
        if told is not None:
            return {**data, "content": told}
        changed = {name: self.value(each) for name, each in data.items()}
        if "summary" in changed and changed.get("messages") != data.get("messages"):
            return without_summary(changed, 0)  # a context that is saved as it is documented
        if THREAD_CONTEXT in changed and self._data:
            changed[THREAD_CONTEXT] = without_summary(changed[THREAD_CONTEXT], 0)
        return changed

    def _told(self, content: Any, origin: str) -> Any:
        """Content that a model is told instead; None to leave it."""
        if (of := self._data.get(origin)) is None:
            return self._contents.get(to_bytes(content))
        if not isinstance(content, str):
            return of["content"]
        if content in NOTES:
            return None
        if (words := self._words.get(origin, "")) and content.startswith(words):
            return _words(of["content"]) + content[len(words) :]  # a note of ours follows
        return of["content"]


def _words(content: str | Sequence[Any]) -> str:
    """The text, without images."""
    parts = [content] if isinstance(content, str) else content
    return "\n".join(part for part in parts if isinstance(part, str))
