"""New stores as copies of one, because making tables takes time."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from gateway.store.sqlite.store import SqliteStore
from tests.fakes.postgres_databases import STORE, database_of


def new_store(folder: Path, **options: Any) -> Any:
    """The store in `folder`; without one, an empty store is put there.

    The run's option `--store`, or the fixture `database`, says on which database. On PostgreSQL the
    folder has a database of its own, for processes that a test starts, too.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if is_on_postgres():
        from gateway.store.postgres.database import Database
        from gateway.store.postgres.store import PostgresStore

        return PostgresStore(Database(url=database_of(folder)), folder, **options)
    paths = {folder / name: contents for name, contents in _empty_store().items()}
    if not any(path.exists() for path in paths):
        for path, contents in paths.items():
            path.touch(mode=0o600)
            path.write_bytes(contents)
    return SqliteStore(folder, **options)


def store_table(folder: Path) -> str:
    """The table `[store]` of a config with the store that `new_store` opens."""
    lines = [f"folder = {json.dumps(str(folder))}"]
    if is_on_postgres():
        lines.append(f"url = {json.dumps(database_of(folder))}")
    return "\n".join(["[store]", *lines, ""])


def is_on_postgres() -> bool:
    """True if new stores are on PostgreSQL."""
    return os.environ.get(STORE) == "postgres"


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
