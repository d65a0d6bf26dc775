"""Teams whose first turn imports nothing any more."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.models.openai import OpenAIChatCompletionClient
from tests.fakes.pty_process import ROOT

PROGRAM = """
import asyncio, json, sys, threading
from pathlib import Path
from gateway.base.imports import Imports
from gateway.config.root import Config
from gateway.factory.teams import TeamFactory

config = Config.model_validate(json.loads(sys.argv[1]))
here = []

class Watch:
    def find_spec(name, path=None, target=None):
        if threading.current_thread() is threading.main_thread():
            here.append(name.partition(".")[0])

async def main():
    teams = TeamFactory(config, Imports(), start_folder=Path.cwd())
    sys.meta_path.insert(0, Watch)
    await teams.build(teams.default, workdir=Path.cwd())
    await teams.aclose()

asyncio.run(main())
print(sorted({"openai", "mcp"} & set(sys.modules)))
http = {"httpx", "httpcore", "httpx2", "httpcore2"}
print({"openai", "mcp", *http} & set(here) or "nothing")
"""

MODEL = {"provider": "openai", "model": "gpt-4o", "api_key": "sk-good"}
AGENT = {"mcp": [{"command": "nothing"}]}
INNER = {"type": "round_robin", "max_turns": 1, "agents": {"a": AGENT}}
OUTER = {"type": "round_robin", "max_turns": 1, "participants": ["inner"]}


def _imported(config: object) -> list[str]:
    """Packages that one build imported, and those on the loop."""
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(config)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


@pytest.mark.chaos
@pytest.mark.timeout(60)
def test_a_teams_models_and_servers_are_imported_beside_the_loop():
    config = {"models": {"m": MODEL}, "teams": {"outer": OUTER, "inner": INNER}}
    assert _imported(config) == ["['mcp', 'openai']", "nothing"]


@pytest.mark.chaos
@pytest.mark.timeout(60)
def test_a_component_files_models_are_imported_beside_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-good")
    client = OpenAIChatCompletionClient(model="gpt-4o", api_key="sk-good")
    component = RoundRobinGroupChat([AssistantAgent("a", client)], max_turns=1).dump_component()
    (tmp_path / "team.json").write_text(component.model_dump_json())
    allow = [{"env": "OPENAI_API_KEY", "for": "https://api.openai.com"}]
    team = {"component": str(tmp_path / "team.json"), "allow": allow}
    assert _imported({"teams": {"main": team}}) == ["['openai']", "nothing"]
