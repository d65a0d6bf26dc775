"""Connections to PostgreSQL, each set up alike."""

from __future__ import annotations

from contextlib import closing

import pytest
from psycopg.conninfo import conninfo_to_dict

from gateway.errors import StoreError
from gateway.store.postgres import pool
from gateway.store.postgres.database import Database
from gateway.store.postgres.pipeline import Raw


def test_a_connections_parameters_are_the_addresss_and_ours() -> None:
    found = conninfo_to_dict(pool.conninfo(Database(url="postgresql://ann@db.example/threads")))
    assert (found["host"], found["dbname"], found["user"]) == ("db.example", "threads", "ann")
    assert found["application_name"]


def test_a_sessions_settings_name_its_node_and_leave_what_the_address_sets() -> None:
    url = "postgresql://db.example/threads?options=-c%20lock_timeout%3D5"
    _, (names, values) = pool.setting(Database(url=url), "boot")
    settings = dict(zip(names, values, strict=True))
    assert settings["application_name"].endswith(" boot")
    assert "statement_timeout" in settings
    assert "lock_timeout" not in settings


async def test_a_connection_is_set_up_for_its_node(postgres_url: str) -> None:
    database = Database(url=postgres_url)
    with closing(pool.connect(database, "boot")) as raw:
        [(boot,)] = raw.execute("SELECT current_setting('parley.boot')").fetchall()
        assert boot == "boot"
        assert raw.autocommit
        assert pool.set_up(raw, database, "other") is False
        pool.refuse_lent(raw, database)
    found = pool.open_pool(database, "boot")
    try:
        with found.connection() as raw:
            assert isinstance(raw, Raw)
            [(boot,)] = raw.execute("SELECT current_setting('parley.boot')").fetchall()
            assert boot == "boot"
    finally:
        found.close()


class Lent:
    """A connection whose sessions are another one at each transaction."""

    def __init__(self) -> None:
        self.number = 0

    def execute(self, *args: object) -> Lent:
        self.number += 1
        return self

    def fetchall(self) -> list[tuple[int]]:
        return [(self.number,)]

    def fetchone(self) -> tuple[int]:
        return (self.number,)


async def test_sessions_that_are_lent_for_a_transaction_are_refused(postgres_url: str) -> None:
    with pytest.raises(StoreError):
        pool.refuse_lent(Lent(), Database(url=postgres_url))  # type: ignore[arg-type]
