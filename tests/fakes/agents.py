"""Agents without a turn record, as a user would write them."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any

from teams.agents import BaseChatAgent
from teams.base import Response
from teams.core import CancellationToken
from teams.messages import BaseChatMessage, TextMessage


class Talker(BaseChatAgent):
    """Says the next of its lines, and can be told to fail.

    It remembers its messages.
    """

    def __init__(self, name: str, *lines: Any, description: str = "talks") -> None:
        super().__init__(name, description)
        self._lines = list(lines)
        self.given: list[list[str]] = []
        self.calls: list[str] = []

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return (TextMessage,)

    async def on_messages(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> Response:
        self.given.append([message.to_text() for message in messages])
        line: Any = self._lines[(len(self.given) - 1) % len(self._lines)] if self._lines else "hm"
        if callable(line):
            line = line()
        if isinstance(line, Awaitable):
            line = await line
        if isinstance(line, BaseException):
            raise line
        if isinstance(line, str):
            line = TextMessage(content=line, source=self.name)
        return line if isinstance(line, Response) else Response(chat_message=line)

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        self.calls.append("reset")

    async def on_pause(self, cancellation_token: CancellationToken) -> None:
        self.calls.append("pause")

    async def on_resume(self, cancellation_token: CancellationToken) -> None:
        self.calls.append("resume")


class Streamer(Talker):
    """Yields whatever `script` yields."""

    def __init__(self, name: str, script: Callable[[], AsyncGenerator[Any, None]]) -> None:
        super().__init__(name)
        self._script = script

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[Any, None]:
        self.given.append([message.to_text() for message in messages])
        async with aclosing(self._script()) as items:
            async for item in items:
                yield item
