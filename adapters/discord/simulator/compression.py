"""Compression of gateway frames: none, zlib-stream or zstd-stream."""

from __future__ import annotations

import zlib
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol


class Compression(Protocol):
    """One stream of frames, which share what they repeat."""

    def frame(self, text: str) -> str | bytes:
        """A frame as it travels."""
        ...


class NoCompression:
    """Text, as it is."""

    def frame(self, text: str) -> str | bytes:
        """The text."""
        return text


class ZlibStream:
    """Every frame ends with a flush; all are one stream."""

    def __init__(self) -> None:
        self._stream = zlib.compressobj()

    def frame(self, text: str) -> str | bytes:
        """The frame, compressed."""
        return self._stream.compress(text.encode()) + self._stream.flush(zlib.Z_SYNC_FLUSH)


class ZstdStream:
    """The same with zstandard, where that package is installed."""

    def __init__(self) -> None:
        zstandard: Any = import_module("zstandard")
        self._flush = zstandard.COMPRESSOBJ_FLUSH_BLOCK
        self._stream: Any = zstandard.ZstdCompressor().compressobj()

    def frame(self, text: str) -> str | bytes:
        """The frame, compressed."""
        return self._stream.compress(text.encode()) + self._stream.flush(self._flush)


def find_compression(name: str) -> Compression:
    """The compression a client asks for, or none if it is missing."""
    if name == "zlib-stream":
        return ZlibStream()
    if name == "zstd-stream" and find_spec("zstandard"):
        return ZstdStream()
    return NoCompression()
