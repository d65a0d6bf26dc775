"""Code execution as a tool."""

from pathlib import Path

import pytest

from teams.agents import AssistantAgent
from teams.base import InputRequired, run_hooks
from teams.code_executors.local import LocalCommandLineCodeExecutor
from teams.core import CancellationToken
from teams.messages import ToolCallExecutionEvent
from teams.tools import BaseTool
from teams.tools.code_execution import (
    CodeExecutionInput,
    CodeExecutionResult,
    PythonCodeExecutionTool,
)
from tests.fakes.scripted_model import ScriptedModel, calls


@pytest.fixture
def tool(tmp_path: Path) -> PythonCodeExecutionTool:
    return PythonCodeExecutionTool(LocalCommandLineCodeExecutor(work_dir=tmp_path))


@pytest.mark.parametrize(
    ("code", "success", "output"),
    [
        ("print(6 * 7)", True, "42\n"),
        ("import sys; sys.exit('no')", False, "no\n"),
        ("import sys; sys.exit(3)", False, "(no output, exit code 3)"),
        ("pass", True, "(no output, exit code 0)"),
    ],
)
async def test_it_runs_python_code(tool, code: str, success: bool, output: str):
    result = await tool.run(CodeExecutionInput(code=code), CancellationToken())
    assert (result.success, result.output) == (success, output)


async def test_a_model_is_told_the_output(tool):
    result = await tool.run_json({"code": "print('hi')"}, CancellationToken())
    assert isinstance(result, CodeExecutionResult)
    assert tool.return_value_as_string(result) == "hi\n"
    assert tool.name == "CodeExecutor"
    assert tool.schema["parameters"]["required"] == ["code"]  # type: ignore


async def test_an_agent_uses_it_and_the_run_may_hold_it_back(tool):
    def agent() -> AssistantAgent:
        model = ScriptedModel(calls(("CodeExecutor", {"code": "print(6 * 7)"})))
        return AssistantAgent("coder", model, tools=[tool])

    result = await agent().run(task="go")
    [event] = [item for item in result.messages if isinstance(item, ToolCallExecutionEvent)]
    assert event.content[0].content == "42\n"

    async def hold(call, proceed):
        raise InputRequired("Run this?", kind="approval")

    with run_hooks(intercept=hold):
        [pending] = (await agent().run(task="go")).pending
    assert pending.prompt == "Run this?"


def test_it_round_trips_as_a_component(tool):
    dumped = tool.dump_component()
    assert dumped.provider == "teams.tools.code_execution.PythonCodeExecutionTool"
    assert BaseTool.load_component(dumped).dump_component() == dumped
    autogen = dumped.model_dump()
    autogen["provider"] = "autogen_ext.tools.code_execution.PythonCodeExecutionTool"
    autogen["config"]["executor"]["provider"] = (
        "autogen_ext.code_executors.local.LocalCommandLineCodeExecutor"
    )
    assert isinstance(BaseTool.load_component(autogen), PythonCodeExecutionTool)
