"""Type and size of an image by its first bytes.

Nothing is decoded.

PNG (W3C PNG, 11.2.2), JPEG (ITU T.81, B.2.2), GIF (89a, 18), WebP (RFC 9649, 2.5 to 2.7).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

MOST_SEGMENTS = 1000
"""Segments of a JPEG that are searched for its size: a hostile file may have many."""

_MARK = 0xFF
_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
"""JPEG's markers of frames, which say their size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageHead:
    """An image's media type and its size in pixels."""

    media_type: str
    width: int
    height: int

    @property
    def pixels(self) -> int:
        """Number of pixels."""
        return self.width * self.height


def image_head(data: bytes) -> ImageHead | None:
    """Type and size of an image; None for other files."""
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR":
            return _head("png", *struct.unpack_from(">II", data, 16))
        if data.startswith((b"GIF87a", b"GIF89a")):
            return _head("gif", *struct.unpack_from("<HH", data, 6))
        if data.startswith(b"\xff\xd8\xff"):
            return _jpeg(data)
        if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
            return _webp(data)
    except (struct.error, IndexError):
        return None  # it ends too soon
    return None


def _head(kind: str, width: int, height: int) -> ImageHead | None:
    if not width or not height:
        return None
    return ImageHead(media_type=f"image/{kind}", width=width, height=height)


def _jpeg(data: bytes) -> ImageHead | None:
    at = 2
    for _ in range(MOST_SEGMENTS):
        mark, kind = data[at], data[at + 1]
        if mark != _MARK:
            return None
        if kind == _MARK:
            at += 1  # a byte that only fills
        elif kind in _FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return _head("jpeg", width, height)
        else:
            at += 2 + struct.unpack_from(">H", data, at + 2)[0]
    return None


def _webp(data: bytes) -> ImageHead | None:
    match data[12:16]:
        case b"VP8 ":
            width, height = struct.unpack_from("<HH", data, 26)
            return _head("webp", width & 0x3FFF, height & 0x3FFF)
        case b"VP8L":
            bits = struct.unpack_from("<I", data, 21)[0]
            return _head("webp", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
        case b"VP8X":
            low_w, high_w, low_h, high_h = struct.unpack_from("<HBHB", data, 24)
            return _head("webp", (high_w << 16 | low_w) + 1, (high_h << 16 | low_h) + 1)
        case _:
            return None
