"""Versions of the store on PostgreSQL."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from psycopg.rows import dict_row

from gateway.errors import StoreNotUpgraded, StoreTooNew, StoreTooOld
from gateway.store.formats import LAST_UPGRADE, OLDEST, newest_format
from gateway.store.postgres.database import Database
from gateway.store.postgres.store import PostgresStore
from gateway.store.units import nodes, people, threads

NEWEST = newest_format()
SAMPLE = Path(f"tests/data/stores/postgres-{OLDEST}.sql")


CATALOG = (
    """SELECT table_name, column_name, data_type, column_default, is_nullable, collation_name,
     is_identity FROM information_schema.columns WHERE table_schema = 'public'""",
    "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
    """SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
     WHERE connamespace = 'public'::regnamespace""",
    """SELECT tgrelid::regclass::text, pg_get_triggerdef(oid), tgenabled::text FROM pg_trigger
     WHERE NOT tgisinternal""",
    """SELECT proname, pg_get_functiondef(oid) FROM pg_proc
     WHERE pronamespace = 'public'::regnamespace AND prokind = 'f'""",
    """SELECT relname, relkind::text, relpersistence::text, array_to_string(reloptions, ',')
     FROM pg_class WHERE relnamespace = 'public'::regnamespace""",
    "SELECT viewname, definition FROM pg_views WHERE schemaname = 'public'",
    """SELECT sequencename, data_type::text, increment_by, min_value, max_value FROM pg_sequences
     WHERE schemaname = 'public'""",
)


def catalog(url: str) -> list[set[tuple[object, ...]]]:
    """A store's tables, without the order of their columns."""
    with psycopg.connect(url) as connection:
        return [set(connection.execute(query).fetchall()) for query in CATALOG]


@pytest.fixture
def sample(new_database: Callable[[str], str]) -> str:
    """The address of a store of the oldest format that is upgraded."""
    url = new_database("earlier")
    with psycopg.connect(url) as connection:
        connection.execute(SAMPLE.read_bytes())
    return url


ORDERS = {
    **dict.fromkeys(("threads", "turns", "inbox", "requests", "audit"), "id"),
    "events": "thread, seq",
    "checkpoints": "thread, n",
}
"""Tables that the sample has rows in, and what orders them."""


def rows(url: str) -> dict[str, list[dict[str, object]]]:
    """Rows of tables that the sample has some in, in order."""
    with psycopg.connect(url) as connection, connection.cursor(row_factory=dict_row) as cursor:
        return {
            table: cursor.execute(f"SELECT * FROM {table} ORDER BY {order}".encode()).fetchall()
            for table, order in ORDERS.items()
        }


async def test_a_new_store_has_the_tables_of_one_that_was_upgraded(
    sample: str, postgres_url: str, tmp_path: Path
):
    async with PostgresStore(Database(url=sample), tmp_path / "node").own():
        pass
    assert catalog(sample) == catalog(postgres_url)


async def test_an_upgrade_keeps_every_row(sample: str, tmp_path: Path):
    before = rows(sample)
    assert all(before.values())
    store = PostgresStore(Database(url=sample), tmp_path / "node")
    async with store.own():
        assert sorted(each.title for each in await store.run(threads.threads)) == [
            "Deleting",
            "Greetings",
        ]
    after = rows(sample)
    for table, kept in before.items():
        assert [old | new for old, new in zip(kept, after[table], strict=True)] == after[table]
        assert [new | old for old, new in zip(kept, after[table], strict=True)] == after[table]


async def owned(store: PostgresStore) -> None:
    async with store.own():
        pass


@pytest.mark.parametrize("use", ["read", "own"])
async def test_a_store_that_is_too_old_is_refused_and_names_the_commit(
    sample: str, tmp_path: Path, use: str
):
    with psycopg.connect(sample) as connection:
        connection.execute("UPDATE store SET version = %s", [OLDEST - 1])
    store = PostgresStore(Database(url=sample), tmp_path / "node")
    said = rf"The store in .* \(format {OLDEST - 1}, .* at commit {LAST_UPGRADE}, which upgrades"
    with pytest.raises(StoreTooOld, match=said):
        await (store.run(threads.threads) if use == "read" else owned(store))
    with psycopg.connect(sample) as connection:
        assert connection.execute("SELECT version FROM store").fetchall() == [(OLDEST - 1,)]


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
        await store.run(threads.threads)
    with pytest.raises(StoreTooNew):
        async with store.own():
            pass


async def test_tables_that_are_still_those_of_an_earlier_version_are_said(sample, tmp_path):
    store = PostgresStore(Database(url=sample), tmp_path)
    assert await store.run(people.people) == []
    with pytest.raises(StoreNotUpgraded, match=f"format {OLDEST}, this one has {NEWEST}"):
        await store.run(nodes.nodes)
