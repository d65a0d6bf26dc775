"""`parley serve` whose database is away, or is another process's now."""

import asyncio
import socket
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner

from gateway.adapter import AdapterHost
from gateway.base.exit_codes import ExitCode
from gateway.cli import main
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.errors import StoreTaken
from gateway.store.postgres.database import Database
from gateway.store.postgres.store import PostgresStore
from tests.fakes.scripted_platform import Platform, installed

pytestmark = pytest.mark.usefixtures("fresh_imports")

CONFIG = """
store = {{ folder = 'store', url = '{url}' }}
health = {{ port = 0 }}
[adapters.scripted]
bot_token = 'xoxb-canary-1234567890'
[[routes]]
adapter = 'scripted'
channels = 'C1'
users = 'members'
"""
HELLO = InboundMessage(
    key=ConversationKey(platform="scripted", channel="C1", root="1"),
    author=Author(id="scripted:T1:ann", name="Ann"),
    text="hi",
)


def serve_on(url: str, folder: Path):
    (folder / "config.toml").write_text(CONFIG.format(url=url))
    return CliRunner().invoke(main, ["serve", "--config", str(folder / "config.toml")])


def test_a_database_that_is_away_at_the_start_ends_it_with_the_reason(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with installed(Platform()):
        result = serve_on(f"postgresql://parley:pass-word@127.0.0.1:{port}/x", tmp_path)
    assert result.exit_code == ExitCode.FAILED
    assert f"The database x at 127.0.0.1:{port} can't be reached: " in result.stderr
    assert "refused" in result.stderr
    assert "pass-word" not in result.output
    assert "Traceback" not in result.output


def test_it_ends_when_another_process_has_taken_its_database(tmp_path, postgres_url):
    async def script(gateway: AdapterHost) -> None:
        owned, other = asyncio.Event(), PostgresStore(Database(url=postgres_url), tmp_path / "b")

        async def own() -> None:
            async with other.own():
                owned.set()
                with suppress(StoreTaken):
                    await gateway.accept(HELLO)
                await asyncio.Event().wait()

        first = await asyncio.to_thread(owner_of, postgres_url)
        async with asyncio.TaskGroup() as group:
            group.create_task(own())
            while not owned.is_set():
                await asyncio.to_thread(end_owner, postgres_url, first)
                with suppress(TimeoutError):
                    async with asyncio.timeout(1):
                        await owned.wait()

    with installed(Platform(script)):
        result = serve_on(postgres_url, tmp_path)
    assert result.exit_code == ExitCode.FAILED
    assert "Another process has taken the store over; nothing is written here." in result.stderr
    assert "Traceback" not in result.output


def owner_of(url: str) -> str:
    """The boot that owns the store."""
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute("SELECT boot FROM owner").fetchall()[0][0]


def end_owner(url: str, boot: str) -> None:
    """End the session by which this boot still owns the store."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_stat_activity USING (pid)"
            " WHERE locktype = 'advisory' AND datname = current_database()"
            " AND (SELECT boot FROM owner) = %s",
            [boot],
        )
