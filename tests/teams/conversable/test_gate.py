"""Calls and code of a chat, through the run's hooks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from teams._base.tool_call import LARGEST_ARGUMENTS, PendingInput
from teams._run.run import NextCall
from teams.agents import ApprovalRequest, ApprovalResponse
from teams.base import InputRequired, ToolCall, run_hooks
from teams.conversable import ConversableChat
from teams.conversable._gate import all_done, check_ungated, settled
from teams.tools import ToolResult
from tests.teams.conversable.pairs import agent, saying


async def test_the_gate_refuses_one_call_of_a_batch_and_sees_all_before_any_runs():
    seen: list[str] = []

    async def intercept(call: ToolCall, proceed: Any) -> ToolResult:
        seen.append(f"judged {call.arguments} of {'/'.join(call.agent)}")
        if "b" in call.arguments:
            from teams._tools.workbench import text_result

            return text_result(call.name, "not allowed", is_error=True)
        return await proceed(call)

    def work(what: str) -> str:
        seen.append(f"ran {what}")
        return what

    calls = [
        {"id": f"c{each}", "function": {"name": "work", "arguments": f'{{"what": "{each}"}}'}}
        for each in ("a", "b")
    ]
    al = saying("al")
    bo = agent("bo", function_map={"work": work}, default_auto_reply=None)
    with run_hooks(intercept=intercept):
        await ConversableChat(al, bo, max_turns=1).run(task="x")
        await al.a_initiate_chat(bo, message={"tool_calls": calls, "content": None}, max_turns=1)
    assert seen == [
        'judged {"what": "a"} of bo',
        'judged {"what": "b"} of bo',
        "ran a",
    ]
    responses = al.chat_messages[bo][-1]["tool_responses"]
    assert [each["content"] for each in responses] == ["a", "not allowed"]


def files(folder: Path) -> list[Path]:
    return [*folder.iterdir()]


async def test_refused_code_is_a_text_and_does_not_run(tmp_path: Path):
    asked: list[str] = []

    async def approve(request: ApprovalRequest) -> ApprovalResponse:
        asked.append(request.code)
        return ApprovalResponse(approved=False, reason="too loud")

    config = {"work_dir": str(tmp_path), "use_docker": False}
    al, bo = saying("al"), agent("bo", code_execution_config=config)
    with run_hooks(approve_code=approve):
        result = await ConversableChat(al, bo, max_turns=1).run(
            task="```sh\ntouch ran.txt\n```",
        )
    assert [code.strip() for code in asked] == ["touch ran.txt"]
    text = result.messages[-1].to_text()
    assert "exitcode: 1" in text
    assert "not approved. The reason: too loud" in text
    assert files(tmp_path) == []


async def test_code_that_was_changed_before_it_was_let_pass_is_what_runs(tmp_path: Path):
    async def change(call: ToolCall, proceed: NextCall) -> ToolResult:
        return await proceed(replace(call, arguments=call.arguments.replace("rm", "echo")))

    config = {"work_dir": str(tmp_path), "use_docker": False}
    (tmp_path / "kept.txt").touch()
    al, bo = saying("al"), agent("bo", code_execution_config=config)
    with run_hooks(intercept=change):
        result = await ConversableChat(al, bo, max_turns=1).run(task="```sh\nrm kept.txt\n```")
    assert "kept.txt" in result.messages[-1].to_text()
    assert (tmp_path / "kept.txt").exists()


async def test_code_of_no_end_is_not_run(tmp_path: Path):
    config = {"work_dir": str(tmp_path), "use_docker": False}
    al, bo = saying("al"), agent("bo", code_execution_config=config)
    task = f"```sh\ntouch ran.txt\n# {'x' * LARGEST_ARGUMENTS}\n```"
    result = await ConversableChat(al, bo, max_turns=1).run(task=task)
    assert "too much code" in result.messages[-1].to_text()
    assert files(tmp_path) == []


async def test_of_several_outcomes_all_questions_or_an_error_remain():
    async def fail(error: Exception) -> str:
        raise error

    async def give() -> str:
        return "x"

    asked = [PendingInput(request_id=each, agent=("al",), kind="text", prompt="?") for each in "12"]
    waits = [await settled(fail(InputRequired(requests=[each]))) for each in asked]
    assert all_done([await settled(give())]) == ["x"]
    with pytest.raises(InputRequired) as caught:
        all_done(["x", *waits, waits[0]])
    assert [*caught.value.requests] == asked
    with pytest.raises(OSError, match="gone"):
        all_done([*waits, await settled(fail(OSError("gone")))])


def test_a_sync_chat_can_not_wait_for_a_gate():
    check_ungated(agent("al"))

    async def intercept(call: ToolCall, proceed: Any) -> ToolResult:
        return await proceed(call)

    with run_hooks(intercept=intercept), pytest.raises(RuntimeError, match="a_initiate_chat"):
        check_ungated(agent("al"))
