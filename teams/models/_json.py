"""Model messages as JSON data, and back.

Texts, which are by far the most, are spared pydantic's work on each: `save_state` of 2,000 messages
takes 3.1 ms with this and 7.3 without, `load_state` 10.2 and 12.0 (`benchmarks/engine`, State).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from operator import itemgetter
from types import NoneType
from typing import Any

from pydantic import ConfigDict, TypeAdapter

from teams._base.construct import CompactFactory, set_slot
from teams.models._types import AssistantMessage, LLMMessage, UserMessage, Wire

_LLM_MESSAGE: TypeAdapter[LLMMessage] = TypeAdapter(LLMMessage, config=ConfigDict(defer_build=True))

_KIND_AND_CONTENT = itemgetter("type", "content")

compact_user_message = CompactFactory(UserMessage)
compact_assistant_message = CompactFactory(AssistantMessage)


def dump_llm_message(message: LLMMessage) -> Wire:
    """The message as JSON data."""
    return dump_llm_messages([message])[0]


def dump_llm_messages(messages: Sequence[LLMMessage]) -> list[Wire]:
    """Each message as JSON data of its own."""
    # Reading `__dict__`, as pydantic does, would make a dict that the message keeps from then on.
    return [
        {"content": content, "source": message.source, "type": "UserMessage"}
        if type(content := message.content) is str and type(message) is UserMessage
        else {
            "content": content,
            "thought": message.thought,
            "source": message.source,
            "type": "AssistantMessage",
        }
        if type(content) is str and type(message) is AssistantMessage
        else message.model_dump(mode="json")
        for message in messages
    ]


def load_llm_message(data: Any) -> LLMMessage:
    """The inverse of `dump_llm_message`. Raises ValueError where the data does not fit."""
    return _LLM_MESSAGE.validate_python(data)


def load_llm_messages(rows: Sequence[Any]) -> list[LLMMessage]:
    """The inverse of `dump_llm_messages`. Raises ValueError where the data does not fit."""
    try:
        return _texts_by_column(rows)
    except (AttributeError, KeyError, TypeError):  # for pydantic to judge
        return [load_llm_message(row) for row in rows]


def user_messages(
    contents: Sequence[str], sources: Iterable[str], origins: Iterable[str] | None = None
) -> list[UserMessage]:
    """User messages of valid texts; `origins` are ids of chat messages."""
    columns = {"content": contents, "source": sources, "type": repeat("UserMessage")}
    made = compact_user_message.many(len(contents), columns)
    if origins is not None:
        set_slot(made, "_origin", origins)
    return made


def assistant_messages(
    contents: Sequence[str],
    thoughts: Iterable[str | None],
    sources: Iterable[str],
    origins: Iterable[str] | None = None,
) -> list[AssistantMessage]:
    """Model answers of valid texts; see `user_messages`."""
    columns = {
        "content": contents,
        "thought": thoughts,
        "source": sources,
        "type": repeat("AssistantMessage"),
    }
    made = compact_assistant_message.many(len(contents), columns)
    if origins is not None:
        set_slot(made, "_origin", origins)
    return made


def _texts_by_column(rows: Sequence[Any]) -> list[LLMMessage]:
    kinds = [kind if type(text) is str else "" for kind, text in map(_KIND_AND_CONTENT, rows)]
    users = [row for row, kind in zip(rows, kinds, strict=True) if kind == "UserMessage"]
    answers = [row for row, kind in zip(rows, kinds, strict=True) if kind == "AssistantMessage"]
    thoughts = [row.get("thought") for row in answers]
    _all_of(thoughts, str, NoneType)
    made: dict[str, Iterator[LLMMessage]] = {
        "UserMessage": iter(user_messages(_texts("content", users), _texts("source", users))),
        "AssistantMessage": iter(
            assistant_messages(_texts("content", answers), thoughts, _texts("source", answers))
        ),
    }
    return [
        next(made[kind]) if kind in made else load_llm_message(row)
        for row, kind in zip(rows, kinds, strict=True)
    ]


def _texts(name: str, rows: Iterable[Any]) -> list[str]:
    column = [row[name] for row in rows]
    _all_of(column, str)
    return column


def _all_of(values: Iterable[Any], *kinds: type) -> None:
    if not set(map(type, values)).issubset(kinds):
        raise TypeError
