"""Results of tools as a model is given them."""

import ast
from pathlib import Path
from typing import Any

import pytest

from teams.agents import AssistantAgent, CodeExecutorAgent
from teams.base import run_hooks
from teams.code_executor import CodeResult
from teams.conversable import ConversableAgent
from teams.core import FunctionCall
from teams.messages import ToolCallExecutionEvent
from teams.models import CreateResult, RequestUsage
from teams.models._hosted import ABLE
from teams.models.replay import ReplayChatCompletionClient
from teams.tools import TextResultContent, ToolResult, fit_result
from teams.utils import whole_text
from tests.fakes.scripted_executor import ScriptedExecutor

MB = 1_000_000
SIZE = 100_000


def texts(*parts: str) -> ToolResult:
    return ToolResult(name="f", result=[TextResultContent(content=part) for part in parts])


@pytest.mark.parametrize(
    "parts",
    [
        ["x" * SIZE + "y"],
        ["ü" * SIZE],
        ["🍕" * 50 * 1000],
        ["x" * 60_000, "y" * 60_000, "z"],
        [""] * 3 + ["\ud83c" * SIZE],
    ],
)
def test_a_large_result_is_cut_within_its_bound_and_says_so(parts):
    result = texts(*parts)
    cut = fit_result(result, SIZE)
    text = cut.to_text()
    assert len(text.encode()) <= SIZE + len(parts)  # and the lines between
    assert text.endswith("bytes of text, too much for a model.)")
    assert f"{sum(len(whole_text(each).encode()) for each in parts):,} bytes" in text
    assert fit_result(cut, SIZE + len(parts)) is cut


@pytest.mark.parametrize("parts", [[], [""], ["x" * SIZE], ["a", "ü🍕"], ["x" * 50_000] * 2])
def test_a_result_that_fits_is_itself(parts):
    result = texts(*parts)
    assert fit_result(result, SIZE) is result


def test_a_result_of_broken_characters_is_made_whole():
    assert fit_result(texts("a\ud83c", "\udf55\ud83c\udf55"), SIZE).to_text() == "a\ufffd\n\ufffd🍕"


async def big() -> str:
    """Big."""
    return "word " * (MB // 5)


def call() -> CreateResult:
    return CreateResult(
        finish_reason="function_calls",
        content=[FunctionCall(id="1", name="big", arguments="{}")],
        usage=RequestUsage(1, 2),
        cached=False,
    )


async def as_tool() -> int:
    info: Any = {**ABLE, "vision": False}
    agent = AssistantAgent("ann", ReplayChatCompletionClient([call()], info), tools=[big])
    [event] = [
        each
        for each in (await agent.run(task="go")).messages
        if isinstance(each, ToolCallExecutionEvent)
    ]
    return len(event.content[0].content)


async def as_code() -> int:
    done = CodeResult(exit_code=0, output=await big())
    agent = CodeExecutorAgent("coder", ScriptedExecutor(run=done))
    result = await agent.run(task="```python\nrun\n```")
    return len(result.messages[-1].to_text())


def conversable() -> ConversableAgent:
    agent = ConversableAgent("bob", human_input_mode="NEVER", llm_config=False)
    agent.register_function({"big": big})
    return agent


MESSAGE = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"id": "1", "type": "function", "function": {"name": "big", "arguments": "{}"}}],
}


async def as_function() -> int:
    reply: Any
    _, reply = await conversable().a_generate_tool_calls_reply([MESSAGE])
    return len(reply["content"])


@pytest.mark.parametrize("road", [as_tool, as_code, as_function])
async def test_each_road_of_a_result_to_a_model_has_its_bound(road):
    assert 90_000 < await road() < SIZE + 100
    with run_hooks(largest_result=1000):
        assert 500 < await road() < 1100


async def test_too_much_code_is_not_run():
    executor = ScriptedExecutor()
    result = await CodeExecutorAgent("coder", executor).run(
        task=f"```python\n{'x = 1; ' * 200_000}\n```"
    )
    assert executor.executed == []
    assert "there is too much code" in result.messages[-1].to_text()


def test_results_reach_a_model_by_roads_that_have_a_row():
    """A new place that makes results has a row."""
    rows = {
        "teams/agents/_tool_batch.py": "of run_call",
        "teams/conversable/_items.py": "of _tool_reply, which cuts",
        "teams/conversable/_model_messages.py": "of _tool_reply, which cuts",
        "teams/models/_conversation.py": "a sentence of ours",
        "teams/models/_hosted.py": "a sentence of ours",
        "teams/testing/_laws.py": "what a test sends",
        "teams/testing/_requests.py": "what a test sends",
    }
    found = {
        str(path)
        for path in Path("teams").rglob("*.py")
        if "FunctionExecutionResult(" in (text := path.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "FunctionExecutionResult"
    }
    assert found == rows.keys()


def test_each_call_passes_the_interceptor_where_its_result_is_bounded():
    """Whoever reads the hook itself has a row."""
    rows = {
        "teams/_run/run.py": "run_call",
        "teams/agents/_tool_batch.py": "whether there is one",
        "teams/conversable/_gate.py": "whether there is one",
        "teams/tools/mcp/_server_requests.py": "an answer to a server",
    }
    found = {
        str(path)
        for path in Path("teams").rglob("*.py")
        if ".intercept" in (text := path.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute) and node.attr == "intercept"
    }
    assert found == rows.keys()
