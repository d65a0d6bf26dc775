"""Versions of the store on PostgreSQL."""

import asyncio
from importlib.resources import files
from pathlib import Path

import psycopg
import pytest

from gateway.errors import StoreTooNew, StoreTooOld
from gateway.store.postgres.database import Database
from gateway.store.postgres.migrate import BASE, migrations, newest_version
from gateway.store.postgres.store import PostgresStore
from gateway.store.sqlite.migrate import migrations as sqlite_migrations

NEWEST = newest_version()


def test_both_databases_have_the_same_versions():
    assert [*migrations()] == [n for n in sorted(sqlite_migrations()) if n > BASE]
    assert max(sqlite_migrations()) == max(migrations(), default=BASE)


async def test_nodes_that_start_together_make_the_store_once(new_database, tmp_path):
    database = Database(url=new_database("shared"))
    stores = [PostgresStore(database, tmp_path / f"node{n}") for n in range(3)]

    async def start(store: PostgresStore) -> None:
        async with store.own():
            await store.probe()

    async with asyncio.timeout(20):
        await asyncio.gather(*map(start, stores))


async def test_a_store_of_a_newer_version_is_refused(postgres_url: str, tmp_path: Path):
    store = PostgresStore(Database(url=postgres_url), tmp_path)
    async with store.own():
        await store.write(lambda c: c.execute("UPDATE store SET version = version + 1"))
    with pytest.raises(StoreTooNew, match=f"format {NEWEST + 1}, this one knows {NEWEST}"):
        await store.threads()
    with pytest.raises(StoreTooNew):
        async with store.own():
            pass


async def test_tables_that_are_still_those_of_an_earlier_version_are_said(new_database, tmp_path):
    url = new_database("earlier")
    with psycopg.connect(url) as connection:
        connection.execute((files("gateway.store.postgres") / "schema.sql").read_bytes())
        connection.execute("UPDATE store SET version = %s", [BASE])
    store = PostgresStore(Database(url=url), tmp_path)
    assert await store.people() == []
    with pytest.raises(StoreTooOld, match=f"format {BASE}, this one has {NEWEST}"):
        await store.nodes()
