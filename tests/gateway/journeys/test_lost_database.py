"""`parley serve` whose database is away, or that was declared dead."""

import asyncio
import socket
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner

from gateway.adapter import AdapterHost, AuthError
from gateway.base.exit_codes import ExitCode
from gateway.cli import main
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.errors import StoreTaken
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


def test_a_node_that_was_declared_dead_begins_anew(tmp_path, postgres_url):
    boots: list[str] = []

    async def script(gateway: AdapterHost) -> None:
        (boot,) = await asyncio.to_thread(boots_of, postgres_url)
        boots.append(boot)
        if len(boots) > 1:
            receipt = await gateway.accept(HELLO)
            assert receipt.outcome == "turn"
            raise AuthError("that is all")
        await asyncio.to_thread(bury, postgres_url, boot)
        with suppress(StoreTaken):
            await gateway.accept(HELLO)
        await asyncio.Event().wait()

    with installed(Platform(script)):
        result = serve_on(postgres_url, tmp_path)
    assert len({*boots}) == 2
    assert "declared" in result.stderr
    assert "dead" in result.stderr
    assert "Traceback" not in result.output


def test_a_node_of_an_earlier_version_drains_and_says_why(tmp_path, postgres_url):
    accepted: list[str] = []

    async def script(gateway: AdapterHost) -> None:
        accepted.append((await gateway.accept(HELLO)).thread)
        await asyncio.to_thread(upgrade, postgres_url)
        await asyncio.Event().wait()

    with installed(Platform(script)):
        result = serve_on(postgres_url, tmp_path)
    assert result.exit_code == ExitCode.FAILED
    assert "a newer version of Parley has upgraded the store" in result.stderr
    assert "Traceback" not in result.output
    assert boots_of(postgres_url) == []
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        rows = connection.execute("SELECT status FROM turns").fetchall()
    assert [status for (status,) in rows] in (["done"], ["paused"])


def upgrade(url: str) -> None:
    """Let the tables be those of a later version."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE store SET version = version + 1")


def boots_of(url: str) -> list[str]:
    """The nodes of the store."""
    with psycopg.connect(url, autocommit=True) as connection:
        return [boot for (boot,) in connection.execute("SELECT boot FROM nodes").fetchall()]


def bury(url: str, boot: str) -> None:
    """Remove a node's row, as a burial does."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DELETE FROM nodes WHERE boot = %s", [boot])
