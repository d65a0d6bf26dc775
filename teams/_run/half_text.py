"""The text of an answer that broke off in the middle."""

from __future__ import annotations

from teams._messages.base import BaseChatMessage
from teams._messages.chat import TextMessage
from teams._messages.events import ModelClientStreamingChunkEvent

BROKE_OFF = (
    "(The answer of {name} broke off. People saw it only up to here, marked as broken off:)\n\n"
    "{text}"
)


class HalfText:
    """Text that was streamed of a message that is not finished."""

    __slots__ = ("_message", "_parts", "source")

    def __init__(self) -> None:
        self.source = ""
        """The speaker."""
        self._message: str | None = None
        self._parts: list[str] = []

    def note(self, item: object) -> None:
        """Take in the next item; all but a chunk finishes the message."""
        if type(item) is not ModelClientStreamingChunkEvent:
            if self._parts:
                self._parts = []
            return
        if item.full_message_id != self._message:
            self._message, self._parts, self.source = item.full_message_id, [], item.source
        self._parts.append(item.content)

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self._parts)


def half_told(name: str, text: str) -> list[BaseChatMessage]:
    """The message that tells an agent how far its answer came.

    None without a text.
    """
    if not text.strip():
        return []
    return [TextMessage(content=BROKE_OFF.format(name=name, text=text), source=name)]
