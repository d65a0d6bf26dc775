"""An operator's store in PostgreSQL: commands, an outage, a copy."""

import asyncio
import json
import os
import signal
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import psycopg
import pytest
from click.testing import CliRunner, Result

from gateway.access.authority import Access
from gateway.adapter import AdapterHost
from gateway.app.feedback import WORDS
from gateway.app.operator import owner_status
from gateway.base.exit_codes import ExitCode
from gateway.cli import main
from gateway.control.health import serve_health
from gateway.control.socket_client import SocketClient
from gateway.control.socket_server import serve_control
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.errors import GatewayError, StoreTaken
from gateway.gateway import Gateway
from gateway.store.formats import newest_format
from gateway.store.postgres.database import Database
from gateway.store.postgres.store import PostgresStore
from gateway.store.units import losses, threads
from teams.base import Team
from tests.fakes.postgres_server import PostgresServer, programs
from tests.fakes.scripted_platform import SERVED, Platform, installed
from tests.gateway.scripted import ALLOW, Door, ScriptedTeams, calls, ends, solo, until

KEY = ConversationKey(platform="chat", channel="C", root="1")
SAID = InboundMessage(key=KEY, author=Author(id="chat:ann"), text="hello there", dedupe=("1",))


def store_at(url: str, folder: Path) -> PostgresStore:
    return PostgresStore(Database(url=url), folder)


def gateway_on(store: PostgresStore, teams: ScriptedTeams | None = None) -> Gateway:
    teams = teams or ScriptedTeams(lambda: solo("yes"))
    return Gateway(store, teams, access=Access(["chat:ann"]))


async def talk(store: PostgresStore) -> str:
    async with gateway_on(store) as gateway:
        receipt = await gateway.accept(SAID)
        await until(gateway, receipt.thread, ends)
        return receipt.thread


