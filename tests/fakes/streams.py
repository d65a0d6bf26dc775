"""Reading the streams of runs."""

from collections.abc import AsyncGenerator
from typing import Any

from teams.base import TaskResult


async def everything(stream: AsyncGenerator[Any, None]) -> list[Any]:
    """All items up to the end."""
    return [item async for item in stream]


async def take(stream: AsyncGenerator[Any, None], count: int) -> list[Any]:
    """The next items; the stream stays open."""
    return [await anext(stream) for _ in range(count)]


async def take_until(stream: AsyncGenerator[Any, None], kind: type) -> Any:
    """The first item of this type; the stream stays open."""
    while True:
        item = await anext(stream)
        if isinstance(item, kind):
            return item


def texts(result: TaskResult) -> list[str]:
    """The texts of the result's messages."""
    return [message.to_text() for message in result.messages]
