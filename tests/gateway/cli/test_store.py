"""`parley store`: check, repair, and the copies."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gateway.access.authority import Access
from gateway.base.exit_codes import ExitCode
from gateway.cli import main
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.errors import StoreCorrupt
from gateway.gateway import Gateway
from gateway.store.sqlite.store import SqliteStore
from tests.gateway.scripted import ScriptedTeams, ends, solo, until

pytestmark = [pytest.mark.sqlite, pytest.mark.usefixtures("fresh_imports")]


def parley(*command: str) -> Result:
    return CliRunner().invoke(main, command)


async def talk(folder: Path) -> str:
    teams = ScriptedTeams(lambda: solo("yes"))
    key = ConversationKey(platform="chat", channel="C", root="1")
    said = InboundMessage(key=key, author=Author(id="chat:ann"), text="hello", dedupe=("1",))
    async with Gateway(SqliteStore(folder), teams, access=Access(["chat:ann"])) as gateway:
        receipt = await gateway.accept(said)
        await until(gateway, receipt.thread, ends)
    return receipt.thread


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a config, the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.toml").write_text("store.folder = 'store'")
    return tmp_path


@pytest.fixture(scope="module")
def talked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    store = tmp_path_factory.mktemp("talked") / "store"
    return store, asyncio.run(talk(store))


@pytest.fixture
def thread(folder: Path, talked: tuple[Path, str]) -> str:
    store, name = talked
    shutil.copytree(store, folder / "store")
    return name


def write(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "store" / "parley.db")) as connection:
        connection.execute(statement)
        connection.commit()


def test_a_sound_store_is_said_to_be_sound(folder, thread):
    result = parley("store", "check")
    assert (result.exit_code, result.stdout) == (
        ExitCode.DONE,
        f"{folder / 'store' / 'parley.db'} is sound.\n",
    )


def test_there_has_to_be_a_store(folder):
    for command in ("check", "repair"):
        result = parley("store", command)
        assert (result.exit_code, "There is no store at" in result.stderr) == (1, True)
    assert not (folder / "store").exists()


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("DELETE FROM events WHERE seq = 2", "its events have a gap"),
        ("UPDATE events SET body = '{' WHERE seq = 2", "its event 2 is unreadable"),
        ("UPDATE turns SET n = 2", "its turns have a gap"),
        ("UPDATE threads SET state = 'working'", "it works or waits, but has no open turn"),
        ("UPDATE turns SET status = 'paused'", "it rests, but has an open turn"),
        ("DELETE FROM checkpoints WHERE n = 1", "the state of its team has a gap"),
        ("UPDATE threads SET attached = 5", "the size of its files is wrong"),
        ("UPDATE inbox SET outcome = 'queued', text = NULL", "a waiting message has no text"),
        ("INSERT INTO blobs VALUES ('a', x'00')", "a file's content belongs to no message"),
        ("INSERT INTO deliveries (thread, told) SELECT id, 99 FROM threads", "more was delivered"),
        ("UPDATE inbox SET thread = 'x'", "a row of inbox refers to no row of threads"),
        ("UPDATE commits SET n = 1", "commits are missing at its end"),
    ],
    ids=lambda each: each.split(" WHERE")[0].replace(" ", "-") if " SET " in each else None,
)
def test_what_a_sound_store_never_has_is_found(folder, thread, statement, said):
    write(folder, statement)
    result = parley("store", "check")
    assert result.exit_code == ExitCode.DAMAGED
    assert f"{folder / 'store' / 'parley.db'} is damaged:\n- " in result.stdout
    assert said in result.stdout
    assert "`parley store repair` saves what is readable" in result.stdout


def test_a_repaired_store_takes_the_place_of_the_damaged_one(folder, thread):
    write(folder, "DELETE FROM events WHERE seq IN (2, 3, 5)")
    damaged = (folder / "store" / "parley.db").read_bytes()
    new = folder / "store" / "parley.repaired.db"
    result = parley("store", "repair")
    assert result.exit_code == ExitCode.DONE
    assert f"Wrote {new}: 1 thread, 1 message, " in result.stdout
    assert f"\nThread with gaps:\n- thread {thread}: events are lost: 2-3, 5\n" in result.stdout
    assert f"    parley store restore {new}\n" in result.stdout
    assert (folder / "store" / "parley.db").read_bytes() == damaged
    assert parley("store", "restore", str(new)).exit_code == ExitCode.DONE
    assert parley("store", "check").exit_code == ExitCode.DONE
    assert "was lost to damage" in parley("sessions", "show", thread).stdout


def wipe(folder: Path, *tables: str) -> None:
    """Overwrite the first page of each table."""
    store = folder / "store" / "parley.db"
    with closing(sqlite3.connect(store)) as connection:
        roots = dict(connection.execute("SELECT name, rootpage FROM sqlite_master"))
    with store.open("r+b") as file:
        for table in tables:
            file.seek((roots[table] - 1) * 4096)
            file.write(bytes(4096))


def test_a_repair_that_finds_no_thread_says_that_nothing_could_be_saved(folder, thread):
    wipe(folder, "threads", "turns", "inbox", "events")
    result = parley("store", "repair")
    assert result.exit_code == ExitCode.DAMAGED
    assert "can't be repaired: no thread is readable" in result.stderr
    assert [*(folder / "store").glob("*repair*")] == []


def test_a_repair_without_the_list_of_threads_says_that_some_may_be_missing(folder, thread):
    wipe(folder, "threads")
    result = parley("store", "repair")
    assert result.exit_code == ExitCode.DONE
    assert "Threads may be missing" in result.stdout
    assert f"- thread {thread}: its title, its team and its settings are lost" in result.stdout


def test_a_damaged_store_ends_the_start_with_its_own_code(folder, thread):
    (folder / "store" / "parley.db").write_bytes(b"nothing" * 1000)
    for command in (("status",), ("store", "check"), ("store", "repair"), ("sessions", "list")):
        assert parley(*command).exit_code == ExitCode.DAMAGED, command


@pytest.mark.parametrize("left", [b"", None], ids=["empty", "missing"])
def test_a_store_that_is_gone_is_damaged_until_a_backup_takes_its_place(folder, thread, left):
    store = folder / "store"
    assert parley("backup", "copy.db").exit_code == ExitCode.DONE
    (store / "parley.db").unlink()
    if left is not None:
        (store / "parley.db").write_bytes(left)
        copy = (folder / "copy.db").read_bytes()
        assert parley("backup", "copy.db").exit_code == ExitCode.DAMAGED
        assert (folder / "copy.db").read_bytes() == copy
    for command in (("store", "check"), ("sessions", "list"), ("status",)):
        result = parley(*command)
        assert result.exit_code == ExitCode.DAMAGED, command
        assert "is empty or missing, though" in result.stderr
        assert "remove the file `commits`" in result.stderr
    for _ in range(2):
        with pytest.raises(StoreCorrupt, match="`parley store restore` puts a backup"):
            asyncio.run(begin(store))
    assert parley("restore", "copy.db").exit_code == ExitCode.DONE
    assert thread in parley("sessions", "list").stdout


async def begin(store: Path) -> None:
    async with SqliteStore(store).own():
        pass


def test_an_empty_store_is_begun_anew_without_its_count(folder, thread):
    store = folder / "store"
    (store / "parley.db").write_bytes(b"")
    (store / "commits").unlink()
    result = parley("store", "check")
    assert (result.exit_code, "it has no tables" in result.stdout) == (ExitCode.DAMAGED, True)
    asyncio.run(begin(store))
    assert parley("store", "check").exit_code == ExitCode.DONE


def test_backup_and_restore_are_commands_of_the_group_and_of_their_own(folder, thread):
    for group in ((), ("store",)):
        assert parley(*group, "backup", "copy.db").stdout == "Wrote copy.db.\n"
        result = parley(*group, "restore", "copy.db")
        assert result.stdout.startswith("Restored copy.db. ")
    assert thread in parley("sessions", "list").stdout
