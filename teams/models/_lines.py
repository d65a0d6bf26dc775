"""The lines of a streamed answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator


async def split_lines(chunks: AsyncIterator[bytes], prefix: bytes = b"") -> AsyncGenerator[bytes]:
    """Lines that begin so and end at a line feed alone.

    A chunk without one gives its last line, so that its reader sees the time pass.

    Those of httpx also end at U+2028 and its like, which stand as they are in texts of JSON.
    """
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in [line for line in lines if line.startswith(prefix)] or lines[-1:]:
            yield line
    if rest:
        yield rest
