"""The guards of conftest.py do fire."""

import asyncio
import os
import socket
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

from tests.fakes.postgres_databases import GIVEN, PREFIX, address

pytest_plugins = ["pytester"]

CONFTEST = Path(__file__).with_name("conftest.py")


def run(pytester: pytest.Pytester, source: str, *options: str) -> pytest.RunResult:
    pytester.makeconftest(CONFTEST.read_text())
    pytester.makeini("[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function")
    pytester.makepyfile(source)
    unwanted = ("cacheprovider", "langsmith_plugin", "textual-snapshot")  # its report is of one run
    plugins = [option for name in unwanted for option in ("-p", f"no:{name}")]
    return pytester.runpytest(*plugins, *options)


def test_a_task_left_behind_fails_the_test(pytester: pytest.Pytester):
    result = run(
        pytester,
        """
        import asyncio

        async def test_leaves_a_task(request):
            request.config.kept = asyncio.ensure_future(asyncio.sleep(60))
        """,
    )

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*tasks left behind: *sleep*"])


KEYS_WITHOUT_MESSAGES = """
import pytest
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.store.units import inbox
from tests.fakes.decided import decided
from tests.fakes.new_store import new_store

KEY = ConversationKey(platform="x", root="1")

async def leave(folder, *numbers):
    store = new_store(folder / "store")
    async with store.own():
        keys = tuple(KEY.dedupe("create", number) for number in numbers)
        message = InboundMessage(key=KEY, author=Author(id="ann"), text="hi",
                                 message_id="1", dedupe=keys)
        await store.run(inbox.accept, decided(message, thread="t"))

@pytest.mark.chaos
async def test_keeps(tmp_path):
    await leave(tmp_path, "1")

async def test_is_none_of_chaos(tmp_path):
    await leave(tmp_path, "1", "2")

@pytest.mark.chaos
async def test_breaks(tmp_path):
    await leave(tmp_path, "1", "2")
"""


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_a_chaos_test_that_leaves_a_key_without_its_message_fails(
    pytester: pytest.Pytester, request: pytest.FixtureRequest, monkeypatch, store: str
):
    if store == "postgres":
        request.getfixturevalue("new_database")
        monkeypatch.setenv(GIVEN, address())
        monkeypatch.delenv(PREFIX)

    result = run(pytester, KEYS_WITHOUT_MESSAGES, "--store", store)

    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["*it was spent with another message*"])


def test_finished_and_cancelled_tasks_are_no_offence(pytester: pytest.Pytester):
    result = run(
        pytester,
        """
        import asyncio

        async def test_cleans_up():
            asyncio.ensure_future(asyncio.sleep(60)).cancel()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(asyncio.sleep(0))
        """,
    )

    result.assert_outcomes(passed=1)


FAILS = "def test_fails():\n    assert False\n"


@pytest.mark.parametrize(
    ("source", "prefix", "absent", "told"),
    [
        (FAILS, ".venv", True, True),
        ("import no_such_package\n", ".venv", True, True),
        (FAILS.replace("False", "True"), ".venv", True, False),
        (FAILS, ".venv", False, False),
        (FAILS, ".venv-extras/mcp-1", True, False),
    ],
    ids=["failed", "not imported", "passed", "all is here", "other environment"],
)
def test_failures_without_the_services_say_how_to_install_them(
    pytester: pytest.Pytester, monkeypatch, source: str, prefix: str, absent: bool, told: bool
):
    monkeypatch.setattr(sys, "prefix", f"/parley/{prefix}")
    here = None if absent else ModuleType("basedpyright")
    if here is not None:
        here.__spec__ = ModuleSpec("basedpyright", None)
    monkeypatch.setitem(sys.modules, "basedpyright", here)
    assert ("make .venv/services" in run(pytester, source).stdout.str()) is told


def test_the_home_is_empty_and_not_the_users(home: Path):
    assert Path.home() == home
    assert list(home.iterdir()) == []
    assert Path(os.environ["XDG_STATE_HOME"]).is_relative_to(home)


def test_no_key_of_the_machine_is_seen():
    assert not [name for name in os.environ if name.startswith(("OPENAI_", "SLACK_", "DISCORD_"))]


def test_other_machines_can_not_be_reached():
    with pytest.raises(OSError, match=r"a test tried to reach 'example\.com'"):
        socket.getaddrinfo("example.com", 443)
    with socket.socket() as client, pytest.raises(OSError, match=r"tried to reach '192\.0\.2\.1'"):
        client.connect(("192.0.2.1", 443))


async def test_this_machine_can_be_reached():
    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        assert await reader.read() == b"hello"
        writer.close()
        await writer.wait_closed()
