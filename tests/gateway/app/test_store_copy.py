"""`parley store copy`: to a database and back, and what it refuses."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner, Result

from gateway.app.store_copy import copy_store, copy_target
from gateway.base.exit_codes import ExitCode
from gateway.cli import main
from gateway.config.settings import StoreConfig
from gateway.store.copying import Step
from gateway.store.lock import StoreLock
from gateway.store.sqlite.store import FILE, SqliteStore
from gateway.store.units import threads
from tests.fakes.full_store import fill_store

pytestmark = pytest.mark.usefixtures("fresh_imports")
VARIABLE = "A_STORE_URL"


def parley(*command: str) -> Result:
    return CliRunner().invoke(main, command)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a config."""
    monkeypatch.chdir(tmp_path)
    configure(tmp_path, "folder = 'store'")
    return tmp_path


@pytest.fixture
def url(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(VARIABLE, postgres_url)
    return postgres_url


def configure(folder: Path, *lines: str) -> None:
    (folder / "config.toml").write_text("\n".join(["[store]", *lines]))


def copied(folder: Path) -> list[tuple[str, str]]:
    query = "SELECT object, outcome FROM audit WHERE what = 'store.copied' ORDER BY id"
    with closing(sqlite3.connect(folder / FILE)) as raw:
        return raw.execute(query).fetchall()


def test_a_store_goes_to_a_database_and_back_as_the_command_says(folder, url):
    asyncio.run(fill_store(folder / "store"))
    there = parley("store", "copy", "--to-env", VARIABLE)
    assert there.exit_code == ExitCode.DONE, there.output
    place = f"{urlsplit(url).path[1:]} at 127.0.0.1:{urlsplit(url).port}"
    assert f"Copied {folder / 'store'} to {place}: 1 thread, 2 messages, " in there.stdout
    assert f'    [store]\n    url_env = "{VARIABLE}"\n' in there.stdout
    assert "copying threads: 1 of 1 rows\n" in there.stderr
    assert "comparing threads: 1 of 1 rows\n" in there.stderr
    configure(folder, "folder = 'node'", f"url_env = '{VARIABLE}'")
    listed = parley("sessions", "list").stdout
    back = parley("store", "copy", "--to", "back")
    assert "in the place of `url` and `folder`" in back.stdout, back.output
    assert f"folder = {json.dumps(str(folder / 'back'))}\n" in back.stdout
    configure(folder, "folder = 'back'")
    assert parley("sessions", "list").stdout == listed
    assert parley("store", "check").exit_code == ExitCode.DONE
    assert copied(folder / "store") == [(place, "copy")]
    first, second = (str(folder / "store"), "source"), (place, "source")
    assert copied(folder / "back") == [first, second]


def tree(folder: Path) -> dict[str, tuple[int, object]]:
    """Entries of a folder, with all that is copied of them."""
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_mode,
            path.readlink()
            if path.is_symlink()
            else (path.read_bytes(), path.stat().st_mtime_ns)
            if path.is_file()
            else None,
        )
        for path in folder.rglob("*")
    }


@pytest.mark.chaos
def test_work_folders_go_along(folder, url):
    asyncio.run(fill_store(folder / "store"))
    [thread] = asyncio.run(SqliteStore(folder / "store").run(threads.threads))
    work = folder / "store" / "work" / thread.id
    (work / "inner" / "empty").mkdir(parents=True)
    (work / "inner" / "run.sh").write_text("#!/bin/sh\n")
    (work / "inner" / "run.sh").chmod(0o755)
    (work / "large").write_bytes(bytes(range(256)) * 8_000)
    (work / "link").symlink_to("/nowhere")
    before = tree(work)
    configure(folder, "folder = 'store'", "file_mb = 3")
    with (work / "sparse").open("wb") as file:
        file.truncate(3_000_001)
    there = parley("store", "copy", "--to-env", VARIABLE)
    assert (
        f"1 file of work folders that no database takes: in {folder / 'store'} alone"
        in there.stdout
    )
    # This machine's copies are recognised: they are not loaded again.
    configure(folder, "folder = 'store'", f"url_env = '{VARIABLE}'")
    back = parley("store", "copy", "--to", "back")
    assert (
        f"1 file of work folders that no database takes: in {folder / 'store'} alone" in back.stdout
    )
    assert tree(folder / "back" / "work" / thread.id) == before
    assert {path.name for path in (folder / "back").iterdir()} == {"lock", FILE, "work"}


