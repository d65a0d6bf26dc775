"""`parley restore`: a backup replaces the store, even of a serving gateway."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gateway.adapter import AdapterHost
from gateway.base.exit_codes import ExitCode
from gateway.cli import main
from gateway.control.socket_client import SocketClient
from gateway.conversation import LOCAL_OPERATOR, Author, ConversationKey, InboundMessage
from gateway.errors import GatewayError, StoreInUse
from gateway.gateway import Gateway
from gateway.store.sqlite.store import SqliteStore
from gateway.store.units import deletion, threads
from tests.fakes.scripted_platform import Platform, installed
from tests.gateway.scripted import ScriptedTeams, opened, solo

pytestmark = [pytest.mark.sqlite, pytest.mark.usefixtures("fresh_imports")]

CONFIG = """
store = { folder = 'store' }
health = { port = 0 }
routes = [{ adapter = 'scripted', channels = 'C1', users = 'members' }]
[adapters.scripted]
bot_token = 'xoxb-canary-1234567890'
"""
RESTORED = "Restored {}. Parley runs on it. The old store is kept as {}.\n"
ANN = Author(id="scripted:T1:ann", name="Ann")


def message(text: str, author: Author = ANN) -> InboundMessage:
    number = text.encode().hex()  # the platform's, which outlives the text
    key = ConversationKey(platform="scripted", channel="C1", root=number)
    return InboundMessage(key=key, author=author, text=text, dedupe=(number,))


def parley(folder: Path, *command: str) -> Result:
    if not (folder / "config.toml").exists():
        (folder / "config.toml").write_text(CONFIG)
    return CliRunner().invoke(main, [*command, "--config", str(folder / "config.toml")])


async def titles(folder: Path) -> set[str]:
    return {thread.title for thread in await SqliteStore(folder / "store").run(threads.threads)}


async def write(folder: Path, *texts: str) -> None:
    """Messages in a store that nobody serves."""
    team = ScriptedTeams(lambda: solo(*(["yes"] * len(texts))))
    async with Gateway(SqliteStore(folder / "store"), team) as gateway:
        for text in texts:
            await gateway.accept(message(text, LOCAL_OPERATOR))


@pytest.mark.chaos
def test_a_serving_gateway_goes_on_from_the_backup_and_takes_no_broken_config_on_the_way(tmp_path):
    store, backup = SqliteStore(tmp_path / "store"), tmp_path / "backup.db"
    (tmp_path / "operator.toml").write_text("store = { folder = 'store' }")
    seen, inbox, commands = [], [], []

    async def first(gateway: Gateway) -> None:
        inbox.append((await gateway.accept(message("before"))).inbox)
        await gateway.client.backup(backup)
        await gateway.accept(message("after"))
        seen.append(await titles(tmp_path))
        (tmp_path / "config.toml").write_text("nonsense = 1")
        command = [sys.executable, "-m", "gateway.cli", "restore", str(backup)]
        command += ["--config", str(tmp_path / "operator.toml")]
        commands.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))  # noqa: ASYNC220 (it outlives this gateway)

    async def second(gateway: Gateway) -> None:
        seen.append(await titles(tmp_path))
        again = await gateway.accept(message("before"))
        inbox.append(again.inbox)  # it is known, as it was then
        seen.append(oct(store.kept.stat().st_mode))
        seen.append(await asyncio.to_thread(lambda: commands[0].communicate(timeout=8)[0]))
        os.kill(os.getpid(), signal.SIGTERM)

    scripts = [first, second]

    async def script(host: AdapterHost) -> None:
        assert isinstance(host, Gateway)  # a backup is no matter of adapters
        await scripts.pop(0)(host)

    with installed(Platform(script)) as platform:
        assert parley(tmp_path, "serve").exit_code == ExitCode.DONE
    assert seen == [
        {"before", "after"},
        {"before"},
        oct(0o100600),
        RESTORED.format(backup, store.kept),
    ]
    assert platform.connected == 2
    assert inbox[0] == inbox[1]


async def test_a_damaged_store_is_replaced_and_kept_for_who_wants_to_look_at_it(tmp_path):
    await write(tmp_path, "kept")
    store, backup = SqliteStore(tmp_path / "store"), tmp_path / "backup.db"
    await store.backup(backup)
    damaged = b"not a database any more" * 500
    (store.folder / "parley.db").write_bytes(damaged)
    result = await asyncio.to_thread(parley, tmp_path, "restore", str(backup))
    assert result.exit_code == 0, result.output
    assert f"is kept as {store.kept}" in result.output
    assert await titles(tmp_path) == {"kept"}
    assert store.kept.read_bytes() == damaged


async def test_a_damaged_store_is_not_served_and_ends_with_a_code_of_its_own(tmp_path):
    await write(tmp_path, "kept")
    (tmp_path / "store" / "parley.db").write_bytes(b"not a database any more" * 500)
    with installed(Platform()):
        result = await asyncio.to_thread(parley, tmp_path, "serve")
    assert result.exit_code == ExitCode.DAMAGED
    assert "`parley store repair` saves what is readable" in result.stderr


async def test_a_store_that_was_lost_comes_back_where_there_is_nothing(tmp_path):
    await write(tmp_path, "kept")
    backup = tmp_path / "backup.db"
    await SqliteStore(tmp_path / "store").backup(backup)
    (tmp_path / "store").rename(tmp_path / "lost")
    assert (await asyncio.to_thread(parley, tmp_path, "restore", str(backup))).exit_code == 0
    assert await titles(tmp_path) == {"kept"}
    async with SqliteStore(tmp_path / "store").own():
        pass


def other_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (x)")


def newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 999")


def older(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 9")


def damaged(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096 * 3 : 4096 * 6] = os.urandom(4096 * 3)
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (Path.unlink, "There is no backup at"),
        (lambda path: path.write_text("nothing" * 100), "is damaged: file is not a database"),
        (lambda path: path.write_text(""), "is empty."),
        (lambda path: (path.unlink(), other_database(path)), "but not one of Parley's"),
        (newer, "was made by a newer Parley (format 999"),
        (older, "was made by an older Parley (format 9"),
        (damaged, "is damaged: "),
    ],
    ids=["missing", "text", "empty", "other", "newer", "older", "damaged"],
)
async def test_a_backup_that_is_no_good_changes_nothing(tmp_path, spoil, said):
    await write(tmp_path, "kept")
    store, backup = SqliteStore(tmp_path / "store"), tmp_path / "backup.db"
    await store.backup(backup)
    spoil(backup)
    before = {path.name: path.read_bytes() for path in store.folder.glob("*.db*")}
    result = await asyncio.to_thread(parley, tmp_path, "restore", str(backup))
    assert (result.exit_code, said in result.output) == (ExitCode.FAILED, True), result.output
    assert {path.name: path.read_bytes() for path in store.folder.glob("*.db*")} == before


async def test_who_does_not_begin_anew_by_itself_is_named_and_keeps_its_store(tmp_path):
    await write(tmp_path, "kept")
    store, backup = SqliteStore(tmp_path / "store"), tmp_path / "backup.db"
    await store.backup(backup)
    async with opened(tmp_path / "store", lambda: solo("yes")):
        operator = await SocketClient.connect(store.folder)
        with pytest.raises(GatewayError, match=f"Process {os.getpid()} uses the store. End it"):
            await operator.restore(backup)
        await store.stage(backup)
        with pytest.raises(StoreInUse):
            await store.restore()


async def test_what_is_deleted_later_is_deleted_from_the_store_that_was_kept_too(tmp_path):
    await write(tmp_path, "secret")
    store, backup = SqliteStore(tmp_path / "store"), tmp_path / "backup.db"
    await store.backup(backup)
    await store.stage(backup)
    await store.restore()
    async with store.own():
        (thread,) = await store.run(threads.threads)
        await store.run(deletion.delete_thread, thread.id)
    left = [path.name for path in store.folder.rglob("*") if path.is_file()]
    assert not [name for name in left if b"secret" in (store.folder / name).read_bytes()]
