"""The pool of a saved team's messages by number; bytes until needed."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any

from teams._base.construct import set_slot
from teams._contract.turn_record import Item
from teams._messages.base import BaseChatMessage, as_chat_message
from teams._messages.chat import TextMessage
from teams._snapshot.block import BLOCK, Rows, write_blocks
from teams._snapshot.part import Block
from teams.models._conversation import assistant_message
from teams.models._json import load_llm_message
from teams.models._types import AssistantMessage, LLMMessage, UserMessage

ORIGIN = "of"
"""Key of the id, in a model message's data, of the chat message that it stems from."""


class Pool:
    """Messages by number; `create` makes those in blocks but plain texts."""

    def __init__(self, create: Callable[[Mapping[str, Any]], Item]) -> None:
        self._create = create
        self._items: list[Item | None] = []
        """None for what is still bytes."""
        self._numbers: dict[str, int] = {}
        """By id, of what is not."""
        self._user_messages: list[UserMessage | None] = []
        """User messages for texts that are still bytes."""
        self._starts: list[int] = []
        self._blocks: list[Block | None] = []
        """None where nothing is bytes any more."""
        self._left: list[int] = []
        """By block, the number of messages that are still bytes."""
        self._bytes_end = 0
        """Messages with this number and later ones were never bytes."""

    def __len__(self) -> int:
        return len(self._items)

    def add(self, items: Iterable[Item]) -> None:
        """Add messages at the end."""
        for item in items:
            self._numbers[item.id] = len(self._items)
            self._items.append(item)

    def add_block(self, block: Block) -> None:
        """Add messages as bytes; ValueError where there can't be so many."""
        if block.count >= len(block.line):
            raise ValueError(f"Broken state: {block.count} messages in {len(block.line)} bytes.")
        self._starts.append(len(self._items))
        self._blocks.append(block)
        self._left.append(block.count)
        self._items += repeat(None, block.count)
        self._bytes_end = len(self._items)

    def number(self, item: Item) -> int:
        """Number a message; a new one is added."""
        number = self._numbers.get(item.id)
        if number is None or self._items[number] is not item:
            number = len(self._items)
            self.add([item])
        return number

    def find(self, message_id: str) -> tuple[int, Item | None]:
        """Find a message and its number by id, unless still bytes."""
        number = self._numbers.get(message_id, -1)
        return number, None if number < 0 else self._items[number]

    def items(self, numbers: Sequence[int]) -> list[Item]:
        """The messages with these numbers. Raises IndexError where there is none."""
        if not numbers:
            return []
        if min(numbers) < 0:
            raise IndexError(min(numbers))
        items = self._items
        if unmade := [number for number in numbers if items[number] is None]:
            self._make(list(dict.fromkeys(unmade)))
        return [item for number in numbers if (item := items[number]) is not None]

    def item(self, number: Any) -> Item:
        """The message with this number."""
        return self.items([int(number)])[0]

    def chat_message(self, number: Any) -> BaseChatMessage:
        """The chat message with this number."""
        return as_chat_message(self.item(number))

    def answer(self, number: int) -> AssistantMessage:
        """The model answer behind the text with this number."""
        said = self.item(number)
        if type(said) is not TextMessage:
            raise ValueError(f"Broken state: a text was expected, found {type(said).__name__}.")
        return assistant_message(said.content, said.source, None, said.id)

    def llm_messages(self, entries: Sequence[Any]) -> list[LLMMessage]:
        """Make a model's messages from the entries of a context.

        An entry is the number of a chat message, -1 less the number of a text that the agent's own
        model said, or the data of anything else.
        """
        rows = self._open(range(len(self._blocks)))
        numbers = [entry for entry in entries if type(entry) is int]
        user_messages = self._make_user_messages(
            rows, [number for number in numbers if number >= 0]
        )
        own = [-1 - number for number in numbers if number < 0]
        answers = iter(rows.answers([number for number in own if number in rows.with_text]))
        return [
            _llm_message(entry)
            if type(entry) is not int
            else user_messages[entry] or self.chat_message(entry).to_model_message()
            if entry >= 0
            else next(answers)
            if -1 - entry in rows.with_text
            else self.answer(-1 - entry)
            for entry in entries
        ]

    def _make_user_messages(
        self, rows: Rows, numbers: Iterable[int]
    ) -> Sequence[UserMessage | None]:
        """User messages by number, one object for all contexts and the text."""
        user_messages, items = self._user_messages, self._items
        user_messages += repeat(None, len(items) - len(user_messages))
        new = [
            number
            for number in dict.fromkeys(numbers)
            if items[number] is None and user_messages[number] is None and number in rows.with_text
        ]
        for number, message in zip(new, rows.users(new), strict=True):
            user_messages[number] = message
        return user_messages

    def blocks(self, start: int) -> list[Block]:
        """The messages from this number on, as blocks; bytes stay bytes."""
        found: list[Block] = []
        for place in range(bisect_left(self._starts, start), len(self._blocks)):
            first, block = self._starts[place], self._blocks[place]
            if block is not None and block.count >= BLOCK // 4:  # smaller ones are put together
                found += [*write_blocks(self.items(range(start, first))), block]
                start = first + block.count
        if start >= self._bytes_end:
            added: Any = self._items[start:]
            return found + write_blocks(added)
        return found + write_blocks(self.items(range(start, len(self))))

    def _open(self, places: Iterable[int]) -> Rows:
        blocks = [(self._starts[place], self._blocks[place]) for place in places]
        return Rows([(start, block) for start, block in blocks if block is not None])

    def _make(self, numbers: Sequence[int]) -> None:
        places = Counter(bisect_right(self._starts, number) - 1 for number in numbers)
        rows = self._open(places)
        texts = [number for number in numbers if number in rows.with_text]
        made = rows.texts(texts)
        if self._user_messages:
            set_slot(made, "_model_message", [self._user_messages[number] for number in texts])
        for number, item in zip(texts, made, strict=True):
            self._put(number, item)
        for number in numbers:
            if number not in rows.with_text:
                self._put(number, self._create(rows.data(number)))
        for place, count in places.items():
            self._left[place] -= count
            if not self._left[place]:
                self._blocks[place] = None
        if not any(self._left):
            self._user_messages = []

    def _put(self, number: int, item: Item) -> None:
        self._items[number] = item
        self._numbers[item.id] = number


def _llm_message(data: Any) -> LLMMessage:
    message = load_llm_message(data)
    if isinstance(message, UserMessage):
        message.stem_from(data.get(ORIGIN, ""))
    return message
