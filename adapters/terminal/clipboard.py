"""The clipboard's image, by the person's own programs. No Textual."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress

from gateway.client import SentFile

DEADLINE = 3.0
"""Seconds for one program."""
NO_PROGRAM = (
    "No program here reads an image from the clipboard (wl-paste, xclip). "
    "/attach PATH attaches a file."
)
NO_IMAGE = "The clipboard has no image. /attach PATH attaches a file."

_PNG, _TYPE = b"\x89PNG\r\n\x1a\n", "image/png"
_APPLE = ("osascript", "-e", "the clipboard as «class PNGf»")


async def read_image(name: str, most: int) -> SentFile | str:
    """The image as PNG, or a sentence why there is none.

    Nothing of it is decoded here. One of more than `most` bytes is none.
    """
    programs = [each for each in _programs() if shutil.which(each[0])]
    for program in programs:
        output = await _output(program, 2 * most + 100 if program is _APPLE else most)
        data = _of_apple(output) if program is _APPLE else output
        if data.startswith(_PNG):
            return SentFile(name=name, media_type=_TYPE, data=data)
    return NO_IMAGE if programs else NO_PROGRAM


def _programs() -> Iterator[tuple[str, ...]]:
    if sys.platform == "darwin":
        yield _APPLE
    if os.environ.get("WAYLAND_DISPLAY"):
        yield ("wl-paste", "--no-newline", "--type", _TYPE)
    if os.environ.get("DISPLAY"):
        yield ("xclip", "-selection", "clipboard", "-target", _TYPE, "-out")


async def _output(program: tuple[str, ...], most: int) -> bytes:
    """Output of a program; none of a large or slow one."""
    nothing = asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *program, stdin=nothing, stdout=asyncio.subprocess.PIPE, stderr=nothing
        )
    except OSError:
        return b""
    data = bytearray()
    try:
        async with asyncio.timeout(DEADLINE):
            while process.stdout and (piece := await process.stdout.read(1 << 16)):
                data += piece
                if len(data) > most:
                    return b""
            return bytes(data) if await process.wait() == 0 else b""
    except TimeoutError:
        return b""
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _of_apple(output: bytes) -> bytes:
    """The bytes of «data PNGf89504E47…»."""
    _, _, digits = output.partition(b"PNGf")
    try:
        return bytes.fromhex(digits.rstrip().removesuffix("»".encode()).decode())
    except ValueError:
        return b""
