"""The clipboard's image, by programs that stand for the person's."""

from dataclasses import replace
from pathlib import Path

import pytest

from adapters.terminal import clipboard
from adapters.terminal.clipboard import NO_IMAGE, NO_PROGRAM, read_image
from gateway.client import SentFile
from tests.gateway.content.test_attachments import gif, png

PICTURE = SentFile(name="image.png", media_type="image/png", data=png())


async def read(most: int = 1000, given: bytes | str | None = None) -> SentFile | str:
    """Read the clipboard with a terminal that gives this."""

    async def terminal(_: int) -> bytes | str | None:
        return given

    return await read_image(terminal, most)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}")
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    monkeypatch.setattr("sys.platform", "linux")
    (tmp_path / "picture").write_bytes(png())
    return tmp_path


def program(folder: Path, name: str, does: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\nPATH=/bin:/usr/bin\n{does}\n")
    (folder / name).chmod(0o755)


def xclip(kind: str, folder: Path) -> str:
    """A clipboard with a text and an image."""
    types = f'if [ "$5" = TARGETS ]; then echo "TARGETS UTF8_STRING {kind}"'
    return f'{types}; elif [ "$5" = {kind} ]; then cat {folder}/picture; else exit 1; fi'


async def test_without_a_program_or_an_image_a_sentence_says_so(programs: Path, monkeypatch):
    assert await read() == NO_PROGRAM
    program(programs, "xclip", "exit 1")
    assert await read() == NO_IMAGE
    program(programs, "xclip", "echo text")
    assert await read() == NO_IMAGE


async def test_the_first_program_with_an_image_is_taken(programs: Path):
    program(programs, "wl-paste", "exit 1")
    program(programs, "xclip", xclip("image/png", programs))
    assert await read() == PICTURE
    assert await read(10) == NO_IMAGE


async def test_another_type_is_taken_where_there_is_no_png(programs: Path):
    (programs / "picture").write_bytes(gif())
    program(programs, "xclip", xclip("image/gif", programs))
    assert await read() == SentFile(name="image.gif", media_type="image/gif", data=gif())
    program(programs, "xclip", xclip("image/svg+xml", programs))
    assert await read() == NO_IMAGE
    types = '[ "$1" = --list-types ] && echo image/gif && exit'
    program(programs, "wl-paste", f'{types}; [ "$3" = image/gif ] && cat {programs}/picture')
    assert await read() == SentFile(name="image.gif", media_type="image/gif", data=gif())


async def test_the_terminal_comes_before_all_programs(programs: Path):
    program(programs, "xclip", xclip("image/png", programs))
    assert await read(given=gif()) == replace(
        PICTURE, name="image.gif", media_type="image/gif", data=gif()
    )
    assert await read(given="It is asked.") == "It is asked."
    assert await read(given=b"text") == NO_IMAGE
    assert await read(given=None) == PICTURE


async def test_a_program_that_never_ends_is_ended(programs: Path, monkeypatch):
    monkeypatch.setattr(clipboard, "DEADLINE", 0.2)
    program(programs, "xclip", f"{xclip('image/png', programs)}; exec tail -f /dev/null")
    assert await read() == NO_IMAGE
    program(programs, "xclip", "exec cat /dev/zero")
    assert await read() == NO_IMAGE


async def test_the_digits_of_macos_are_read(programs: Path, monkeypatch):
    monkeypatch.setattr("sys.platform", "darwin")
    program(programs, "osascript", f"echo '«data PNGf{png().hex().upper()}»'")
    assert await read() == PICTURE
    program(programs, "osascript", "echo '«data PNGfxyz»'")
    assert await read() == NO_IMAGE