@pytest.fixture
def parley(tmp_path, monkeypatch, postgres_url):
    """Runs a command in a folder whose config names a new database."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PARLEY_CONFIG", "config.toml")
    monkeypatch.setenv("ADDRESS", postgres_url)
    Path("config.toml").write_text("[store]\nfolder = 'store'\nurl_env = 'ADDRESS'\n")
    secret = urlsplit(postgres_url).password or ""

    def run(*command: str) -> Result:
        result = CliRunner().invoke(main, command)
        assert secret not in result.output
        return result

    return run


@pytest.mark.usefixtures("fresh_imports")
def test_a_database_without_a_store_has_no_threads_and_nothing_to_check(parley, new_database):
    os.environ["ADDRESS"] = new_database("empty")  # the fixture puts it back
    assert parley("sessions", "list").output == "There are no threads.\n"
    checked = parley("store", "check")
    assert checked.exit_code == ExitCode.FAILED
    assert "There is no store in " in checked.output


@pytest.mark.usefixtures("fresh_imports")
@pytest.mark.parametrize("lacks", ["reason", "nothing"])
def test_ratings_in_the_tables_of_an_earlier_version(parley, postgres_url, lacks):
    thread = asyncio.run(talk(store_at(postgres_url, Path("store"))))
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        rated = (
            "INSERT INTO feedback (part, person, thread, good, at) VALUES ('p', 'x', %s, TRUE, 1)"
        )
        connection.execute(rated, [thread])
        connection.execute("UPDATE store SET version = version - 1")
        if lacks == "reason":
            connection.execute("ALTER TABLE feedback DROP COLUMN reason")
    written = parley("feedback")
    if lacks == "reason":
        assert written.stdout == ""
        assert WORDS not in written.stderr
        assert "has the tables of an earlier version of Parley" in written.stderr
    else:  # it upgrades nothing, so it says what it can't do
        assert WORDS in written.stderr
        assert (
            "The audit does not have this export: The store has the format of an" in written.stderr
        )
        assert len(written.stdout.splitlines()) == 1
        with psycopg.connect(postgres_url) as connection:
            assert connection.execute("SELECT version FROM store").fetchall() == [
                (newest_format() - 1,)
            ]


@pytest.mark.usefixtures("fresh_imports")
def test_threads_in_a_database_are_listed_checked_and_deleted(parley, postgres_url):
    thread = asyncio.run(talk(store_at(postgres_url, Path("store"))))
    place = urlsplit(postgres_url)
    database = f"{place.path[1:]} at 127.0.0.1:{place.port}"
    status = parley("status").output
    assert f"Parley is not running on any node.\nDatabase: {database}.\n1 thread" in status
    assert thread in parley("sessions", "list", "--search", "hello").output
    assert '"text":"hello there"' in parley("sessions", "export", thread).output
    assert '"thread.exported"' in parley("audit").output
    sound = parley("store", "check")
    assert (sound.exit_code, sound.output.split(" is ")[0]) == (0, database)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DELETE FROM events WHERE seq = 2")
    damaged = parley("store", "check")
    assert damaged.exit_code == ExitCode.DAMAGED
    assert f"{database} is damaged:\n- thread {thread}: its events have a gap" in damaged.output
    assert "pg_amcheck" in damaged.output
    assert parley("sessions", "delete", "--yes", thread).exit_code == 0
    assert parley("sessions", "list").output == "There are no threads.\n"


@pytest.mark.usefixtures("fresh_imports")
def test_a_served_database_takes_messages_and_is_not_restored_by_parley(parley, postgres_url):
    with Path("config.toml").open("a") as config:
        config.write(SERVED)
    key = ConversationKey(platform="scripted", channel="C1", root="1")
    said = InboundMessage(key=key, author=Author(id="scripted:T1:ann"), text="hello there")
    told: list[str] = []

    async def script(host: AdapterHost) -> None:
        thread = (await host.accept(said)).thread
        told.append((await asyncio.to_thread(parley, "status")).output)
        client = await SocketClient.connect(Path("store"))
        with pytest.raises(GatewayError, match="then let PostgreSQL put the copy in its place"):
            await client.restore(Path("/one.dump"))
        await asyncio.to_thread(parley, "sessions", "delete", "--yes", thread)
        os.kill(os.getpid(), signal.SIGTERM)

    with installed(Platform(script)):
        assert parley("serve").exit_code == ExitCode.DONE
    assert "scripted: " in told[0]
    assert " of 8 connections in use.\n" in told[0]
    assert parley("sessions", "list").output == "There are no threads.\n"


def lines_of(result: Result) -> list[str]:
    """The commands that an answer names, as the role of the tests."""
    shown = [line for line in result.output.splitlines() if line.startswith("    ")]
    return [line.strip().replace("USER", "parley") for line in shown]


def shell(lines: list[str], url: str) -> None:
    """Run commands as somebody who has PostgreSQL's programs and the password."""
    password = urlsplit(url).password or ""
    found = {"PATH": f"{programs()}:/usr/bin:/bin", "PGPASSWORD": password, "LC_ALL": "C"}
    for line in lines:
        done = subprocess.run(["sh", "-c", line], env=found, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.usefixtures("fresh_imports")
@pytest.mark.parametrize("lines", [1, 2], ids=["noticed", "told"])
async def test_a_copy_that_is_put_back_parks_what_was_unfinished_in_it(parley, postgres_url, lines):
    door, store = Door(), store_at(postgres_url, Path("store"))

    async def slow() -> str:
        await door.pass_through()
        return "done"

    def team() -> Team:
        return solo(calls("slow"), "yes", tools=[slow], messages=4)

    teams = ScriptedTeams(team, rules={"slow": ALLOW})
    async with gateway_on(store, teams) as gateway:
        thread = (await gateway.accept(SAID)).thread
        await door.reached.wait()
        copied = await asyncio.to_thread(parley, "store", "backup", "one.dump")
        await asyncio.to_thread(shell, lines_of(copied), postgres_url)
        with pytest.raises(GatewayError, match="Use the backups of that database"):
            await gateway.client.backup(Path("two.dump"))
        door.open()
        await until(gateway, thread, ends)
    put_back = await asyncio.to_thread(parley, "store", "restore", "one.dump")
    await asyncio.to_thread(shell, lines_of(put_back)[:lines], postgres_url)
    assert (await store.run(threads.thread, thread)).state == "working"
    async with gateway_on(store, ScriptedTeams(team)):
        assert (await store.run(threads.thread, thread)).state == "parked"
        [loss] = await store.run(losses.losses)
    assert loss.cause == "restored"
    async with store.own():  # it was noticed once
        assert len(await store.run(losses.losses)) == 1


@pytest.mark.usefixtures("fresh_imports")
async def test_a_node_whose_database_is_restored_meanwhile_is_one_no_more(parley, postgres_url):
    store = PostgresStore(Database(url=postgres_url, failover=2.0), Path("store"))
    async with store.own():
        copied = await asyncio.to_thread(parley, "store", "backup", "one.dump")
        await asyncio.to_thread(shell, lines_of(copied), postgres_url)
        put_back = await asyncio.to_thread(parley, "store", "restore", "one.dump")
        await asyncio.to_thread(shell, lines_of(put_back)[:1], postgres_url)
        with pytest.raises(StoreTaken):  # though the copy has its row
            await store.until_lost()
    async with store.own():
        assert [loss.cause for loss in await store.run(losses.losses)] == ["restored"]


async def test_a_database_is_no_copy_of_itself_however_often_it_is_opened(postgres_url, tmp_path):
    store = store_at(postgres_url, tmp_path)
    for statement in ("VACUUM FULL marks", "VACUUM FREEZE marks", "CLUSTER marks USING marks_pkey"):
        async with store.own():
            pass
        with psycopg.connect(postgres_url, autocommit=True) as raw:
            raw.execute(statement)
    async with store.own():
        assert await store.run(losses.losses) == []


@pytest.mark.chaos
async def test_while_the_database_is_away_everything_says_so_and_then_goes_on(tmp_path):
    with PostgresServer() as server:
        store = store_at(server.url, tmp_path)
        async with (
            gateway_on(store) as gateway,
            serve_control(gateway),
            serve_health(gateway, "127.0.0.1", 0) as port,
            aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session,
        ):

            async def get(path: str) -> tuple[int, str]:
                async with session.get(path) as response:
                    return response.status, await response.text()

            assert (await get("/readyz"))[0] == 200
            await asyncio.to_thread(server.stop)
            ready, health, metrics, (_, status) = await asyncio.gather(
                get("/readyz"), get("/healthz"), get("/metrics"), owner_status(store)
            )
            trouble = "Parley can't reach the store's database, and accepts no messages."
            assert (ready[0], json.loads(ready[1])["store"]) == (503, "StoreUnreachable")
            assert (health[0], json.loads(health[1])["troubles"]) == (200, [trouble])
            assert "\nparley_troubles 1.0\n" in metrics[1]
            assert "parley_threads" not in metrics[1]
            assert f"Degraded: {trouble}\nDatabase: parley at 127.0.0.1:{server.port}, " in status
            assert "\nThreads and messages are counted again once the database answers." in status
            await asyncio.to_thread(server.start)
            receipt = await gateway.accept(SAID)
            await until(gateway, receipt.thread, ends)
            assert (await get("/readyz"))[0] == 200
