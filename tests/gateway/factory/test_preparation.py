"""Teams whose first turn imports nothing any more."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.pty_process import ROOT

PROGRAM = """
import asyncio, sys, threading
from pathlib import Path
from gateway.base.imports import Imports
from gateway.config.root import Config
from gateway.factory.teams import TeamFactory

agent = {"mcp": [{"command": "nothing"}]}
inner = {"type": "round_robin", "max_turns": 1, "agents": {"a": agent}}
outer = {"type": "round_robin", "max_turns": 1, "participants": ["inner"]}
config = Config.model_validate({
    "models": {"m": {"provider": "openai", "model": "gpt-4o", "api_key": "sk-good"}},
    "teams": {"outer": outer, "inner": inner},
})
here = []

class Watch:
    def find_spec(name, path=None, target=None):
        if threading.current_thread() is threading.main_thread():
            here.append(name.partition(".")[0])

async def main():
    teams = TeamFactory(config, Imports(), start_folder=Path.cwd())
    sys.meta_path.insert(0, Watch)
    await teams.build("outer", workdir=Path.cwd())
    await teams.aclose()

asyncio.run(main())
assert {"openai", "mcp"} <= set(sys.modules)
print({"openai", "mcp", "httpx"} & set(here) or "nothing")
"""


@pytest.mark.chaos
@pytest.mark.timeout(60)
def test_a_teams_models_and_servers_are_imported_beside_the_loop(tmp_path: Path):
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.stdout == "nothing\n", run.stderr
