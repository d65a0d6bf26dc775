"""The store that a config names: files, or a database."""

from __future__ import annotations

from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, TypeAlias

from gateway.app.load import LoadedConfig
from gateway.base.database_url import PORT, DatabasePlace
from gateway.base.exit_codes import ExitCode
from gateway.base.paths import store_folder
from gateway.config.root import Config
from gateway.config.settings import StoreConfig
from gateway.errors import GatewayError
from gateway.store.postgres.database import Database
from gateway.store.product import Product
from gateway.store.sqlite.store import SqliteStore
from gateway.store.work.contents import WorkLimits

if TYPE_CHECKING:
    from gateway.store.postgres.store import PostgresStore  # an extra

AnyStore: TypeAlias = "SqliteStore | PostgresStore"

NEEDS_EXTRA = (
    "A store in PostgreSQL needs what the extra `postgres` brings: pip install "
    "'parley-gateway[postgres]'"
)


_INSTEAD = {
    "backup": "Let PostgreSQL copy it, whether Parley runs or not:",
    "restore": "End Parley on every machine, then let PostgreSQL put the copy in its place:",
    "repair": "Restore the last good copy of the database. With Parley ended:",
}
RESTORED = (
    "INSERT INTO marks (platform, name, value) VALUES ('gateway', 'restored', '0')"
    " ON CONFLICT DO NOTHING"
)
"""Lets the next start know that the database is an earlier one."""


class StoreInDatabase(GatewayError):
    """A command for files, with a text that says what replaces it."""

    exit_code = ExitCode.USAGE


def folder_of(config: Config) -> Path:
    """The folder of the store's lock, its socket and its files."""
    return config.store.folder or store_folder()


def database_of(config: Config) -> Database | None:
    """The database that the config names, if any."""
    settings = config.store
    if settings.url is None:
        return None
    return Database(
        url=settings.url.get_secret_value(),
        pool_size=settings.pool_size,
        work=work_limits_of(settings),
        failover=settings.failover_seconds,
        schema=settings.schema_,
    )


def work_limits_of(settings: StoreConfig) -> WorkLimits:
    """Limits of what the store keeps of work folders."""
    return WorkLimits(
        file_mb=settings.file_mb, work_mb=settings.work_mb, fork_turns=settings.fork_turns
    )


def product_of(loaded: LoadedConfig) -> Product:
    """The product that a config is of."""
    ids = (
        f"{each.platform}: {ident}"
        for each in loaded.adapters.values()
        for ident in each.config.app_ids
    )
    return Product(name=loaded.config.store.name, ids=frozenset(ids))


def place_of(store: AnyStore) -> str:
    """Where the store is, for people."""
    return str(store.path if isinstance(store, SqliteStore) else store.place)


def files_of(store: AnyStore, command: str, path: Path | None = None) -> SqliteStore:
    """The store as files, for a command that copies or mends them.

    Raises StoreInDatabase with what to use instead, for the same copy at `path`.
    """
    if isinstance(store, SqliteStore):
        return store
    place, copy, schema = store.place, str(path or "parley.dump"), store.database.schema
    backs_up = command == "backup"
    lines = [_dump(place, copy, schema)] if backs_up else _restore(place, copy, schema)
    listed = "".join(f"    {line}\n" for line in lines)
    raise StoreInDatabase(
        f"`parley store {command}` is for a store in files, and this one is the PostgreSQL "
        f"database {place}. {_INSTEAD[command]}\n\n{listed}\n"
        "USER is the role of `url` in [store]; its password is asked for."
    )


def _dump(place: DatabasePlace, copy: str, schema: str) -> str:
    of_schema = [f"--schema={schema}"] if schema else []
    return join(["pg_dump", "--format=custom", f"--file={copy}", *of_schema, *_server(place)])


def _restore(place: DatabasePlace, copy: str, schema: str) -> list[str]:
    restored = RESTORED.replace(" marks ", f" {schema}.marks ") if schema else RESTORED
    options = ["--clean", "--if-exists", "--single-transaction"]
    return [
        join(["pg_restore", *options, *_server(place), copy]),
        f'{join(["psql", *_server(place)])} --command="{restored}"',
    ]


def _server(place: DatabasePlace) -> list[str]:
    """The options by which PostgreSQL's programs find the database."""
    host, port = place.host.partition(",")[0], place.port.partition(",")[0]
    server = [f"--host={host.strip('[]')}"] if host else []
    server += [f"--port={port}"] if port != PORT else []
    return [*server, "--username=USER", f"--dbname={place.name}"]
