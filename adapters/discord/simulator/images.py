"""Sizes of pictures, read from their first bytes."""

from __future__ import annotations

PNG = b"\x89PNG\r\n\x1a\n"


PNG_HEADER, GIF_HEADER = 24, 10  # bytes, with the size at the end


def size_of(content: bytes) -> tuple[int | None, int | None]:
    """Width and height of a PNG or GIF; otherwise (None, None)."""
    if content.startswith(PNG) and len(content) >= PNG_HEADER:
        return int.from_bytes(content[16:20]), int.from_bytes(content[20:24])
    if content[:6] in (b"GIF87a", b"GIF89a") and len(content) >= GIF_HEADER:
        return int.from_bytes(content[6:8], "little"), int.from_bytes(content[8:10], "little")
    return None, None
