"""A store behind a real PgBouncer, in each of its modes."""

import asyncio
from pathlib import Path
from time import monotonic

import psycopg
import pytest
from click.testing import CliRunner

from gateway.adapter import AdapterHost
from gateway.app.database import check_database
from gateway.base.exit_codes import ExitCode
from gateway.cli import main
from gateway.config.root import Config
from gateway.errors import StoreError
from gateway.gateway import Gateway
from gateway.store.connection import Connection
from gateway.store.postgres import pool
from gateway.store.postgres.database import Database
from gateway.store.postgres.store import PostgresStore
from gateway.store.units import nodes
from tests.fakes.pgbouncer import bounced, needs_pgbouncer
from tests.fakes.scripted_platform import Platform, installed
from tests.gateway.journeys.test_database import SAID, SERVED, gateway_on
from tests.gateway.scripted import ends, until

pytestmark = [needs_pgbouncer, pytest.mark.usefixtures("postgres_run")]

SECOND = 0.5
TWO_MINUTES = 120
"""Seconds in which PgBouncer itself refuses: its query_wait_timeout."""
SETTINGS = ("application_name", "jit", "parley.boot", "parley.schema", "statement_timeout")
LENT = "behind a pooler that gives each transaction another session (PgBouncer with pool_mode"


async def checked(url: str) -> list[tuple[bool, str]]:
    config = Config.model_validate({"store": {"url": url}})
    return [(each.good, each.text) for each in await check_database(config, offline=False)]


def settings(connection: Connection) -> list[str]:
    return [
        connection.fetch("SELECT current_setting(:name, TRUE)", {"name": name})[0][0]
        for name in SETTINGS
    ]


async def talk(gateway: Gateway) -> None:
    receipt = await gateway.accept(SAID)
    await until(gateway, receipt.thread, ends)


@pytest.mark.parametrize("more", [(), ("application_name_add_host = 1",)])
async def test_sessions_that_last_have_their_settings_and_carry_a_conversation(
    tmp_path, postgres_url, more
):
    with bounced(postgres_url, "session", *more) as url:
        told = await checked(url)
        assert [good for good, _ in told] == [True] * len(told)
        room = "warning: a pooler is between: let it keep a session for each of the 11 connections"
        assert room in "\n".join(text for _, text in told)
        store = PostgresStore(Database(url=url), tmp_path / "store")
        async with gateway_on(store) as gateway:
            await talk(gateway)
            [node] = await store.run(nodes.nodes)
            boot = node.node.boot
            assert await store.read(settings) == [f"parley {boot}", "off", boot, None, "20s"]


async def test_a_schema_is_found_behind_a_pooler(tmp_path, new_database):
    with bounced(new_database("of_two"), "session") as url:
        store = PostgresStore(Database(url=url, schema="second"), tmp_path / "store")
        async with gateway_on(store) as gateway:
            await talk(gateway)
            assert (await store.read(settings))[3] == "second"
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT COUNT(*) FROM second.threads").fetchone() == (1,)


async def test_options_of_the_address_that_a_pooler_refuses_are_told(postgres_url):
    with bounced(postgres_url, "session") as url:
        [(good, text)] = await checked(f"{url}?options=-c%20statement_timeout%3D1000")
    assert not good
    assert "unsupported startup parameter: options" in text


@pytest.mark.parametrize("mode", ["transaction", "statement"])
@pytest.mark.parametrize("more", [(), ("server_round_robin = 1", "min_pool_size = 2")])
async def test_sessions_that_are_lent_are_refused_by_check_and_by_a_node(
    tmp_path, postgres_url, mode, more
):
    with bounced(postgres_url, mode, *more) as url:
        for _ in range(2):  # the second one finds sessions that the first one has left
            [(good, text)] = await checked(url)
            assert not good
            assert LENT in text
            with pytest.raises(StoreError) as refused:
                async with PostgresStore(Database(url=url), tmp_path / "store").own():
                    pass
            assert str(refused.value) == text
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        locks = (
            "SELECT COUNT(*) FROM pg_locks JOIN pg_database ON database = pg_database.oid "
            "WHERE locktype = 'advisory' AND datname = current_database()"
        )
        async with asyncio.timeout(10):  # the server notices that the pooler has gone
            while connection.execute(locks).fetchone() != (0,):  # noqa: ASYNC110 (it tells nobody)
                await asyncio.sleep(0.02)


async def test_a_pooler_with_one_session_is_refused_within_the_time_of_a_check(
    tmp_path, postgres_url, monkeypatch
):
    monkeypatch.setattr(pool, "SECOND", SECOND)
    with bounced(postgres_url, "session", "default_pool_size = 1") as url:
        began = monotonic()
        [(good, text)] = await checked(url)
        with pytest.raises(StoreError) as refused:
            async with PostgresStore(Database(url=url), tmp_path / "store").own():
                pass
        assert monotonic() - began < TWO_MINUTES / 2
    assert not good
    assert "gives no second session while one is open" in text
    assert str(refused.value) == text


async def never(host: AdapterHost) -> None:
    raise AssertionError(host)


@pytest.mark.usefixtures("fresh_imports")
def test_serve_ends_with_the_sentence_of_check(tmp_path, monkeypatch, postgres_url):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PARLEY_CONFIG", "config.toml")
    with bounced(postgres_url, "transaction") as url:
        monkeypatch.setenv("ADDRESS", url)
        Path("config.toml").write_text(f"[store]\nfolder = 's'\nurl_env = 'ADDRESS'\n{SERVED}")
        [(_, sentence)] = asyncio.run(checked(url))
        with installed(Platform(never)):
            ended = CliRunner().invoke(main, ["serve"])
    assert ended.exit_code == ExitCode.FAILED
    assert sentence in ended.output
