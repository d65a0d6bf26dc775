"""Stores that lose records, by a restore or with their log's end."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from tests.fakes.new_store import is_on_postgres, new_store
from tests.fakes.postgres_databases import database_of
from tests.fakes.postgres_server import programs

HEADER, FRAME = 32, 24 + 4096
"""Bytes of a write-ahead log's header, and of a frame (sqlite.org/fileformat2.html)."""


async def copy_store(folder: Path, copy: Path) -> None:
    """Copy a store as its operator does, also while it is used."""
    if not is_on_postgres():
        await new_store(folder).backup(copy)
        return
    await copy_database(database_of(folder), copy)


async def put_back(folder: Path, copy: Path) -> None:
    """Let a copy replace a store that nobody uses."""
    if not is_on_postgres():
        store = new_store(folder)
        await store.stage(copy)
        await store.restore()
        return
    await restore_database(database_of(folder), copy)


async def copy_database(address: str, copy: Path) -> None:
    """Copy a database by the documented line."""
    await _run(address, "pg_dump", "--format=custom", f"--file={copy}")


async def restore_database(address: str, copy: Path) -> None:
    """Put a copy back as documented, also while it is used."""
    await _run(address, "pg_restore", "--clean", "--if-exists", "--single-transaction", f"{copy}")


async def _run(address: str, program: str, *arguments: str) -> None:
    url = urlsplit(address)
    server = [f"--host={url.hostname}", f"--port={url.port}", f"--username={url.username}"]
    command = [f"{programs() / program}", *server, f"--dbname={url.path[1:]}", *arguments]
    await asyncio.to_thread(_call, command, url.password or "")


def _call(command: Sequence[str], password: str) -> None:
    environment = {"PGPASSWORD": password, "LC_ALL": "C", "PATH": "/usr/bin:/bin"}
    subprocess.run(command, env=environment, check=True, capture_output=True)


def commits_in(folder: Path) -> int:
    """The number of commits in a store's log."""
    return len(_ends((folder / "parley.db-wal").read_bytes()))


def lose_commits(folder: Path, commits: int) -> int:
    """Cut the last commits off the log of a killed process.

    How many there were; those that are no longer in the log stay.
    """
    log = folder / "parley.db-wal"
    ends = _ends(content := log.read_bytes())
    lost = min(commits, len(ends))
    kept = ends[-lost - 1] if lost < len(ends) else HEADER
    log.write_bytes(content[:kept])
    return lost


def _ends(content: bytes) -> list[int]:
    """The places in a log where its commits end."""
    starts = range(HEADER, len(content) - FRAME + 1, FRAME)
    # A frame that ends a commit has the size of the database; a log that is begun anew, new salts.
    salts = content[16:24]
    return [
        start + FRAME
        for start in starts
        if content[start + 8 : start + 16] == salts
        and int.from_bytes(content[start + 4 : start + 8], "big")
    ]
