"""The lines of a streamed answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress


@asynccontextmanager
async def answer_lines(
    chunks: AsyncIterator[bytes], close: Callable[[], Awaitable[None]]
) -> AsyncGenerator[AsyncIterator[bytes]]:
    """The lines of a response's body; leaving closes the response."""
    lines = _split(chunks)
    try:
        yield lines
    finally:
        await close()
        # The generators below end by the closed connection; dropped, each would need a task.
        with suppress(Exception):
            while True:
                await anext(lines)


async def _split(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """Lines that end at a line feed alone.

    Those of httpx also end at U+2028 and its like, which stand as they are in texts of JSON.
    """
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line
    if rest:
        yield rest
