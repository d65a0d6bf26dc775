"""`parley simulate slack`: Parley itself answers in the simulated workspace."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.fakes.openai_script import Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.proxy import FakeProxy
from tests.fakes.pty_process import PtyProcess

pytestmark = pytest.mark.timeout(120)

ROOT = Path(__file__).parents[4]
MODEL = """
[models.m]
model = "gpt-4o"
base_url = "{url}"
api_key = "sk-good"

[teams.t]
type = "round_robin"
max_turns = 1
agents.front = {{}}
"""


class Terminal:
    """The running command, typed to and read from."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.shown = ""

    def types(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())

    async def shows(self, text: str) -> None:
        assert self.process.stdout is not None
        async with asyncio.timeout(60):
            while text not in self.shown:
                line = await self.process.stdout.readline()
                assert line, self.shown
                self.shown += line.decode()


async def parley(folder: Path, *arguments: str) -> Terminal:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "gateway.cli",
        *arguments,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    return Terminal(process)


@pytest.mark.chaos
async def test_the_demo_team_answers_where_there_is_no_config(tmp_path: Path) -> None:
    terminal = await parley(tmp_path, "simulate", "slack")
    try:
        await terminal.shows("The app is connected.")
        terminal.types("@parley what is 3*4?")
        await terminal.shows("**12**")
        terminal.types("/quit")
        assert await asyncio.wait_for(terminal.process.wait(), 60) == 0
    finally:
        if terminal.process.returncode is None:
            terminal.process.kill()
            await terminal.process.wait()
    assert "#general [1] alice" in terminal.shown
    assert "calculator" in terminal.shown


@pytest.mark.chaos
@pytest.mark.parametrize("typed", [b"", b"/quit\n"])
async def test_alone_it_ends_before_an_app_is_connected(tmp_path: Path, typed: bytes) -> None:
    terminal = await parley(tmp_path, "simulate", "slack", "--alone")
    try:
        async with asyncio.timeout(30):
            shown, _ = await terminal.process.communicate(typed)
    finally:
        if terminal.process.returncode is None:
            terminal.process.kill()
            await terminal.process.wait()
    assert terminal.process.returncode == 0, shown
    assert b"[adapters.slack]" in shown


@pytest.mark.chaos
@pytest.mark.parametrize("platform", ["slack", "discord"])
def test_a_closed_window_ends_it_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    with PtyProcess("gateway.cli", "simulate", platform, folder=tmp_path) as terminal:
        terminal.until("alice #general>")
        terminal.type("@parley hello\n")
        terminal.until("Hello!")  # its turn is still running
        terminal.hang_up()
        assert terminal.ended(within=20) == 128 + signal.SIGHUP
    assert list((tmp_path / "temporary").iterdir()) == []  # the threads are gone


@pytest.mark.chaos
async def test_models_are_reached_through_the_proxy_and_the_simulated_platform_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FakeProxy(password="canary-of-a-proxy") as proxy, FakeOpenAI() as model:
        model.rule(Reply(text="Through the proxy."))
        for name in ("HTTPS_PROXY", "HTTP_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        config = tmp_path / "proxied.toml"
        config.write_text(MODEL.format(url=model.url))
        terminals = [
            await parley(tmp_path, "simulate", platform, "--config", str(config))
            for platform in ("slack", "discord")
        ]
        try:
            for terminal in terminals:
                await terminal.shows("//")  # the end of its help
                terminal.types("@parley hello")
            for terminal in terminals:
                await terminal.shows("Through the proxy.")
        finally:
            for terminal in terminals:
                terminal.process.kill()
                await terminal.process.wait()
        assert {urlsplit(target).path for target in proxy.targets} == {"/v1/chat/completions"}
        assert len(proxy.targets) == len(model.requests) == len(terminals)


@pytest.mark.chaos
async def test_alone_it_waits_for_a_parley_that_is_served_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("default_team = 'not used, so nobody is asked about it'")
    workspace = await parley(tmp_path, "simulate", "slack", "--alone")
    served: Terminal | None = None
    try:
        await workspace.shows("[adapters.slack]")
        await workspace.shows("api_url")
        await workspace.shows("Type a message")
        config = workspace.shown.partition("Type a message")[0]
        health = "[health]\nport = 0\n"  # another process of the tests may have the default
        (tmp_path / "config.toml").write_text(f"{config}\n{health}")
        served = await parley(tmp_path, "serve")
        await workspace.shows("The app is connected.")
        workspace.types("@Parley hello")
        await workspace.shows("in 1 front_desk")
    finally:
        for each in filter(None, (served, workspace)):
            each.process.terminate()
            await each.process.wait()


@pytest.mark.chaos
def test_on_a_terminal_the_prompt_says_who_and_where_one_is(tmp_path: Path) -> None:
    with PtyProcess("gateway.cli", "simulate", "slack", folder=tmp_path) as terminal:
        terminal.until("alice #general> ")
        terminal.type("@parley hello\n")
        terminal.until("in 1 front_desk")
        terminal.type("/thread 1\n/as bob\n")
        terminal.until("bob #general in 1> ")
        terminal.type("\x03")
        assert terminal.ended() == 130
