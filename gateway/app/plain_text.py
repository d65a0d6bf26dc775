"""Text of a thread's agents that grows at its end."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.events import BROKE_OFF, MessageFinished, SessionEvent, TextDelta


@dataclass(slots=True)
class _Message:
    agent: str
    text: str = ""
    written: str = ""
    finished: bool = False


class PlainText:
    """Text to append, made of events.

    Messages stand one after the other, as they began.

    While several agents speak at once, the first one streams and the others wait for their turn.
    With `names`, each message stands below a line with its agent's name.
    """

    def __init__(self, *, names: bool) -> None:
        self._names = names
        self._messages: dict[str, _Message] = {}
        self._first = True

    @property
    def mid_message(self) -> bool:
        """True if the text ends in the middle of a message."""
        return any(message.written for message in self._messages.values())

    def append(self, event: SessionEvent) -> str:
        """The text that the event adds."""
        match event:
            case TextDelta(thought=False):
                message = self._message(event.message, event.agent)
                message.text = event.text if event.replace else message.text + event.text
            case MessageFinished():
                message = self._message(event.message, event.agent)
                end = f"\n{BROKE_OFF}" if event.broken else ""
                message.text, message.finished = f"{event.text}{end}", True
            case _:
                return ""
        return self._flush()

    def close(self) -> str:
        """The end of the text, once no more events come."""
        for message in self._messages.values():
            message.finished = True
        return self._flush()

    def _message(self, name: str, agent: str) -> _Message:
        return self._messages.setdefault(name, _Message(agent))

    def _flush(self) -> str:
        pieces: list[str] = []
        while self._messages:
            name, message = next(iter(self._messages.items()))
            pieces.append(self._continue(message))
            if not message.finished:
                break
            del self._messages[name]
            if message.written and not message.written.endswith("\n"):
                pieces.append("\n")
        return "".join(pieces)

    def _continue(self, message: _Message) -> str:
        """The rest of the message, beyond what the text has."""
        written, message.written = message.written, message.text or message.written
        if written and message.written.startswith(written):
            return message.written[len(written) :]
        if not message.written:
            return ""
        # It begins, or another text stands there now: what was written can't be taken back.
        return self._heading(message.agent, mid_line=bool(written)) + message.written

    def _heading(self, agent: str, *, mid_line: bool) -> str:
        gap = "\n\n" if mid_line else "" if self._first else "\n"
        self._first = False
        return f"{gap}{agent}:\n" if self._names else gap
