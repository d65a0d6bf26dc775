"""The end of a process whose database does anything at all."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic

import psycopg
import pytest

from gateway.base.exit_codes import ExitCode
from tests.fakes.postgres_server import PostgresServer
from tests.fakes.scripted_platform import SERVED
from tests.fakes.tcp_proxy import TcpProxy
from tests.time_limits import slowness

pytestmark = pytest.mark.chaos

ROOT = Path(__file__).resolve().parents[2]
SHUTDOWN = 1.0
CONFIG = f"""
[store]
folder = "store"
url_env = "ADDRESS"
[limits]
shutdown_seconds = {SHUTDOWN}
{SERVED}
"""
CHILD = """
import asyncio, sys
from gateway.cli import main
from gateway.conversation import Author, ConversationKey, InboundMessage
from tests.fakes.scripted_platform import Platform, installed

def said(number):
    key = ConversationKey(platform="scripted", channel="C1", root=f"{number}")
    author = Author(id="scripted:T1:ann")
    return InboundMessage(key=key, author=author, text="hello", dedupe=(f"{number}",))

async def script(host):
    await host.accept(said(0))
    print("ready", flush=True)
    number = 0
    while "busy" in sys.argv:
        number += 1
        await host.accept(said(number))

with installed(Platform(script)):
    main(["serve"])
"""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


class Faults:
    """Ways in which the database of a process says nothing."""

    def __init__(self, server: PostgresServer, proxy: TcpProxy, url: str) -> None:
        self._server = server
        self._proxy = proxy
        self._url = url
        self._stopped: list[int] = []
        self._locking: psycopg.Connection | None = None

    async def calm(self) -> None: ...

    async def silent(self) -> None:
        self._proxy.silence()

    async def silent_for_long(self) -> None:
        self._proxy.silence()
        await asyncio.sleep(4)  # longer than a node takes to notice

    async def lost(self) -> None:
        self._proxy.lose()

    async def stopped(self) -> None:
        """Stop the server's own processes, which still have their connections."""
        query = "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'parley%'"
        with psycopg.connect(self._server.admin_url) as admin:
            self._stopped = [pid for (pid,) in admin.execute(query).fetchall()]
        for pid in self._stopped:
            os.kill(pid, signal.SIGSTOP)

    async def locked(self) -> None:
        self._locking = await asyncio.to_thread(psycopg.connect, self._url)
        await asyncio.to_thread(self._locking.execute, "LOCK TABLE turns, nodes, inbox")

    def end(self) -> None:
        for pid in self._stopped:
            os.kill(pid, signal.SIGCONT)
        if self._locking is not None:
            self._locking.close()


@asynccontextmanager
async def serving(folder: Path, url: str, *how: str) -> AsyncGenerator[asyncio.subprocess.Process]:
    """The process, once it has taken a message."""
    (folder / "config.toml").write_text(CONFIG)
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", CHILD, *how),
        cwd=folder,
        env={
            **os.environ,
            "ADDRESS": url,
            "PARLEY_CONFIG": "config.toml",
            "PYTHONPATH": str(ROOT),
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        assert child.stdout is not None
        assert await child.stdout.readline() == b"ready\n"
        yield child
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()


@pytest.mark.parametrize(
    ("fault", "how"),
    [
        pytest.param("calm", "busy", marks=pytest.mark.nightly),
        ("silent", "busy"),
        ("silent_for_long", "one turn"),
        pytest.param("lost", "busy", marks=pytest.mark.nightly),
        ("stopped", "busy"),
        ("locked", "one turn"),
    ],
)
async def test_a_process_ends_within_its_time_and_a_second_whatever_its_database_does(
    server, tmp_path, fault, how
):
    url = server.new_url()
    async with TcpProxy(url) as proxy, serving(tmp_path, proxy.url, how) as child:
        faults = Faults(server, proxy, url)
        try:
            await getattr(faults, fault)()
            began = monotonic()
            child.send_signal(signal.SIGTERM)
            async with asyncio.timeout(30):
                code = await child.wait()
            took = monotonic() - began
        finally:
            faults.end()
    assert code == ExitCode.DONE
    assert took <= SHUTDOWN + slowness()  # a second of an idle machine's
