"""Copies of the store: from files to a database, and back."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from pydantic import SecretStr

from gateway.app.operator import number
from gateway.app.stores import NEEDS_EXTRA, AnyStore, work_limits_of
from gateway.base.database_url import database_place
from gateway.base.exit_codes import ExitCode
from gateway.base.redaction import REDACTION, secrets_in
from gateway.config.settings import StoreConfig
from gateway.errors import GatewayError, NotFound
from gateway.store.copying import Copy, CopyFiles, CopyReport, Step
from gateway.store.postgres.database import Database
from gateway.store.sqlite import copying as files
from gateway.store.sqlite.store import SqliteStore
from gateway.store.tables import Tables
from gateway.store.units import audit
from gateway.values import value

VARIABLE = "PARLEY_STORE_URL"
"""The name of a variable for the address of the store's database."""

_COUNTED = (("threads", "thread"), ("inbox", "message"), ("events", "event"))


class WrongPlace(GatewayError):
    """A copy can't be made there; nothing was done."""

    exit_code = ExitCode.USAGE


@value
class CopyTarget:
    """Where a copy is made."""

    place: Database | Path
    setting: str
    """The line in [store] that names it."""
    shows_password: bool = False
    """Its address, with a password, is on the command line."""


def copy_target(
    text: str | None, *, variable: str | None, file: Path | None, settings: StoreConfig
) -> CopyTarget:
    """The place that a text, a variable or a file names.

    It is the address of a database, or a folder. The settings have limits of work folders. Raises
    WrongPlace.
    """
    if variable is not None:
        said, setting = os.environ.get(variable, ""), f"url_env = {json.dumps(variable)}"
    elif file is not None:
        said = file.read_text("utf-8").strip()
        setting = f"url_file = {json.dumps(str(file.absolute()))}"
    else:
        said, setting = text or "", f'url_env = "{VARIABLE}"  # the variable has the address'
    if not said:
        raise WrongPlace(f"No copy is named{f': {variable} is not set' if variable else ''}.")
    if "://" not in said:
        folder = Path(said).absolute()
        return CopyTarget(place=folder, setting=f"folder = {json.dumps(str(folder))}")
    hidden = [*secrets_in(SecretStr(said))]
    REDACTION.add(hidden)
    try:
        database_place(said)
    except ValueError as error:
        raise WrongPlace(f"The address of the database is wrong: {error}.") from None
    shown = text is not None and len(hidden) > 1
    database = Database(
        url=said,
        work=work_limits_of(settings),
        failover=settings.failover_seconds,
    )
    return CopyTarget(place=database, setting=setting, shows_password=shown)


async def copy_store(store: AnyStore, to: CopyTarget, tell: Callable[[Step], None]) -> str:
    """Copy the store, or go on with a begun copy; the report.

    Nobody may use either of them. `tell` is called in a worker. Raises GatewayError.
    """
    _require_other_kind(store, to.place)
    async with store.own(alone=True), _ends(store, to.place) as (source, target, files):
        report = await _run(Copy(source, target, tell=tell, files=files, clock=store.clock))
        await store.run(audit.note, "store.copied", object=target.name, outcome="copy")
    told = _report(report, source.name, target.name, store.folder)
    instead = " in the place of `url` and `folder`" if isinstance(to.place, Path) else ""
    lines = f"    [store]\n    {to.setting}\n"
    return f"{told}\nTo use the copy, put this into config.toml{instead}:\n\n{lines}"


def _require_other_kind(store: AnyStore, place: Database | Path) -> None:
    """Raise WrongPlace where another command copies better."""
    if isinstance(store, SqliteStore) and isinstance(place, Path):
        raise WrongPlace(
            "The store is in files already. `parley store backup` copies it, and `parley store"
            " restore` puts the copy in another folder."
        )
    if not isinstance(store, SqliteStore) and isinstance(place, Database):
        raise WrongPlace(
            "The store is in PostgreSQL already. `pg_dump` and `pg_restore` copy it to another"
            " database."
        )
    if isinstance(place, Path) and place.resolve() == store.folder.resolve():
        raise WrongPlace(f"{place} is the `folder` in [store]. Name another one for the copy.")
    if isinstance(store, SqliteStore) and not store.path.exists():
        raise NotFound(f"There is no store at {str(store.folder)!r} yet.")


@asynccontextmanager
async def _ends(
    store: AnyStore, place: Database | Path
) -> AsyncGenerator[tuple[Tables, Tables, CopyFiles]]:
    """Tables of an owned store and its copy, and their work folders."""
    try:
        from gateway.store.postgres import copied_work, copying  # an extra
    except ImportError as error:
        raise GatewayError(NEEDS_EXTRA) from error

    if isinstance(store, SqliteStore):
        assert isinstance(place, Database)
        with files.tables_of(store.path) as source, copying.new_tables(place) as database:
            there = partial(copied_work.store_folders, database, store.folder, place)
            yield source, database, lambda step: asyncio.run(there(step))
    else:
        assert isinstance(place, Path)
        with copying.tables_of(store.database) as database:
            async with files.new_tables(place) as target:
                node = store.folder
                back = partial(copied_work.load_folders, database, node, place, store.database)
                yield database, target, lambda step: asyncio.run(back(step))


async def _run(copy: Copy) -> CopyReport:
    """Run it in a worker, which ends when this is cancelled."""
    with ThreadPoolExecutor(1, "parley-copy") as worker:
        try:
            return await asyncio.get_running_loop().run_in_executor(worker, copy.run)
        except asyncio.CancelledError:
            copy.end()
            raise


def _report(report: CopyReport, source: str, target: str, folder: Path) -> str:
    counts = ", ".join(number(report.rows.get(table, 0), noun) for table, noun in _COUNTED)
    rows = number(sum(report.rows.values()), "row")
    lines = [f"Copied {source} to {target}: {counts}. All {rows} were compared."]
    if report.replaced:
        texts = number(report.replaced, "text")
        lines.append(f"The character NUL in {texts} is \u2400 there: PostgreSQL keeps none.")
    if report.left_out:
        left = number(report.left_out, "file")
        lines.append(f"{left} of work folders that no database takes: in {folder} alone.")
    if report.faults:
        faults = number(len(report.faults), "fault")
        lines.append(f"The store has {faults}, and the copy the same: see `parley store check`.")
    lines.append("The store itself is as it was.")
    return "\n".join(lines)