def test_a_password_is_never_shown(folder, url):
    asyncio.run(fill_store(folder / "store"))
    password = urlsplit(url).password
    assert password
    shown = parley("store", "copy", "--to", url)
    assert shown.exit_code == ExitCode.DONE
    assert "Warning: others can read the password" in shown.stderr
    wrong = url.replace("://parley:", "://nobody:")
    refused = parley("store", "copy", "--to", wrong)
    assert refused.exit_code == ExitCode.FAILED
    odd = parley("store", "copy", "--to", url.replace("postgresql", "http"))
    assert (odd.exit_code, 'expected "postgresql://' in odd.stderr) == (ExitCode.USAGE, True)
    assert password not in shown.output + refused.output + odd.output


def test_the_address_is_read_from_a_file(folder, url):
    asyncio.run(fill_store(folder / "store"))
    (folder / "url").write_text(f"{url}\n")
    done = parley("store", "copy", "--to-file", "url")
    assert f"url_file = {json.dumps(str(folder / 'url'))}" in done.stdout, done.output


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ((), ExitCode.USAGE, "Give one of --to, --to-env and --to-file."),
        (("--to", "a", "--to-env", "b"), ExitCode.USAGE, "Give one of --to"),
        (("--to-env", "NO_SUCH"), ExitCode.USAGE, "NO_SUCH is not set"),
        (("--to", "a"), ExitCode.USAGE, "The store is in files already"),
        (("--to", "postgresql://x@127.0.0.1:1/x"), ExitCode.FAILED, "There is no store at"),
    ],
    ids=["none", "two", "no variable", "files to files", "no store"],
)
def test_the_command_says_what_is_wrong(folder, options, code, said):
    result = parley("store", "copy", *options)
    assert (result.exit_code, said in result.stderr) == (code, True), result.output


def test_a_store_in_a_database_is_not_copied_to_one_or_to_its_own_folder(folder, url):
    configure(folder, "folder = 'node'", f"url_env = '{VARIABLE}'")
    database = parley("store", "copy", "--to-env", VARIABLE)
    assert (database.exit_code, "pg_dump" in database.stderr) == (ExitCode.USAGE, True)
    own = parley("store", "copy", "--to", "node")
    assert (own.exit_code, "is the `folder` in [store]" in own.stderr) == (ExitCode.USAGE, True)


def test_a_store_in_use_is_not_copied(folder, url):
    asyncio.run(fill_store(folder / "store"))
    lock = StoreLock(folder / "store")
    lock.acquire()
    refused = parley("store", "copy", "--to-env", VARIABLE)
    lock.release()
    said = f"is in use by process {os.getpid()}"
    assert (refused.exit_code, said in refused.stderr) == (ExitCode.FAILED, True)


@pytest.mark.chaos
async def test_a_copy_that_is_cancelled_is_no_store_and_goes_on(folder, url):
    await fill_store(folder / "store")
    store, to = (
        SqliteStore(folder / "store"),
        copy_target(url, variable=None, file=None, settings=StoreConfig()),
    )
    loop, this = asyncio.get_running_loop(), asyncio.current_task()
    assert this is not None

    def cancel(step: Step) -> None:
        if step.done:
            loop.call_soon_threadsafe(this.cancel)

    with pytest.raises(asyncio.CancelledError):
        await copy_store(store, to, cancel)
    this.uncancel()
    configure(folder, "folder = 'node'", f"url_env = '{VARIABLE}'")
    listed = await asyncio.to_thread(parley, "sessions", "list")
    assert "is a copy that is not complete: `parley store copy` goes on" in listed.stderr
    assert "Copied" in await copy_store(store, to, lambda step: None)
