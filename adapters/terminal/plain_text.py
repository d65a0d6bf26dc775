"""Text of a thread's agents that grows at its end."""

from __future__ import annotations

from gateway.items import AgentItem, News


class PlainText:
    """Text to append, made of news.

    Messages stand one after the other, as they began.

    While several agents speak at once, the first one streams and the others wait for their turn.
    With `names`, each message stands below a line with its agent's name.
    """

    def __init__(self, *, names: bool) -> None:
        self._names = names
        self._messages: dict[str, AgentItem] = {}
        self._written = ""
        """Text of the first of these that is written."""
        self._first = True

    @property
    def mid_message(self) -> bool:
        """True if the text ends in the middle of a message."""
        return bool(self._written)

    def append(self, item: News) -> str:
        """The text that the news add."""
        if not isinstance(item, AgentItem) or item.thought:
            return ""
        self._messages[item.key] = item
        return self._flush()

    def close(self) -> str:
        """The end of the text, once no more news come."""
        return self._flush(ended=True)

    def _flush(self, *, ended: bool = False) -> str:
        pieces: list[str] = []
        while self._messages:
            key, message = next(iter(self._messages.items()))
            pieces.append(self._continue(message))
            if message.open and not ended:
                break
            del self._messages[key]
            if self._written and not self._written.endswith("\n"):
                pieces.append("\n")
            self._written = ""
        return "".join(pieces)

    def _continue(self, message: AgentItem) -> str:
        """The rest of the message, beyond what the text has."""
        text = f"{message.text}\n{message.mark}" if message.mark else message.text
        written, self._written = self._written, text or self._written
        if written and self._written.startswith(written):
            return self._written[len(written) :]
        if not self._written:
            return ""
        # It begins, or another text stands there now: what was written can't be taken back.
        return self._heading(message.agent.name, mid_line=bool(written)) + self._written

    def _heading(self, agent: str, *, mid_line: bool) -> str:
        gap = "\n\n" if mid_line else "" if self._first else "\n"
        self._first = False
        return f"{gap}{agent}:\n" if self._names else gap
