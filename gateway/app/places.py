"""Folders, files and programs of a config, tried out without a trace."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from shutil import which

from gateway.app.stores import folder_of
from gateway.base.describe import describe
from gateway.config.mcp import McpServer
from gateway.config.root import Config


def unusable_places(config: Config) -> Iterator[tuple[str, str]]:
    """Settings of unwritable folders or files, each with the reason."""
    folder = folder_of(config)
    if reason := _no_folder(folder):
        yield (
            "store.folder",
            f"the store {str(folder)!r} can't be written: {reason}; choose a folder of Parley's "
            "user",
        )
    if config.logging.file and (reason := _no_file(config.logging.file)):
        said = f"cannot write {config.logging.file}: {reason}; choose a file of Parley's user"
        yield "logging.file", said


def _no_folder(path: Path) -> str:
    """The reason why the folder, or its parent, takes no files."""
    try:
        while not path.exists():
            path = path.parent
        with tempfile.TemporaryFile(dir=path):
            return ""
    except OSError as error:
        return error.strerror or describe(error)


def _no_file(path: Path) -> str:
    """The reason why the file can't be written to."""
    try:
        if not path.exists():
            return _no_folder(path.parent)
        with path.open("ab"):
            return ""
    except OSError as error:
        return error.strerror or describe(error)


def has_program(server: McpServer) -> bool:
    """True if a tool server's program is on this machine."""
    if os.sep in server.command:  # found in its working folder
        return Path(server.cwd or ".", server.command).is_file()
    given = server.env.get("PATH")
    return which(server.command, path=given.get_secret_value() if given else None) is not None
