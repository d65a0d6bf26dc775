"""A block of messages as a line of JSON.

A text is a row of cells, anything else its data. Texts stand here as they were written, behind a
checksum (`teams._snapshot.part`): they are made without validation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, repeat
from typing import Any, cast

from teams._contract.turn_record import Item
from teams._messages.chat import TextMessage, texts_of
from teams._snapshot.part import Block, from_bytes, to_bytes
from teams.models._json import assistant_messages, user_messages
from teams.models._types import AssistantMessage, RequestUsage, UserMessage

BLOCK = 256
"""Messages in a block: who wants the last ones reads no more than these."""

_ID, _SOURCE, _CONTENT, _TIME, _TOKENS, _, _METADATA = range(7)
"""The cells of a row; the last ones are left out where they say nothing."""


def write_blocks(items: Sequence[Item]) -> list[Block]:
    """The messages as blocks."""
    return [_block(items[start : start + BLOCK]) for start in range(0, len(items), BLOCK)]


def _block(items: Sequence[Item]) -> Block:
    return block_of(
        [
            _cells(item)
            if type(item) is TextMessage and item.created_at.tzinfo is UTC
            else item.dump()
            for item in items
        ]
    )


def block_of(rows: Sequence[Any]) -> Block:
    """A block of rows: cells of texts, data of anything else."""
    others: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        if type(row) is not list:
            others.setdefault(str(row.get("type")), []).append(place)
    return Block(len(rows), to_bytes(rows), others)


def message_of(row: Any) -> Mapping[str, Any]:
    """The data of a row; of a text, a part of it."""
    if not isinstance(row, list):
        return row
    cells = cast("list[Any]", row)
    metadata: Any = cells[_METADATA] if len(cells) > _METADATA else {}
    said = {"id": cells[_ID], "source": cells[_SOURCE], "content": cells[_CONTENT]}
    return {**said, "metadata": metadata}


def _cells(text: TextMessage) -> list[Any]:
    cells: list[Any] = [text.id, text.source, text.content, text.created_at]
    if (usage := text.models_usage) is not None:
        cells += (usage.prompt_tokens, usage.completion_tokens)
    if text.metadata:
        cells += (*repeat(None, _METADATA - len(cells)), text.metadata)
    return cells


def _usage(row: Sequence[Any]) -> RequestUsage | None:
    if len(row) <= _TOKENS or row[_TOKENS] is None:
        return None
    return RequestUsage(row[_TOKENS], row[_TOKENS + 1])


class Rows:
    """The rows of blocks, by the message's number in the pool."""

    def __init__(self, blocks: Sequence[tuple[int, Block]]) -> None:
        """Open blocks, each given with the number of its first message."""
        numbers = chain.from_iterable(range(start, start + each.count) for start, each in blocks)
        rows = from_bytes(b"[%b]" % b",".join([block.line[1:-1] for _, block in blocks]))
        self._rows: dict[int, Any] = dict(zip(numbers, rows, strict=True))
        self._names: dict[str, str] = {}
        self.with_text = {number for number, row in self._rows.items() if type(row) is list}
        """The numbers of the texts."""

    def data(self, number: int) -> Mapping[str, Any]:
        """The data of what is no text."""
        return self._rows[number]

    def texts(self, numbers: Iterable[int]) -> list[TextMessage]:
        """The texts with these numbers."""
        rows = [self._rows[number] for number in numbers]
        return texts_of(
            {
                "id": [row[_ID] for row in rows],
                "source": self._shared([row[_SOURCE] for row in rows]),
                "models_usage": list(map(_usage, rows)),
                "metadata": [row[_METADATA] if len(row) > _METADATA else {} for row in rows],
                "created_at": [datetime.fromisoformat(row[_TIME]) for row in rows],
                "content": [row[_CONTENT] for row in rows],
            }
        )

    def users(self, numbers: Iterable[int]) -> list[UserMessage]:
        """The user messages for the texts with these numbers."""
        rows = [self._rows[number] for number in numbers]
        ids, sources = [row[_ID] for row in rows], [row[_SOURCE] for row in rows]
        return user_messages([row[_CONTENT] for row in rows], self._shared(sources), ids)

    def answers(self, numbers: Iterable[int]) -> list[AssistantMessage]:
        """The model answers behind the texts with these numbers."""
        rows = [self._rows[number] for number in numbers]
        ids, sources = [row[_ID] for row in rows], [row[_SOURCE] for row in rows]
        contents = [row[_CONTENT] for row in rows]
        return assistant_messages(contents, repeat(None), self._shared(sources), ids)

    def _shared(self, names: Sequence[str]) -> list[str]:
        """The names, each as one object: JSON makes one for each row."""
        return list(map(self._names.setdefault, names, names))
