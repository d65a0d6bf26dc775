"""Instruction files: every agent is told, and no state has them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from gateway.access.authority import Access
from gateway.app.assemble import team_factory
from gateway.app.load import load_config
from gateway.app.trust import found_config, remember
from gateway.config.routes import Route
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.events import InputRequested, MessageFinished, TurnFinished
from gateway.gateway import Gateway
from tests.fakes.new_store import new_store
from tests.gateway.scripted import ends, of, turn, until

pytestmark = pytest.mark.usefixtures("fresh_imports")

PARTS = """
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.core import FunctionCall
from teams.models import CreateResult, RequestUsage
from teams.models.replay import ReplayChatCompletionClient

INFO = {"vision": False, "function_calling": True, "json_output": True, "family": "unknown",
        "structured_output": True}
MADE = []
CALL = CreateResult(
    finish_reason="function_calls",
    content=[FunctionCall(id="1", name="send", arguments='{"text": "x"}')],
    usage=RequestUsage(prompt_tokens=1, completion_tokens=1),
    cached=False,
)


class Model(ReplayChatCompletionClient):
    component_provider_override = "parts.Model"

    def __init__(self, answers):
        super().__init__([each if isinstance(each, str) else CALL for each in answers], INFO)
        MADE.append(self)

    @classmethod
    def _from_config(cls, config):
        return cls(config.chat_completions)


def team():
    return RoundRobinGroupChat([AssistantAgent("own", Model(["Hi"]))], max_turns=1)


async def send(text: str) -> str:
    "Sends a mail."
    return "sent"
