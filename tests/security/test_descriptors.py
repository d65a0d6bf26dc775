"""A served process under a local user's half-open connections."""

from __future__ import annotations

import asyncio
import resource
import socket
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from adapters.slack.simulator.clock import RealClock
from adapters.slack.testing import SlackSimulator
from tests.adapters.slack.process import TOML, Shell, free_port, settings, write
from tests.adapters.slack.test_docs import answered, up

HALF_OPEN = 1_100
LIMIT = 1_024
SENT = (
    b"",
    b"G",
    b"GET /healthz HTTP/1.1\r\nHost: a\r\n",
    b"POST /slack/events HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n",
)


@pytest.mark.chaos
@pytest.mark.timeout(120)
async def test_half_open_connections_to_both_ports_take_nothing_down(tmp_path: Path) -> None:
    events, health = free_port(), free_port()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 3 * HALF_OPEN:
        pytest.skip("this machine allows too few descriptors for the attack")
    async with SlackSimulator(clock=RealClock()) as slack:
        secrets = {
            "SLACK_BOT_TOKEN": slack.bot_token,
            "SLACK_SIGNING_SECRET": slack.signing_secret,
        }
        shell = Shell(tmp_path, secrets, list(secrets.values()))
        config = settings(TOML[1], slack, events).replace("port = 0", f"port = {health}")
        write(tmp_path, config)
        async with shell.serving() as process:
            resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (LIMIT // 2, LIMIT))
            await up(f"http://127.0.0.1:{events}/")
            assert resource.prlimit(process.pid, resource.RLIMIT_NOFILE) == (LIMIT, LIMIT)
            url = f"http://127.0.0.1:{events}/slack/events"
            assert await slack.use_app(replace(slack.world.app, socket_mode=False, url=url))
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            with ExitStack() as stack:
                for port in (events, health):
                    for number in range(HALF_OPEN):
                        half = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
                        half.sendall(SENT[number % len(SENT)])
                        await asyncio.sleep(0)
                await answered(slack, "one")
                await answered(slack, "two")
                async with aiohttp.ClientSession(f"http://127.0.0.1:{health}") as session:
                    assert (await session.get("/healthz")).status == 200
                assert "slack" in await shell.output("parley status")
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert "Traceback" not in shell.log
    assert len(shell.log) < 1_000_000
