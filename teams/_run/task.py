"""What a run may be given as its task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from teams._messages.base import BaseChatMessage
from teams._messages.chat import TextMessage

Task: TypeAlias = str | BaseChatMessage | Sequence[BaseChatMessage] | None


def task_messages(task: Task) -> list[BaseChatMessage]:
    """The task as messages; none for None.

    Raises ValueError for an empty list or for anything but messages.
    """
    if task is None:
        return []
    if isinstance(task, str):
        return [TextMessage(content=task, source="user")]
    if isinstance(task, BaseChatMessage):
        return [task]
    if not isinstance(task, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"A task is text or messages, found {type(task).__name__}.")
    messages = list(task)
    if not messages:
        raise ValueError("The task is an empty list: give at least one message, or None to go on.")
    for message in messages:
        if not isinstance(message, BaseChatMessage):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(
                f"Every item of a task list must be a chat message, found {type(message).__name__}."
            )
    return messages
