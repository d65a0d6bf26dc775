"""The clipboard's image, by programs that stand for the person's."""

from pathlib import Path

import pytest

from adapters.terminal import clipboard
from adapters.terminal.clipboard import NO_IMAGE, NO_PROGRAM, read_image
from gateway.client import SentFile
from tests.gateway.content.test_attachments import png

PICTURE = SentFile(name="a.png", media_type="image/png", data=png())


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


async def test_without_a_program_or_an_image_a_sentence_says_so(programs: Path, monkeypatch):
    assert await read_image("a.png", 1000) == NO_PROGRAM
    program(programs, "xclip", "exit 1")
    assert await read_image("a.png", 1000) == NO_IMAGE
    program(programs, "xclip", "echo text")
    assert await read_image("a.png", 1000) == NO_IMAGE


async def test_the_first_program_with_an_image_is_taken(programs: Path):
    program(programs, "wl-paste", "exit 1")
    program(programs, "xclip", f'[ "$4" = image/png ] && cat {programs}/picture')
    assert await read_image("a.png", 1000) == PICTURE
    assert await read_image("a.png", 10) == NO_IMAGE


async def test_a_program_that_never_ends_is_ended(programs: Path, monkeypatch):
    monkeypatch.setattr(clipboard, "DEADLINE", 0.2)
    program(programs, "xclip", f"cat {programs}/picture; exec tail -f /dev/null")
    assert await read_image("a.png", 1000) == NO_IMAGE
    program(programs, "xclip", "exec cat /dev/zero")
    assert await read_image("a.png", 1000) == NO_IMAGE


async def test_the_digits_of_macos_are_read(programs: Path, monkeypatch):
    monkeypatch.setattr("sys.platform", "darwin")
    program(programs, "osascript", f"echo '«data PNGf{png().hex().upper()}»'")
    assert await read_image("a.png", 1000) == PICTURE
    program(programs, "osascript", "echo '«data PNGfxyz»'")
    assert await read_image("a.png", 1000) == NO_IMAGE
