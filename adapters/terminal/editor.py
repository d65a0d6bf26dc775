"""The draft in the person's own editor, which has the terminal meanwhile."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import tempfile
from pathlib import Path

from gateway.render.sanitize import sanitize

USUAL = ("nano", "vi")


def find_editor() -> list[str]:
    """The editor: $VISUAL, $EDITOR, or a usual one; otherwise nothing."""
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    usual = [name for name in USUAL if shutil.which(name)]
    return shlex.split(named) or usual[:1]


async def edit_text(text: str, editor: list[str]) -> str:
    """Return the text as edited; raises OSError if the editor fails.

    It lasts as long as the person takes; cancelled, it ends the editor.
    """
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
