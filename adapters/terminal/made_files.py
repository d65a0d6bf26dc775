"""Files that agents have made: listed, saved, opened. No Textual."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from adapters.terminal import desktop
from adapters.terminal.text import format_size
from gateway.base.suggest import no_such
from gateway.errors import GatewayError, NotFound
from gateway.items import NoticeItem
from gateway.render.sanitize import one_line, sanitize

if TYPE_CHECKING:
    from adapters.terminal.conversation import Conversation

NONE = "The team has made no file in this thread yet."
SAVING = "/files NAME saves one to the current folder, and /files open NAME opens it, too."
NO_OPENER = "No program here opens it."
MAY_RUN = "{name} was made by the team, and may run as a program when it is opened."

_SHOWN = (
    *(".bmp", ".csv", ".docx", ".gif", ".jpeg", ".jpg", ".json", ".log", ".md", ".mp3", ".mp4"),
    *(".ogg", ".pdf", ".png", ".pptx", ".toml", ".tsv", ".txt", ".wav", ".webp", ".xlsx", ".yaml"),
)
"""Endings of files that their programs only show."""


async def list_or_save(
    conversation: Conversation,
    words: str,
    folder: Path,
    *,
    opener: str,
    agrees: Callable[[str], Awaitable[bool]],
) -> str:
    """List the files, or save one, and open it after "open".

    A file that may run is opened, and saved for that, only if the person `agrees`; "" if not.
    Raises GatewayError.
    """
    made = _made(conversation)
    if not made or conversation.thread is None:
        return NONE
    if not words:
        lines = [f"{_clean(path)} ({format_size(size)})" for path, size in made.items()]
        return "\n".join([*lines, SAVING])
    opens = words.startswith("open ") and not _named(made, words)
    name = words.removeprefix("open ").strip() if opens else words
    if not (path := _named(made, name)):
        raise NotFound(no_such("file", name, list(made)))
    may_run = not path.lower().endswith(_SHOWN)
    if opens and opener and may_run and not await agrees(MAY_RUN.format(name=_clean(path))):
        return ""
    file = await conversation.client.made_file(conversation.thread.id, path)
    saved = await asyncio.to_thread(_save, folder, file.name, file.data)
    told = f"Saved {_clean(str(saved))}."
    if opens and not (opener and await asyncio.to_thread(desktop.open_file, opener, saved)):
        told += f" {NO_OPENER}"
    return told


def _named(made: dict[str, int], name: str) -> str:
    """The path of the newest file of this name, or ""."""
    return next((each for each in reversed(made) if name in (each, each.rpartition("/")[2])), "")


def _made(conversation: Conversation) -> dict[str, int]:
    """The files by their paths, the newest size of each."""
    model = conversation.model
    items = (model.items[key] for key in model.keys)
    return {each.path: each.size for each in items if isinstance(each, NoticeItem) and each.path}


def _save(folder: Path, name: str, data: bytes) -> Path:
    """Write under a name that nothing has yet, for the person alone."""
    stem, ending = os.path.splitext(name)
    try:
        for number in count(1):
            path = folder / (name if number == 1 else f"{stem}-{number}{ending}")
            try:
                opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError:
                continue
            with open(opened, "wb") as file:
                file.write(data)
            return path
    except OSError as error:
        raise GatewayError(
            f"{_clean(name)} can't be saved in {folder}: {error.strerror}."
        ) from error
    raise AssertionError


def _clean(text: str) -> str:
    return one_line(sanitize(text))
