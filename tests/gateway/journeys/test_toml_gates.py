"""Teams from TOML: policies at any depth, and people inside nested teams."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from gateway.app.load import load_config
from gateway.client import Answer
from gateway.events import InputRequested, MessageFinished, ToolFinished
from gateway.factory.teams import TeamFactory
from gateway.gateway import Gateway
from tests.fakes.new_store import new_store
from tests.gateway.scripted import ends, of, turn, until

pytestmark = pytest.mark.usefixtures("fresh_imports")

PARTS = """
from teams.code_executor import CodeExecutor, CodeResult
from teams.models.replay import ReplayChatCompletionClient

RAN = []
INFO = {"vision": False, "function_calling": True, "json_output": True, "family": "unknown",
        "structured_output": True}


def model(answers):
    return ReplayChatCompletionClient(answers, INFO)


class Executor(CodeExecutor):
    component_type = "code_executor"

    async def execute_code_blocks(self, code_blocks, cancellation_token):
        RAN.append(code_blocks[0].code)
        return CodeResult(exit_code=0, output="it ran")

    async def start(self): ...
    async def stop(self): ...
    async def restart(self): ...
"""

CODE = """
[models.m]
provider = "parts:model"
options = { answers = ["```sh\\nls\\n```", "Done"] }
[teams.outer]
type = "round_robin"
max_turns = 1
participants = ["inner"]
[teams.inner]
type = "round_robin"
max_turns = 2
agents.coder = {}
agents.terminal = { type = "code_executor", executor = { path = "parts:Executor" } }
"""

PERSON = """
[models.m]
provider = "parts:model"
options = { answers = ["clerk", "Shall it rain?"] }
[teams.outer]
type = "graph"
edges = [{ source = "office", target = "printer" }]
agents.office = { type = "society_of_mind", team = "inner" }
agents.printer = {}
[teams.inner]
type = "selector"
max_turns = 2
selector_prompt = "{participants}"
agents.clerk = {}
agents.chief = { type = "user_proxy" }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "parts.py").write_text(PARTS)
    return tmp_path


def source(folder: Path, text: str) -> TeamFactory:
    (folder / "config.toml").write_text(dedent(text))
    loaded = load_config(folder / "config.toml")
    return TeamFactory(loaded.config, loaded.imports, start_folder=folder)


def ran() -> list[str]:
    return sys.modules["parts"].RAN


async def first_turn(folder: Path, text: str) -> list[Any]:
    teams = source(folder, text)
    async with Gateway(new_store(folder / "store"), teams) as gateway:
        return await turn(gateway, (await gateway.client.create_thread()).id, "go")


async def test_code_of_a_team_inside_is_denied_unless_the_policy_says_otherwise(folder):
    events = await first_turn(folder, CODE)
    assert [event.failed for event in of(ToolFinished, events)] == [True]
    assert ran() == []


async def test_code_of_a_team_inside_runs_where_the_policy_allows_it(folder):
    events = await first_turn(folder, CODE + "[policies.tools]\nexecute_code = 'allow'")
    assert [event.failed for event in of(ToolFinished, events)] == [False]
    assert ran() == ["ls\n"]


async def test_code_of_a_team_inside_waits_for_an_approver(folder):
    events = await first_turn(folder, CODE + "[policies.tools]\nexecute_code = 'ask'")
    [asked] = of(InputRequested, events)
    assert (asked.request_kind, asked.tool, events[-1].outcome) == (
        "approval",
        "execute_code",
        "waiting",
    )
    assert ran() == []


async def test_a_person_inside_of_an_agent_in_a_graph_is_asked_and_answers_after_a_restart(folder):
    async with Gateway(new_store(folder / "store"), source(folder, PERSON)) as gateway:
        thread = (await gateway.client.create_thread()).id
        events = await turn(gateway, thread, "go")
    [asked] = of(InputRequested, events)
    assert (asked.agent, events[-1].outcome) == ("chief", "waiting")

    later = PERSON.replace('"clerk", "Shall it rain?"', '"The office says: yes.", "Printed."')
    async with Gateway(new_store(folder / "store"), source(folder, later)) as gateway:
        after = (await gateway.client.thread(thread)).last_seq
        await gateway.client.answer(asked.request, Answer(kind="text", text="Yes"))
        events = await until(gateway, thread, ends, after)
    said = [(event.agent, event.text) for event in of(MessageFinished, events)]
    assert said[-2:] == [("office", "The office says: yes."), ("printer", "Printed.")]
    assert events[-1].outcome == "done"
