"""The clipboard's image, by the terminal or by programs. No Textual."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress

from adapters.terminal.terminal_clipboard import NO_IMAGE, best_type
from gateway.client import SentFile

DEADLINE = 3.0
"""Seconds for one program."""
NO_PROGRAM = (
    "Neither this terminal nor a program here (wl-paste, xclip) hands over the clipboard's image. "
    "/attach PATH attaches a file."
)

_FIRST_BYTES = {
    b"\x89PNG\r\n\x1a\n": "png",
    b"\xff\xd8\xff": "jpeg",
    b"GIF8": "gif",
    b"RIFF": "webp",
}
_MOST_TYPES = 65_536
_APPLE = ("osascript", "-e", "the clipboard as «class PNGf»")


async def read_image(
    terminal: Callable[[int], Awaitable[bytes | str | None]], most: int
) -> SentFile | str:
    """The image, or a sentence why there is none.

    Nothing of it is decoded here. One of more than `most` bytes is none.
    """
    found = await terminal(most)
    if found is not None:
        return found if isinstance(found, str) else _image(found) or NO_IMAGE
    programs = [each for each in _programs() if shutil.which(each[0])]
    for program in programs:
        if image := _image(await _of_program(program, most)):
            return image
    return NO_IMAGE if programs else NO_PROGRAM


def _image(data: bytes) -> SentFile | None:
    kind = next((kind for first, kind in _FIRST_BYTES.items() if data.startswith(first)), "")
    return SentFile(name=f"image.{kind}", media_type=f"image/{kind}", data=data) if kind else None


async def _of_program(program: tuple[str, ...], most: int) -> bytes:
    match program:
        case ("osascript", *_):
            return _of_apple(await _output(program, 2 * most + 100))
        case ("wl-paste", *_):
            types = await _output(("wl-paste", "--list-types"), _MOST_TYPES)
        case _:
            types = await _output((*program, "TARGETS"), _MOST_TYPES)
    kind = best_type(types)
    return await _output((*program, kind), most) if kind else b""


def _programs() -> Iterator[tuple[str, ...]]:
    if sys.platform == "darwin":
        yield _APPLE
    if os.environ.get("WAYLAND_DISPLAY"):
        yield ("wl-paste", "--no-newline", "--type")
    if os.environ.get("DISPLAY"):
        yield ("xclip", "-selection", "clipboard", "-out", "-target")


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
