"""A tablespace of PostgreSQL's that is really full."""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from gateway.errors import GatewayError, StoreFull
from gateway.gateway import Gateway
from gateway.store.postgres.database import Database
from gateway.store.postgres.store import PostgresStore
from tests.fakes.postgres_server import PostgresServer
from tests.gateway.scripted import Door, ScriptedTeams, calls, ends, model, solo, until
from tests.gateway.store.test_last_writes import FULL, LARGE, WELL, said, watched

pytestmark = pytest.mark.chaos

SMALL = "size=24m"


@contextmanager
def mounted(folder: Path) -> Generator[Path]:
    """A small file system for `nobody`, as whom a root's server runs."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", SMALL, "tmpfs", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no file system of its own can be had: {done.stderr.strip()}")
    try:
        os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def small() -> Iterator[tuple[str, Path]]:
    """A database on a small file system, and a filling file."""
    with PostgresServer() as server, mounted(server.folder / "small") as folder:
        (server.folder / "small").chmod(0o700)
        with psycopg.connect(server.admin_url, autocommit=True) as admin:
            admin.execute(f"CREATE TABLESPACE small LOCATION '{folder}'".encode())
            admin.execute(b"CREATE DATABASE small OWNER parley TABLESPACE small")
        yield server.url.removesuffix("parley") + "small", folder / "filler"
        server.stop(immediate=True)


def fill(filler: Path) -> None:
    with filler.open("wb", buffering=0) as file:
        try:
            while file.write(b"\1" * 4096):
                pass
        except OSError:
            return


async def refusal(gateway: Gateway, number: int) -> type[GatewayError] | None:
    """The error by which a message is refused, if it is."""
    try:
        await gateway.accept(said(number))
    except GatewayError as error:
        return type(error)
    return None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small file system")
async def test_a_full_tablespace_is_told_by_every_instrument_and_costs_no_second_answer(
    small, tmp_path, monkeypatch
):
    monkeypatch.setattr("gateway.sessions.lanes.LONGEST_RETRY", 0.05)
    url, filler = small
    store = PostgresStore(Database(url=url), tmp_path)
    monkeypatch.setattr("tests.gateway.store.test_last_writes.new_store", lambda _: store)
    door, shared = Door(), model("yes", calls("slow"), LARGE, LARGE, LARGE)

    async def slow() -> str:
        await door.pass_through()
        return "done"

    teams = ScriptedTeams(lambda: solo(shared, tools=[slow], messages=2))
    async with watched(tmp_path, teams) as (gateway, look):
        thread = (await gateway.accept(said(1, "hello"))).thread
        last = (await until(gateway, thread, ends))[-1].seq
        await gateway.accept(said(2, "hello"))
        await door.reached.wait()
        fill(filler)
        assert await look() == WELL
        refusals = [await refusal(gateway, number) for number in range(3, 40)]
        assert StoreFull in refusals
        assert await look() == FULL
        door.open()
        seen = set[int]()
        for _ in range(20):
            assert await look() == FULL
            seen.add(len(shared.create_calls))
        assert max(seen) <= 3
        filler.unlink()
        await until(gateway, thread, ends, last)
        assert await look() == WELL
        await gateway.accept(said(500))
