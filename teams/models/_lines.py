"""The lines of a streamed answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator


async def split_lines(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
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
