"""Findings of `parley check` about a store's database."""

import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from urllib.parse import quote, urlsplit

import psycopg
import pytest

from gateway.app.database import check_database
from gateway.app.findings import Finding
from gateway.app.stores import NEEDS_EXTRA
from gateway.config.root import Config
from gateway.errors import StoreError
from gateway.store.connection import Connection
from gateway.store.postgres.database import Database
from gateway.store.postgres.store import PostgresStore
from tests.fakes.postgres_server import PostgresServer
from tests.fakes.transaction_pooler import pooled

LENT = "behind a pooler that gives each transaction another session"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer({"fsync": "on"}) as server:
        yield server


async def found(url: str, *, offline: bool = False, **settings: int) -> list[Finding]:
    config = Config.model_validate({"store": {"url": url, **settings}})
    findings = await check_database(config, offline=offline)
    assert str(urlsplit(url).password) not in str(findings)
    return findings


async def faults(url: str, **settings: int) -> str:
    """The one fault that is found."""
    [finding] = await found(url, offline=False, **settings)
    assert not finding.good
    return finding.text


def run(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode())


def named(url: str, database: str) -> str:
    """The address of another database of the server."""
    return urlsplit(url)._replace(path=f"/{database}").geturl()


@contextmanager
def altered(server: PostgresServer, whom: str, setting: str, back: str) -> Generator[None]:
    """A setting of the database or the role, within the context."""
    admin = named(server.admin_url, "postgres")  # which no test alters
    run(admin, f"ALTER {whom} parley {setting}")
    try:
        yield
    finally:
        run(admin, f"ALTER {whom} parley {back}")


async def test_a_database_that_a_store_can_use_tells_its_place_and_version(server):
    [finding] = await found(server.url)
    assert finding.good
    place = f"parley at 127.0.0.1:{server.port}"
    assert finding.text.startswith(f"{place}, PostgreSQL 18."), finding.text


async def test_without_an_address_or_the_network_nothing_is_asked():
    assert await check_database(Config(), offline=False) == []
    assert await found("postgresql://u:pass-word@nowhere.invalid/x", offline=True) == []


async def test_without_the_extra_its_name_is_told_offline_too(monkeypatch):
    monkeypatch.setitem(sys.modules, "gateway.store.postgres.probe", None)  # as without psycopg
    [finding] = await found("postgresql://u:pass-word@nowhere.invalid/x", offline=True)
    assert (finding.good, finding.text) == (False, NEEDS_EXTRA)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"netloc": "parley:pass-word@127.0.0.1:1"},
            "parley at 127.0.0.1:1 can't be reached: Conn",
        ),
        ({"path": "/nothing"}, "can't be reached: database ... does not exist."),
        (
            {"user": "nobody:pass-word"},
            "can't be reached: password authentication failed for user ....",
        ),
    ],
    ids=["nobody listens", "no such database", "refused"],
)
async def test_a_database_that_can_not_be_reached_says_why(server, change, said):
    address = urlsplit(server.url)
    if user := change.pop("user", ""):
        change = {"netloc": f"{user}@{address.netloc.rpartition('@')[2]}"}
    assert said in await faults(address._replace(**change).geturl())


async def test_settings_that_may_lose_messages_are_warned_of(server):
    with altered(server, "DATABASE", "SET synchronous_commit = off", "RESET ALL"):
        good, warned = await found(server.url)
    assert good.good
    assert warned.good
    assert warned.text.startswith("warning: synchronous_commit is off: if the database crashes")


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("default_transaction_isolation = 'serializable'", "'serializable', expected 'read comm"),
        ("default_transaction_read_only = on", "it takes no writes"),
    ],
)
async def test_settings_that_break_transactions_are_faults(server, setting, said):
    with altered(server, "DATABASE", f"SET {setting}", "RESET ALL"):
        assert said in await faults(server.url)


async def test_texts_need_a_database_in_utf8(server):
    latin = "ENCODING 'LATIN1' LOCALE 'C' LOCALE_PROVIDER libc TEMPLATE template0"
    run(server.url, f"CREATE DATABASE latin {latin}")
    assert "its encoding is LATIN1, and texts need UTF8" in await faults(named(server.url, "latin"))


async def test_a_role_without_rights_is_told_what_it_lacks(server):
    run(server.admin_url, "CREATE DATABASE others")
    others = named(server.url, "others")
    assert "may not create tables in the schema public" in await faults(others)
    admin = named(server.admin_url, "others")
    run(admin, "CREATE TABLE threads (id TEXT)")
    assert "does not own the store's tables in the schema public" in await faults(others)
    run(admin, "ALTER TABLE threads OWNER TO parley")
    [finding] = await found(others)
    assert finding.good


async def test_the_pool_fits_into_what_the_server_allows(server):
    assert "lower `pool_size`" in await faults(server.url, pool_size=500)
    with altered(server, "ROLE", "CONNECTION LIMIT 10", "CONNECTION LIMIT -1"):
        assert "10 connections are left for Parley, expected 11" in await faults(server.url)


async def test_a_pooler_that_gives_each_transaction_a_session_is_found(server):
    async with pooled(server.url) as url:
        assert LENT in await faults(url)


async def test_a_node_refuses_such_a_pooler_too(server, tmp_path):
    async with pooled(server.url) as url:
        with pytest.raises(StoreError, match=LENT):
            async with PostgresStore(Database(url=url), tmp_path).own():
                pass


async def test_nothing_is_written_in_a_session_that_is_not_this_nodes(postgres_url, tmp_path):
    lose = "SELECT set_config('parley.boot', 'another', FALSE)"
    store = PostgresStore(Database(url=postgres_url, pool_size=1), tmp_path)
    async with store.own():
        await store.read(lambda connection: connection.fetch(lose))
        with pytest.raises(StoreError, match=LENT):
            await store.write(lambda connection: connection.execute("DELETE FROM threads"))
        with pytest.raises(StoreError, match=LENT):
            await store.probe()


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ("", ("20s", "off")),
        ("-c statement_timeout=7s", ("7s", "off")),
        ("--statement-timeout=7s -cJIT=on", ("7s", "on")),
    ],
)
async def test_options_of_the_address_come_before_the_settings_of_a_session(
    postgres_url, tmp_path, options, kept
):
    def both(connection: Connection) -> tuple[str, str]:
        shown = "SELECT current_setting('statement_timeout'), current_setting('jit')"
        return connection.fetch(shown)[0][:2]

    store = PostgresStore(Database(url=f"{postgres_url}?options={quote(options)}"), tmp_path)
    assert await store.read(both) == kept
    async with store.own():
        assert await store.read(both) == kept
