"""New stores as copies of one, because making tables takes time."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from gateway.store.sqlite.store import SqliteStore


def new_store(folder: Path, **options: Any) -> SqliteStore:
    """The store in `folder`; without one, an empty store is put there."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    paths = {folder / name: contents for name, contents in _empty_store().items()}
    if not any(path.exists() for path in paths):
        for path, contents in paths.items():
            path.touch(mode=0o600)
            path.write_bytes(contents)
    return SqliteStore(folder, **options)


@cache
def _empty_store() -> Mapping[str, bytes]:
    """The files of a store that was opened and closed."""
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(1) as thread:
        folder = Path(name)
        thread.submit(asyncio.run, _open_and_close(folder)).result()  # no test's loop is used
        return {path.name: path.read_bytes() for path in folder.iterdir()}


async def _open_and_close(folder: Path) -> None:
    async with SqliteStore(folder).own():
        pass
