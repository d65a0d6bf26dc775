"""Files that a person sends or saves, and who gets them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from adapters.terminal.mentions import is_within, placed
from adapters.terminal.place import OWN, audience, platform_name
from adapters.terminal.text import format_size
from gateway.client import SentFile
from gateway.errors import GatewayError
from gateway.render.sanitize import one_line, sanitize
from teams.safe_files import is_key_file

if TYPE_CHECKING:
    from gateway.client import ThreadInfo

MOST_FILES = 10
MOST_BYTES = 40_000_000
"""Bytes of all files of one message."""


async def read_file(name: str, attached: Sequence[SentFile], fence: Path | None = None) -> SentFile:
    """The file that a person has named, to go with the others.

    Raises GatewayError, also for one that is not below the `fence`.
    """
    path = placed(name.strip().strip("\"'"), fence or Path.cwd())
    if not await asyncio.to_thread(is_within, path, fence):
        raise GatewayError(f"In a browser, only files below {fence} can be attached.")
    file = await asyncio.to_thread(SentFile.read, path, MOST_BYTES)
    check_room(file, attached)
    return file


def check_room(file: SentFile, attached: Sequence[SentFile]) -> None:
    """Check that a file may go with the others. Raises GatewayError."""
    if len(attached) >= MOST_FILES:
        raise GatewayError(f"A message takes at most {MOST_FILES} files.")
    size = file.left_out or len(file.data)
    together = size + sum(len(each.data) for each in attached)
    if together > MOST_BYTES:
        most = format_size(MOST_BYTES)
        said = f"The file {file.name!r} has {format_size(size)}"
        rest = f"; with the others {format_size(together)}" if attached else ""
        raise GatewayError(f"{said}{rest}. The chat sends at most {most} with a message.")


def save_beside(folder: Path, name: str, data: bytes) -> Path:
    """Write under a name that nothing has yet, for the person alone.

    Blocks. Raises GatewayError.
    """
    stem, ending = os.path.splitext(name)
    try:
        for number in count(1):
            path = folder / (name if number == 1 else f"{stem}-{number}{ending}")
            with (
                suppress(FileExistsError),
                open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file,
            ):
                file.write(data)
                return path
    except OSError as error:
        raise GatewayError(
            f"{_clean(name)} can't be saved in {folder}: {error.strerror}."
        ) from error
    raise AssertionError


def name_files(files: Sequence[SentFile]) -> str:
    """The files in a row, each with its size."""
    return ", ".join(f"{_clean(file.name)} ({format_size(len(file.data))})" for file in files)


def who_gets(thread: ThreadInfo | None) -> str:
    """The people who get a message's files; "" for the team alone."""
    if thread is None or thread.platform == OWN:
        return ""
    return f"{audience(thread)} on {platform_name(thread.platform)}"


def question(files: Sequence[SentFile], thread: ThreadInfo | None) -> str:
    """The question to a person before files are sent, or ""."""
    others = who_gets(thread)
    keys = [_clean(file.name) for file in files if is_key_file(file.name)]
    if not files or not (others or keys):
        return ""
    told = f"{name_files(files)} will go to {others or 'the team and its models'}."
    if keys:
        told += f" By its name, {keys[0]} holds a key or credentials."
    return told


def _clean(text: str) -> str:
    return one_line(sanitize(text))
