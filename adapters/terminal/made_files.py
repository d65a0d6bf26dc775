"""Files that agents have made: listed, saved, opened. No Textual."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from adapters.terminal import desktop
from adapters.terminal.files import save_beside
from adapters.terminal.text import format_size
from gateway.base.suggest import no_such
from gateway.errors import NotFound
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
    saved = await asyncio.to_thread(save_beside, folder, file.name, file.data)
    told = f"Saved {_clean(str(saved))}."
    if opens and not (opener and await asyncio.to_thread(desktop.open_file, opener, saved)):
        told += f" {NO_OPENER}"
    return told


def _named(made: dict[str, int], name: str) -> str:
    """The path of the newest file of this name, or ""."""
    return next((each for each in reversed(made) if name in (each, each.rpartition("/")[2])), "")


def _made(conversation: Conversation) -> dict[str, int]:
    """The files' newest sizes by their paths, the newest file last."""
    model = conversation.model
    made: dict[str, int] = {}
    for item in map(model.items.__getitem__, model.keys):
        if isinstance(item, NoticeItem) and item.path:
            made.pop(item.path, None)
            made[item.path] = item.size
    return made


def _clean(text: str) -> str:
    return one_line(sanitize(text))
