"""Carryover: what earlier chats add to the first message of the next."""

from __future__ import annotations

from typing import Any, cast

from teams.conversable._errors import InvalidCarryOverType
from teams.conversable._messages import Message
from teams.conversable._protocols import Settings


def with_carryover(message: Message | str, carryover: object) -> Message | str:
    """Message that also tells what earlier chats found."""
    if not carryover:
        return message
    added = f"\nContext: \n{_told(carryover)}"
    if isinstance(message, str):
        return message + added
    content = message.get("content") if isinstance(message, dict) else None  # pyright: ignore[reportUnnecessaryIsInstance] (users' mistake)
    match content:
        case str():
            return {**message, "content": content + added}
        case list():
            return {**message, "content": [{"type": "text", "text": added}, *content]}
        case _:
            raise InvalidCarryOverType


def _told(carryover: object) -> str:
    match carryover:
        case str():
            return carryover
        case list():
            return "\n".join(map(_item, cast("list[Any]", carryover)))
        case _:
            raise InvalidCarryOverType


def _item(item: object) -> str:
    if isinstance(item, dict):
        return str(cast("Settings", item).get("content", ""))
    return str(item)