"""
MODEL = """
[models.m]
provider = "parts:Model"
options = { answers = ["A", "B", "C", "D"] }
"""
TEAMS = {
    "round robin": """
        type = "round_robin"
        agents.a = {}
        agents.b = {}
    """,
    "team inside": """
        type = "round_robin"
        participants = ["inner"]
        [teams.inner]
        type = "round_robin"
        agents.a = {}
        agents.b = {}
    """,
    "selector": """
        type = "selector"
        max_turns = 1
        agents.a = {}
        agents.b = {}
    """,
    "magentic one": """
        type = "magentic_one"
        agents.a = {}
    """,
    "society": """
        type = "round_robin"
        agents.a = { type = "society_of_mind", team = "inner" }
        [teams.inner]
        type = "round_robin"
        agents.b = {}
    """,
    "coder": """
        type = "round_robin"
        agents.a = { type = "coder" }
        agents.b = { type = "code_executor", executor = { type = "local" }, model = "m" }
    """,
    "surfer": """
        type = "round_robin"
        agents.a = { type = "file_surfer" }
    """,
    "conversable": """
        type = "conversable"
        starter = "a"
        recipient = "b"
        max_turns = 2
        agents.a = {}
        agents.b = {}
    """,
    "factory": 'factory = "parts:team"',
    "component": 'component = "team.json"\ntrusted_modules = ["parts"]',
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "parts.py").write_text(PARTS)
    (tmp_path / "AGENTS.md").write_text("House rules.")
    client = {"provider": "parts.Model", "config": {"chat_completions": ["Hi"]}}
    agent = {
        "provider": "autogen_agentchat.agents.AssistantAgent",
        "config": {
            "name": "a",
            "model_client": client,
            "description": "x",
            "reflect_on_tool_use": False,
            "tool_call_summary_format": "{result}",
        },
    }
    team = {
        "provider": "autogen_agentchat.teams.RoundRobinGroupChat",
        "config": {"participants": [agent], "max_turns": 1},
    }
    (tmp_path / "team.json").write_text(json.dumps(team))
    return tmp_path


def gateway(folder: Path, text: str, named: Path | None = None) -> Gateway:
    (folder / "config.toml").write_text(MODEL + dedent(text))
    teams = team_factory(load_config(named), folder / "store")
    return Gateway(new_store(folder / "store"), teams)


def asked() -> list[list[Any]]:
    """The messages of each request so far."""
    return [call["messages"] for each in sys.modules["parts"].MADE for call in each.create_calls]


@pytest.mark.sqlite  # it reads the files of the store
@pytest.mark.parametrize("team", TEAMS)
async def test_every_agent_of_any_team_is_told_and_the_store_never(folder: Path, team: str) -> None:
    table = f'[teams.t]\ninstruction_files = ["AGENTS.md"]\n{dedent(TEAMS[team])}'
    async with gateway(folder, table, folder / "config.toml") as running:
        await turn(running, (await running.client.create_thread()).id, "Why?")
    assert asked()
    assert {messages[0].content.split("\n\n")[0] for messages in asked()} == {"House rules."}
    stored = b"".join(path.read_bytes() for path in (folder / "store").rglob("*") if path.is_file())
    assert b"Why?" in stored
    assert b"House rules." not in stored


async def test_a_changed_file_is_told_at_the_next_turn_and_a_missing_one_ends_it(folder) -> None:
    table = '[teams.t]\ntype = "round_robin"\ninstruction_files = ["AGENTS.md"]\nagents.a = {}\n'
    async with gateway(folder, table, folder / "config.toml") as running:
        thread = (await running.client.create_thread()).id
        await turn(running, thread, "one")
        (folder / "AGENTS.md").write_text("Other rules.")
        await turn(running, thread, "two")
        (folder / "AGENTS.md").unlink()
        events = await turn(running, thread, "three")
        assert [event.outcome for event in of(TurnFinished, events)] == ["failed"]
        (folder / "AGENTS.md").write_text("New rules.")
        events = await turn(running, thread, "four")
    assert [event.text for event in of(MessageFinished, events)] == ["C"]
    firsts = [messages[0].content.split("\n\n")[0] for messages in asked()]
    assert firsts == ["House rules.", "Other rules.", "New rules."]


async def test_a_team_inside_has_files_of_its_own(folder: Path) -> None:
    (folder / "INNER.md").write_text("Inner rules.")
    table = """
    [teams.t]
    type = "round_robin"
    instruction_files = ["AGENTS.md"]
    participants = ["a", "inner"]
    agents.a = { system_message = "" }
    [teams.inner]
    type = "round_robin"
    instruction_files = ["INNER.md"]
    agents.b = { system_message = "" }
    """
    async with gateway(folder, table, folder / "config.toml") as running:
        await turn(running, (await running.client.create_thread()).id, "Why?")
    firsts = [messages[0].content for messages in asked()]
    assert firsts == ["House rules.", "House rules.\n\nInner rules."]


FOUND = """
[models.m]
provider = "parts:Model"
options = { answers = [1, "Sent."] }
[teams.t]
type = "round_robin"
instruction_files = ["AGENTS.md"]
agents.a = { tools = ["parts:send"] }
[policies.tools]
send = { action = "allow", output = "trusted" }
"""


@pytest.mark.parametrize("trusted", [False, True])
async def test_until_a_found_config_is_trusted_the_text_is_foreign_and_tools_ask(
    folder: Path, trusted: bool
) -> None:
    (folder / "config.toml").write_text(FOUND)
    if trusted:
        found = found_config(None)
        assert found is not None
        remember(found)
    running = Gateway(new_store(folder / "store"), team_factory(load_config(), folder / "store"))
    async with running:
        events = await turn(running, (await running.client.create_thread()).id, "Why?")
    system, first, *_ = asked()[0]
    assert system.content.startswith("House rules.") == trusted
    assert ("<<<foreign" in first.content, bool(of(InputRequested, events))) == (
        not trusted,
        not trusted,
    )


ANN, BOB = Author(id="x:ann", name="Ann"), Author(id="x:bob", name="Bob")
KEY = ConversationKey(platform="x", workspace="w", channel="c", root="1")


@pytest.mark.sqlite  # it reads the files of the store
@pytest.mark.parametrize("team", TEAMS)
async def test_what_a_route_says_is_told_to_every_agent_of_any_team_and_not_stored(
    folder: Path, team: str
) -> None:
    mine = Route(adapter="x", channels=["c"], users=["x:ann"], instructions="Speak of cats.")
    (folder / "config.toml").write_text(f"{MODEL}[teams.t]\n{dedent(TEAMS[team])}")
    teams = team_factory(load_config(folder / "config.toml"), folder / "store")
    access = Access(["x:bob"], routes=[mine])
    async with Gateway(new_store(folder / "store"), teams, access=access) as running:
        said = await running.accept(InboundMessage(key=KEY, author=ANN, text="Why?"))
        await until(running, said.thread, ends)
    assert asked()
    assert {messages[0].content.split("\n\n")[0] for messages in asked()} == {"Speak of cats."}
    stored = b"".join(path.read_bytes() for path in (folder / "store").rglob("*") if path.is_file())
    assert b"Why?" in stored
    assert b"Speak of cats." not in stored


async def test_a_turn_has_the_instructions_of_its_askers_route_after_the_files(folder) -> None:
    routes = [
        Route(adapter="x", channels=["c"], users=["x:ann"], instructions="Speak of cats."),
        Route(adapter="x", channels=["c"], users=["x:bob"]),
    ]
    table = '[teams.t]\ntype = "round_robin"\ninstruction_files = ["AGENTS.md"]\nagents.a = {}\n'
    (folder / "config.toml").write_text(f"{MODEL}{table}")
    teams = team_factory(load_config(folder / "config.toml"), folder / "store")
    async with Gateway(new_store(folder / "store"), teams, access=Access(routes=routes)) as running:
        after = 0
        for author in (ANN, BOB):
            said = await running.accept(InboundMessage(key=KEY, author=author, text="Why?"))
            after = (await until(running, said.thread, ends, after))[-1].seq
    firsts = [messages[0].content.split("\n\n")[:2] for messages in asked()]
    assert firsts[0] == ["House rules.", "Speak of cats."]
    assert "Speak of cats." not in firsts[1]
