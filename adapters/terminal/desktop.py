"""The person's own programs: an editor, a viewer of files, the clipboard."""

import asyncio
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

from gateway.render.sanitize import sanitize

USUAL_EDITORS = ("nano", "vi")
CLIPBOARD_DEADLINE = 2.0
OPENING = 2.0
"""Seconds in which a viewer that fails has ended."""


def find_editor() -> list[str]:
    """The editor: $VISUAL, $EDITOR, or a usual one; otherwise nothing."""
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    usual = [name for name in USUAL_EDITORS if shutil.which(name)]
    return shlex.split(named) or usual[:1]


async def edit_text(text: str, editor: list[str]) -> str:
    """Return the edited text; cancelled, end the editor. Raises OSError."""
    path = await asyncio.to_thread(_write_draft, text)
    try:
        await _run([*editor, str(path)])
        return await asyncio.to_thread(_read_draft, path)
    finally:
        path.unlink(missing_ok=True)


async def _run(arguments: list[str]) -> None:
    process = await asyncio.create_subprocess_exec(*arguments)
    try:
        await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _write_draft(text: str) -> Path:
    descriptor, name = tempfile.mkstemp(prefix="parley-", suffix=".md")
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    return Path(name)


def _read_draft(path: Path) -> str:
    return sanitize(path.read_text("utf-8", errors="replace")).rstrip("\n")


def find_opener() -> str:
    """The program that opens files; "" where there is no display."""
    if sys.platform == "darwin":
        name = "" if os.environ.get("SSH_CONNECTION") else "open"
    else:
        name = "xdg-open" if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") else ""
    return (name and shutil.which(name)) or ""


def open_file(opener: str, path: Path) -> bool:
    """Open a file; False if nothing opens it. Blocks."""
    nothing, command = subprocess.DEVNULL, [opener, str(path.absolute())]
    try:
        process = subprocess.Popen(
            command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
        )
    except OSError:
        return False
    try:
        return process.wait(OPENING) == 0
    except subprocess.TimeoutExpired:  # it shows the file, and outlives the chat
        threading.Thread(target=process.wait, daemon=True, name="viewer").start()
        return True


def copy_text(text: str) -> None:
    """Copy for terminals without a clipboard (OSC 52). Blocks, raises nothing."""
    for command in _clipboard_programs():
        if shutil.which(command[0]):
            with suppress(OSError, subprocess.SubprocessError):
                subprocess.run(
                    command,
                    input=text.encode(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    timeout=CLIPBOARD_DEADLINE,
                    check=True,
                )
                return


def _clipboard_programs() -> list[list[str]]:
    if sys.platform == "darwin":
        return [["pbcopy"]]
    programs: list[list[str]] = []
    if os.environ.get("WAYLAND_DISPLAY"):
        programs.append(["wl-copy"])
    if os.environ.get("DISPLAY"):
        programs.append(["xclip", "-selection", "clipboard"])
    return programs
