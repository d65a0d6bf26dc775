"""The schema of the store, and its later versions.

Nodes that start together wait for each other: one of them makes or changes the tables.
"""

from __future__ import annotations

from psycopg import RawCursor
from psycopg.errors import UndefinedTable

from gateway.errors import StoreError, StoreNotUpgraded, StoreTooNew
from gateway.store.formats import BASE, check_upgradable, newest_format, script, upgrades
from gateway.store.postgres.database import OF_SCHEMA
from gateway.store.postgres.dialect import declared
from gateway.store.postgres.errors import place_of
from gateway.store.postgres.jobs import install_jobs
from gateway.store.postgres.pipeline import Raw

_LOCK = f"SELECT pg_advisory_lock(hashtextextended('parley upgrade', {OF_SCHEMA}))"
_UNLOCK = f"SELECT pg_advisory_unlock(hashtextextended('parley upgrade', {OF_SCHEMA}))"
_HAS_SCHEMA = "SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)"


def version_of(raw: Raw) -> int:
    """The version of the store, 0 if there is none yet.

    It is below 0 while the store is copied to here.
    """
    try:
        rows = RawCursor(raw).execute("SELECT version FROM store").fetchall()
    except UndefinedTable:
        return 0
    return rows[0][0]


def known_version(raw: Raw, url: str) -> int:
    """The store's version.

    Raises StoreTooNew for one from the future, StoreTooOld for one before OLDEST, and StoreError
    for a copy that is not complete.
    """
    version, newest = version_of(raw), newest_format()
    if version < 0:
        raise StoreError(
            f"The store in {place_of(url)} is a copy that is not complete: `parley store copy` goes"
            " on with it."
        )
    if version > newest:
        raise StoreTooNew(
            f"The store in {place_of(url)} was made by a newer version of Parley (format {version},"
            f" this one knows {newest}). Update Parley on this machine."
        )
    if version:
        check_upgradable(version, f"store in {place_of(url)}")
    return version


def check_up_to_date(version: int, url: str) -> None:
    """Raise StoreNotUpgraded for the tables of an earlier version."""
    if version < newest_format():
        raise StoreNotUpgraded(
            f"The store in {place_of(url)} has the tables of an earlier version of Parley (format"
            f" {version}, this one has {newest_format()}). End the processes of that version, and"
            " start `parley serve` of this one: it brings them up to date."
        )


def bring_up_to_date(raw: Raw, url: str, schema: str = "") -> None:
    """Make the store, or apply what is missing.

    Raises StoreTooNew or StoreTooOld.

    With a `schema`, that is made, too.

    Each step is one transaction, with the version that it makes.
    """
    raw.execute("SET statement_timeout = 0")
    raw.execute("SET lock_timeout = 0")
    raw.execute(_LOCK.encode())
    try:
        if schema and not RawCursor(raw).execute(_HAS_SCHEMA, [schema]).fetchall()[0][0]:
            raw.execute(f'CREATE SCHEMA "{schema}"'.encode())
        version = known_version(raw, url)
        steps = {} if version else {BASE: _schema()}
        steps |= {n: declared(text) for n, text in upgrades().items() if n > (version or BASE)}
        for number, step in steps.items():
            with raw.transaction():
                raw.execute(step.encode())
                RawCursor(raw).execute("UPDATE store SET version = $1", [number])
        install_jobs(raw)
    finally:
        if not raw.broken:
            raw.execute(_UNLOCK.encode())
            raw.execute("RESET statement_timeout")
            raw.execute("RESET lock_timeout")


def _schema() -> str:
    return declared(script("schema.sql")) + script("postgres/triggers.sql")
