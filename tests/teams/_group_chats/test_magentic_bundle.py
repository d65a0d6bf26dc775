"""MagenticOne without its browser: agents, warnings, dump, approval, people, close."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from teams import MagenticOneGroupChat
from teams.agents import ApprovalRequest, ApprovalResponse
from teams.base import ChatAgent, Team
from teams.code_executor import CodeExecutor, CodeResult
from teams.code_executors.local import LocalCommandLineCodeExecutor
from teams.magentic_one import MagenticOne
from teams.models import ModelInfo
from teams.models.openai import OpenAIChatCompletionClient
from teams.teams import magentic_one
from tests.fakes.openai_script import Reply
from tests.gateway.journeys.test_magentic_one import ledger

NAMES = ["FileSurfer", "WebSurfer", "Coder", "ComputerTerminal"]
SCRIPT = "```python\nprint(6 * 7)\n```"


@pytest.fixture
async def model(openai_server):
    client = OpenAIChatCompletionClient(model="gpt-4o", api_key="sk-x", base_url=openai_server.url)
    yield client
    await client.close()


class Executor(CodeExecutor):
    """Runs nothing, and notes what it is told."""

    component_type = "code_executor"

    def __init__(self) -> None:
        self.told: list[str] = []

    async def execute_code_blocks(self, code_blocks: Any, cancellation_token: Any) -> CodeResult:
        self.told += [block.code for block in code_blocks]
        return CodeResult(exit_code=0, output="42")

    async def start(self) -> None: ...

    async def stop(self) -> None:
        self.told.append("stop")

    async def restart(self) -> None: ...


def agents_of(team: Team) -> list[ChatAgent]:
    return list(team._participants)  # pyright: ignore[reportAttributeAccessIssue]


async def test_it_has_the_documented_agents(model):
    for hil_mode, names in ((False, NAMES), (True, [*NAMES, "User"])):
        team = MagenticOne(client=model, hil_mode=hil_mode, code_executor=Executor())
        assert [agent.name for agent in agents_of(team)] == names
    assert magentic_one.MagenticOne is MagenticOne


async def test_without_an_executor_it_says_so_and_that_code_runs_here(model):
    with (
        pytest.warns(DeprecationWarning, match="Give MagenticOne a code_executor"),
        pytest.warns(UserWarning, match="on this machine, with your rights"),
    ):
        team = MagenticOne(model)
    terminal: Any = agents_of(team)[-1]
    assert isinstance(terminal._code_executor, LocalCommandLineCodeExecutor)
    await team.close()


async def test_a_model_without_the_abilities_is_warned_of(openai_server):
    info = ModelInfo(
        vision=False,
        function_calling=True,
        json_output=False,
        structured_output=False,
        family="unknown",
    )
    client = OpenAIChatCompletionClient(
        model="gpt-4o", api_key="sk-x", base_url=openai_server.url, model_info=info
    )
    with pytest.warns(UserWarning, match="needs a model with vision and json_output"):
        MagenticOne(client, code_executor=Executor())
    await client.close()


async def test_it_dumps_as_the_group_chat_that_it_is(model, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    made = MagenticOne(model, hil_mode=True, code_executor=LocalCommandLineCodeExecutor())
    dumped = made.dump_component()
    assert dumped.provider == "teams.MagenticOneGroupChat"
    again = Team.load_component(json.loads(dumped.model_dump_json()), MagenticOneGroupChat)
    assert [agent.name for agent in agents_of(again)] == [*NAMES, "User"]


async def test_with_an_approval_function_it_can_t_be_dumped(model):
    def approve(request: ApprovalRequest) -> ApprovalResponse:
        return ApprovalResponse(approved=True, reason="")

    executor = LocalCommandLineCodeExecutor()
    team = MagenticOne(model, code_executor=executor, approval_func=approve)
    with pytest.raises((NotImplementedError, ValueError)):
        team.dump_component()


async def test_a_person_is_asked_and_code_is_approved_before_it_runs(openai_server, model):
    openai_server.script(
        *(Reply(text="Facts."), Reply(text="Plan."), ledger("User", "Which number?")),
        *(ledger("Coder", "Write code."), Reply(text=SCRIPT), ledger("ComputerTerminal", "Run.")),
        *(ledger("Coder", done=True), Reply(text="42.")),
    )
    asked: list[str] = []
    executor = Executor()

    def approve(request: ApprovalRequest) -> ApprovalResponse:
        asked.append(request.code)
        return ApprovalResponse(approved=not executor.told, reason="Once.")

    def answer(prompt: str) -> str:
        asked.append("person")
        return "Six times seven."

    async with MagenticOne(model, True, answer, executor, approve) as team:
        result = await team.run(task="A number.")
        assert result.messages[-1].to_text() == "42."
        assert asked == ["person", "print(6 * 7)\n"]
        assert executor.told == ["print(6 * 7)\n"]
    assert executor.told == ["print(6 * 7)\n", "stop"]


async def test_all_agents_are_closed_even_if_one_fails(model, monkeypatch: pytest.MonkeyPatch):
    executor = Executor()
    team = MagenticOne(model, code_executor=executor)

    async def fails() -> None:
        raise RuntimeError("It is stuck.")

    for agent in agents_of(team)[1:3]:
        monkeypatch.setattr(agent, "close", fails)
    with pytest.raises(RuntimeError, match="stuck"):
        await team.close()
    assert executor.told == ["stop"]


async def test_the_working_folder_is_the_file_surfer_s(
    model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    team = MagenticOne(model, code_executor=LocalCommandLineCodeExecutor())
    files = team.dump_component().config["participants"][0]
    assert files["config"].get("base_path") is None
