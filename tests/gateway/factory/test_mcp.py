"""Servers that speak MCP, in config.toml."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gateway.app.load import load_config
from gateway.base.redaction import secrets_of
from gateway.config.problems import ConfigError
from gateway.events import MessageFinished
from gateway.factory.teams import TeamFactory
from gateway.gateway import Gateway
from tests.fakes.new_store import new_store
from tests.fakes.openai_script import Call, Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.gateway.scripted import of, turn

pytestmark = pytest.mark.timeout(40)  # a server is started

ROOT = Path(__file__).resolve().parents[3]

CONFIG = """
[models.m]
provider = "openai"
model = "gpt-4o"
base_url = "{url}"
api_key = "key"

[teams.desk]
type = "round_robin"
participants = ["clerk"]
max_turns = 1

[policies.tools]
"notes/add" = "allow"

[teams.desk.agents.clerk]
tools = ["os:getpid"]

[[teams.desk.agents.clerk.mcp]]
name = "notes"
command = "{python}"
args = ["-m", "tests.fakes.quick_mcp_server"]
cwd = "{root}"
timeout = 20
env = {{ NOTES = "{notes}", SERVER_KEY = "${{SERVER_KEY}}" }}
"""


async def test_an_agent_has_the_tools_of_a_server_beside_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVER_KEY", "swordfish")
    async with FakeOpenAI() as model:
        notes = tmp_path / "notes"
        text = CONFIG.format(url=model.url, python=sys.executable, root=ROOT, notes=notes)
        (tmp_path / "config.toml").write_text(text)
        loaded = load_config(tmp_path / "config.toml")
        assert "swordfish" in set(secrets_of(loaded.config))
        model.script(Reply(calls=[Call(name="add", arguments='{"a": 1, "b": 2}')]), Reply(text="3"))
        teams = TeamFactory(loaded.config, loaded.imports, start_folder=tmp_path)
        # The server ends with the gateway: a task of it that is left would fail the test.
        async with Gateway(new_store(tmp_path / "store"), teams) as gateway:
            events = await turn(
                gateway, (await gateway.client.create_thread()).id, "add one and two"
            )
        await teams.aclose()
    assert [event.text for event in of(MessageFinished, events)] == ["3"]
    assert notes.read_text() == "add 1 2\n"
    offered = [tool["function"]["name"] for tool in model.requests[0].body["tools"]]
    assert offered == ["getpid", "add", "fail", "wait", "end"]


@pytest.mark.parametrize("server", ["{}", '{ command = "a", url = "http://b" }'])
def test_a_server_has_either_a_command_or_a_url(tmp_path: Path, server: str) -> None:
    (tmp_path / "config.toml").write_text(
        '[teams.desk]\ntype = "round_robin"\nparticipants = ["clerk"]\n'
        f"[teams.desk.agents.clerk]\nmcp = [{server}]\n"
    )
    with pytest.raises(ConfigError, match="a url, expected one of the two"):
        load_config(tmp_path / "config.toml")


NAMED = """
[mcp.files]
command = "files"
sampling = "fast"

[mcp."a b"]
url = "http://x"

[teams.desk]
type = "round_robin"
max_turns = 1

[teams.desk.agents.clerk]
mcp = ["fils", "files", { name = "files", command = "x" }, { command = "x", sampling = "slow" }]

[policies.tools]
"files/read" = "allow"
"""


def test_names_of_servers_that_lead_nowhere_or_collide_are_reported(tmp_path: Path) -> None:
    def reported(text: str) -> str:
        (tmp_path / "config.toml").write_text(text)
        with pytest.raises(ConfigError) as raised:
            load_config(tmp_path / "config.toml")
        return str(raised.value)

    twice = reported(NAMED)
    assert "found two servers named 'files', expected a name for each" in twice
    apart = NAMED.replace('"files", {', "{").replace('[mcp."a b"]', "[mcp.other]")
    said = reported(apart)
    named = reported(NAMED.replace('"files", {', "{"))
    assert "found 'a b', expected a name of letters, digits, - and _" in named
    for text in (
        "found 'fils', expected a server in [mcp]; did you mean 'files'?",
        "found 'files', which is the name of a server in [mcp]; expected another name, or "
        '"files" instead of the table',
        "found 'fast', expected the name of a model",
        "found 'slow', expected the name of a model",
    ):
        assert text in said


def test_a_server_that_changes_changes_its_teams(tmp_path: Path) -> None:
    def definition(command: str) -> str:
        (tmp_path / "config.toml").write_text(
            f'[mcp.files]\ncommand = "{command}"\n[teams.desk]\ntype = "round_robin"\n'
            'max_turns = 1\n[teams.desk.agents.clerk]\nmcp = ["files"]\n'
        )
        loaded = load_config(tmp_path / "config.toml")
        teams = TeamFactory(loaded.config, loaded.imports, start_folder=tmp_path)
        return teams.info("desk").definition

    assert definition("a") == definition("a") != definition("b")
