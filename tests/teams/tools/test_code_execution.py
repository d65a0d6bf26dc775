"""Code execution as a tool."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import InputRequired, ToolCall, run_hooks
from teams.code_executors.jupyter import JupyterCodeResult
from teams.code_executors.local import LocalCommandLineCodeExecutor
from teams.core import CancellationToken, Image
from teams.messages import ToolCallExecutionEvent
from teams.tools import BaseTool, ToolResult
from teams.tools.code_execution import (
    CodeExecutionInput,
    CodeExecutionResult,
    PythonCodeExecutionTool,
)
from tests.fakes.scripted_executor import ScriptedExecutor
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


PNG = b"\x89PNG\r\n\x1a\n"


class Artist(ScriptedExecutor):
    """Draws, and remembers that it did."""

    def __init__(self, folder: Path) -> None:
        (folder / "plot.png").write_bytes(PNG)
        super().__init__(draw=JupyterCodeResult(0, "saved as plot.png", [folder / "plot.png"]))
        self.drawn = False

    async def save_state(self) -> Mapping[str, Any]:
        return {"drawn": bool(self.codes) or self.drawn}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        self.drawn = state["drawn"]


def answers(*, vision: bool) -> ScriptedModel:
    batch = calls(("CodeExecutor", {"code": "draw"}), ("CodeExecutor", {"code": "other"}))
    return ScriptedModel(batch, "nice", speaker="coder", vision=vision)


@pytest.mark.parametrize("vision", [True, False])
async def test_what_code_draws_reaches_a_model_that_sees_also_in_another_process(tmp_path, vision):
    async def hold_others(call: ToolCall, proceed: Any) -> ToolResult:
        if "other" in call.arguments and len(made) == 1:
            raise InputRequired("Run this?", kind="approval")
        return await proceed(call)

    def agent() -> AssistantAgent:
        made.append(Artist(tmp_path))
        tool, model = PythonCodeExecutionTool(made[-1]), answers(vision=vision)
        models.append(model)
        return AssistantAgent("coder", model, tools=[tool], max_tool_iterations=2)

    made: list[Artist] = []
    models: list[ScriptedModel] = []
    first = RoundRobinGroupChat([agent()], max_turns=1)
    with run_hooks(intercept=hold_others):
        assert (await first.run(task="go")).pending
        second = RoundRobinGroupChat([agent()], max_turns=1)
        await second.load_state(await first.save_state())
        await second.run()
    assert made[1].drawn
    assert made[1].codes == ["other"]
    *_, results, last = models[1].messages()
    if vision:
        assert last["content"][1:] == [{"data": Image.from_bytes(PNG).to_base64()}]
    else:
        results = last
    assert results["content"][0]["content"] == "saved as plot.png\n[image]"


def test_an_executor_without_a_state_adds_none_to_the_agent_s(tool):
    assert tool.state_type() is None
