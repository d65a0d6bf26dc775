"""The tests' folders in memory, where no store waits for a disk."""

import os
import shutil
from collections import Counter
from collections.abc import MutableMapping
from functools import cache
from pathlib import Path

import _pytest.tmpdir
import pytest

VARIABLE = "PYTEST_DEBUG_TEMPROOT"
"""Pytest's own: where it makes the folders of a run."""
MEMORY = Path("/dev/shm")
ROOM = 2 * 2**30
"""Bytes that have to be free: many times what a run leaves there."""


def use_where_possible(
    environment: MutableMapping[str, str] = os.environ, memory: Path = MEMORY, room: int = ROOM
) -> None:
    """Have pytest make its folders in memory, unless it is told where."""
    if VARIABLE not in environment and is_usable(memory, room):
        environment[VARIABLE] = str(memory)


@cache  # a run within a test keeps the numbers of the run around it
def number_without_looking() -> None:
    """Have pytest count its folders by itself.

    It looks through all that there are for each number, and leaves a link beside each.
    """
    numbers = Counter[str]()

    def make_numbered_dir(root: Path, prefix: str, mode: int = 0o700) -> Path:
        folder = root / f"{prefix}{numbers[f'{root}/{prefix}']}"
        numbers[f"{root}/{prefix}"] += 1
        folder.mkdir(mode=mode)
        return folder

    # The extras have a later pytest, which counts elsewhere.
    pytest.MonkeyPatch().setattr(
        _pytest.tmpdir, "make_numbered_dir", make_numbered_dir, raising=False
    )


def is_usable(folder: Path, room: int) -> bool:
    """True for a folder with room, whose files may be executed.

    A container's is often small, and without execution.
    """
    try:
        executable = not os.statvfs(folder).f_flag & os.ST_NOEXEC
        return executable and os.access(folder, os.W_OK) and shutil.disk_usage(folder).free >= room
    except OSError:
        return False
