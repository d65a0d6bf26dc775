"""The hostile machines: a team and a channel for each."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from tests.security.redteam import figures, knowledge, mcp_server, web_server
from tests.security.redteam.chats import Chat, until
from tests.security.redteam.mcp_server import Machine, McpServer
from tests.security.redteam.moved import Moved
from tests.security.redteam.scripts import Scripts, named
from tests.security.redteam.web_server import PAGES, WebServer
from tests.security.redteam.words import HOSTILE

ROOT = Path(__file__).resolve().parents[3]
CONFIG = """
[teams.web]
type = "round_robin"
max_turns = 1
agents.surfer = {{ tools = [{pages}] }}

[teams.pipe]
type = "round_robin"
max_turns = 1
agents.piper = {{ mcp = ["pipe"] }}

[teams.net]
type = "round_robin"
max_turns = 1
agents.netter = {{ mcp = ["net"] }}

[teams.shelf]
type = "round_robin"
max_turns = 1
agents.reader = {{ knowledge = ["shelf"], tools = ["tests.security.redteam.tool:wipe"] }}

[mcp.pipe]
command = "{python}"
args = ["-m", "tests.security.redteam.mcp_server", "pipe", "{outside}", "{bills}/pipe"]
env = {{ PYTHONPATH = "{root}" }}
sampling = true
elicitation = true

[mcp.net]
url = "{mcp_url}"

[knowledge.shelf]
folder = "shelf"
"""
RULES = "\n".join(
    [f'read_{page} = {{ action = "allow", read_only = true }}' for page in PAGES]
    + [
        f'"{name}/{name}_{tool}" = "allow"'
        for name in mcp_server.NAMES
        for tool in mcp_server.TOOLS
    ]
    + ['"pipe/sampling" = "allow"']
)
"""The operator's word for the tools as they were first."""
PLACES = ("web", "pipe", "net", "shelf")
SCRIPTS: Scripts = {
    **figures.SCRIPTS,
    **knowledge.SCRIPTS,
    **mcp_server.scripts(),
    **web_server.SCRIPTS,
}


@asynccontextmanager
async def machines(folder: Path, outside: Path, moved: Moved) -> AsyncGenerator[str]:
    """Start the servers and fill the folder; their part of the config."""
    bills = folder / "bills"
    bills.mkdir()
    knowledge.fill(folder / "shelf", outside)
    async with (
        WebServer(moved) as site,
        McpServer(Machine("net", str(outside), bills / "net")) as mcp,
    ):
        pages = ", ".join(
            f'{{ http = "{site.url}/{page}", name = "read_{page}", description = "Read." }}'
            for page in PAGES
        )
        yield CONFIG.format(
            pages=pages,
            python=sys.executable,
            root=ROOT,
            outside=outside,
            bills=bills,
            mcp_url=mcp.url,
        )


async def attack(chat: Chat, folder: Path) -> None:
    """Have each machine do all that it can."""
    await _play(chat, figures.SCRIPTS, "general")
    await _play(chat, web_server.SCRIPTS, "web")
    scripts = list(mcp_server.scripts())
    for name in mcp_server.NAMES:
        first = [each for each in scripts if each.startswith(name) and "-pay" not in each]
        await _play(chat, first, name)
    for name in mcp_server.NAMES:
        await until((folder / "bills" / name).exists)
        await _play(chat, [f"{name}-pay"], name)
    for _ in range(3):  # a turn does not wait for the index
        await chat.ask("rita", f"{HOSTILE}: {knowledge.QUESTION}", "shelf")
        await asyncio.sleep(3)


async def _play(chat: Chat, scripts: Iterable[str], place: str) -> None:
    for script in scripts:
        await chat.ask(f"player-{place}", f"{HOSTILE} {named(script)}", place)
