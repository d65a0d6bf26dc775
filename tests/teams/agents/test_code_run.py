"""Code of an agent: blocks, approval, execution, another attempt."""

import json
from typing import Any

import pytest

from teams import RoundRobinGroupChat
from teams._tools.workbench import text_result
from teams.agents import ApprovalRequest, ApprovalResponse, CodeExecutorAgent
from teams.agents._code_run import (
    CodeTurnRecord,
    consider_prompt,
    describe_result,
    find_code_blocks,
    read_decision,
)
from teams.base import InputRequired, ToolCall, run_hooks
from teams.code_executor import CodeBlock, CodeResult
from teams.messages import (
    CodeExecutionEvent,
    CodeGenerationEvent,
    MessageFactory,
    MultiModalMessage,
    TextMessage,
)
from teams.tools import ToolResult
from tests.fakes.scripted_executor import ScriptedExecutor
from tests.fakes.scripted_model import ScriptedModel
from tests.teams.agents.run_code import FAILED, Desk, approved, decision, drawn, python, seen, told


async def test_code_blocks_are_those_of_markdown():
    executor = ScriptedExecutor()
    text = (
        "1. Do\n   ```Python title='x'\r\n   if x:\r\n       indented\r\n less\r\n   ```\r\n"
        "````python\nprint('''\n```\ninner\n```\n''')\n````\n"
        "```sh\n```\n"
    )
    await told(CodeExecutorAgent("terminal", executor), text)
    assert executor.executed[0] == [
        CodeBlock(code="if x:\n    indented\nless\n", language="Python"),
        CodeBlock(code="print('''\n```\ninner\n```\n''')\n", language="python"),
        CodeBlock(code="", language="sh"),
    ]


async def test_after_a_failure_the_model_may_try_again():
    model = ScriptedModel(
        python("one"),
        decision(retry=True),
        python("two"),
        decision(retry=True),
        python("three"),
        "!",
    )
    executor = ScriptedExecutor(one=FAILED, two=FAILED)
    agent = CodeExecutorAgent("coder", executor, model_client=model, max_retries_on_error=2)
    result = await agent.run(task="go")
    assert executor.codes == ["one", "two", "three"]
    kinds = [kind for kind, _ in seen(result.messages)[1:]]
    once = ["CodeGenerationEvent", "CodeExecutionEvent"]
    assert kinds == [*once, "ThoughtEvent", *once, "ThoughtEvent", *once, "TextMessage"]
    attempts = [
        item.retry_attempt
        for item in result.messages
        if isinstance(item, CodeGenerationEvent | CodeExecutionEvent)
    ]
    assert attempts == [0, 0, 1, 1, 2, 2]
    formats = [request["json_output"] for request in model.requests]
    assert formats == [None, "RetryDecision", None, "RetryDecision", None, None]
    assert "2 more attempts" in model.texts(1)[-1]
    assert "one more attempt" in model.texts(3)[-1]
    assert "a typo" in model.texts(2)[-1]


@pytest.mark.parametrize("answer", [decision(retry=False), "I would rather not."])
async def test_the_model_may_give_up(answer: str):
    model = ScriptedModel(python("one"), answer, "Sorry.")
    agent = CodeExecutorAgent(
        "coder", ScriptedExecutor(one=FAILED), model_client=model, max_retries_on_error=5
    )
    result = await agent.run(task="go")
    assert [kind for kind, _ in seen(result.messages)[3:]] == ["ThoughtEvent", "TextMessage"]


async def test_code_runs_once_it_is_approved():
    asked: list[ApprovalRequest] = []

    async def approve(request: ApprovalRequest) -> ApprovalResponse:
        asked.append(request)
        return ApprovalResponse(approved=True, reason="fine")

    class Approver:
        async def __call__(self, request: ApprovalRequest) -> ApprovalResponse:
            return await approve(request)

    def plain(request: ApprovalRequest) -> ApprovalResponse:
        asked.append(request)
        return approved(request)

    for function in (approve, Approver(), plain):
        asked.clear()
        executor = ScriptedExecutor()
        agent = CodeExecutorAgent("terminal", executor, approval_func=function)
        await told(agent, f"{python('one')}```sh\ntwo\n```")
        assert [request.code for request in asked] == ["one\n", "two\n"]
        assert [message.content for message in asked[0].context] == [
            f"{python('one')}```sh\ntwo\n```"
        ]
        assert executor.codes == ["one", "two"]


@pytest.mark.parametrize("reason", ["too risky", ""])
async def test_refused_code_fails_with_exit_code_1(reason: str):
    def refuse(request: ApprovalRequest) -> ApprovalResponse:
        return ApprovalResponse(approved="two" not in request.code, reason=reason)

    executor = ScriptedExecutor()
    model = ScriptedModel(f"{python('one')}```sh\ntwo\n```", "Then not.")
    agent = CodeExecutorAgent("coder", executor, model_client=model, approval_func=refuse)
    result = await agent.run(task="go")
    [run] = [item for item in result.messages if isinstance(item, CodeExecutionEvent)]
    assert run.result.exit_code == 1
    assert run.result.output.startswith("The execution of this code was not approved.")
    assert run.result.output.endswith(reason)
    assert executor.executed == []


async def test_the_runs_hook_approves_where_the_agent_has_no_function():
    asked: list[str] = []

    async def refuse(request: ApprovalRequest) -> ApprovalResponse:
        asked.append(request.code)
        return ApprovalResponse(approved=False, reason="never")

    executor = ScriptedExecutor()
    with run_hooks(approve_code=refuse):
        await CodeExecutorAgent("own", executor, approval_func=approved).run(task=python("one"))
        result = await CodeExecutorAgent("none", executor).run(task=python("two"))
    assert (asked, executor.codes) == (["two\n"], ["one"])
    assert "The reason: never" in result.messages[-1].to_text()


async def test_a_run_waits_for_approval_and_goes_on():
    desk, executor = Desk(one=True), ScriptedExecutor()

    def build() -> CodeExecutorAgent:
        model = ScriptedModel(
            f"{python('one')}{python('two')}{python('three')}", "Fine.", speaker="coder"
        )
        return CodeExecutorAgent("coder", executor, model_client=model)

    with run_hooks(approve_code=desk.approve):
        team = RoundRobinGroupChat([build()], max_turns=1)
        result = await team.run(task="go")
        assert [pending.prompt for pending in result.pending] == ["Run two?", "Run three?"]
        assert {pending.kind for pending in result.pending} == {"approval"}
        assert {pending.agent for pending in result.pending} == {("coder",)}
        assert executor.executed == []
        state = json.loads(json.dumps(await team.save_state()))

        again = RoundRobinGroupChat([build()], max_turns=1)
        await again.load_state(state)
        assert (await again.run()).pending == result.pending
        desk.answers |= {"two": True, "three": True}
        desk.asked.clear()
        final = await again.run()
    assert desk.asked == ["two", "three"]
    assert executor.codes == ["one", "two", "three"]
    assert [kind for kind, _ in seen(final.messages)] == ["CodeExecutionEvent", "TextMessage"]


async def test_code_passes_the_interception_point():
    met: list[ToolCall] = []

    async def watch(call: ToolCall, proceed: Any) -> ToolResult:
        met.append(call)
        result = await proceed(call)
        assert result.is_error
        return result

    agent = CodeExecutorAgent("terminal", ScriptedExecutor(one=FAILED))
    with run_hooks(intercept=watch):
        result = await RoundRobinGroupChat([agent], max_turns=1).run(task=python("one"))
    [call] = met
    assert (call.name, call.agent, call.handoff) == ("execute_code", ("terminal",), False)
    assert call.parsed_arguments() == {"code_blocks": [{"language": "python", "code": "one\n"}]}
    assert "exit code 2" in result.messages[-1].to_text()


@pytest.mark.parametrize(
    ("is_error", "exit_code"), [(True, 1), (False, 0)], ids=["refused", "recorded"]
)
async def test_an_interceptor_may_give_a_result_of_its_own(is_error: bool, exit_code: int):
    async def answer(call: ToolCall, proceed: Any) -> ToolResult:
        return text_result(call.name, "from elsewhere", is_error=is_error)

    executor = ScriptedExecutor()
    agent = CodeExecutorAgent(
        "coder", executor, model_client=ScriptedModel(python("one"), "ok"), approval_func=approved
    )
    with run_hooks(intercept=answer):
        result = await agent.run(task="go")
    [run] = [item for item in result.messages if isinstance(item, CodeExecutionEvent)]
    assert run.result == CodeResult(exit_code=exit_code, output="from elsewhere")
    assert executor.executed == []


async def test_a_call_keeps_its_key_when_the_run_goes_on():
    keys: list[str] = []
    ready = False

    async def hold(call: ToolCall, proceed: Any) -> ToolResult:
        keys.append(call.key)
        if not ready:
            raise InputRequired("May it?", kind="approval")
        return await proceed(call)

    def build() -> RoundRobinGroupChat:
        return RoundRobinGroupChat([CodeExecutorAgent("terminal", ScriptedExecutor())], max_turns=1)

    with run_hooks(intercept=hold):
        team = build()
        [pending] = (await team.run(task=python("one"))).pending
        assert (pending.call_id, pending.request_id) == (keys[0], keys[0])
        snapshot = await team.save_snapshot()
        again = build()
        await again.load_snapshot([snapshot])
        ready = True
        assert (await again.run()).messages[-1].to_text() == "did one"
    assert len(keys) == 2
    assert len(set(keys)) == 1


async def test_at_most_four_pictures_are_shown(tmp_path):
    result = drawn(tmp_path, *["plot.png"] * 5)
    agent = CodeExecutorAgent("terminal", ScriptedExecutor(draw=result))
    message = (await told(agent, python("draw"))).chat_message
    assert isinstance(message, MultiModalMessage)
    assert len(message.content) == 5


async def test_who_intercepts_may_hold_a_picture_back(tmp_path):
    async def without_pictures(call: ToolCall, proceed: Any) -> ToolResult:
        result = await proceed(call)
        assert [type(part).__name__ for part in result.result] == [
            "TextResultContent",
            "ImageResultContent",
        ]
        return text_result(call.name, "no picture")

    agent = CodeExecutorAgent("terminal", ScriptedExecutor(draw=drawn(tmp_path)))
    with run_hooks(intercept=without_pictures):
        message = (await told(agent, python("draw"))).chat_message
    assert (type(message), message.to_text()) == (TextMessage, "no picture")


def test_blocks_in_other_languages_are_no_code():
    text = "```Python\nx\n```\n```sh\ny\n```\n"
    assert find_code_blocks(text, ["python"]) == [CodeBlock(code="x\n", language="Python")]


def test_a_result_is_told_with_its_failure():
    assert describe_result(CodeResult(0, "42")) == "42"
    assert describe_result(CodeResult(0, " ")) == "The code ran and printed nothing."
    assert describe_result(CodeResult(3, "no")).startswith("The code failed with exit code 3.")


def test_another_attempt_is_a_decision_of_the_model():
    assert "You have one more attempt left" in consider_prompt(1)
    assert "You have 2 more attempts left" in consider_prompt(2)
    assert read_decision('{"reason": "typo", "retry": true}').retry
    decided = read_decision("Well.")
    assert (decided.retry, decided.reason) == (False, "Well.")


def test_a_record_survives_json():
    said = TextMessage(content="hi", source="a")
    record = CodeTurnRecord(phase="run", attempt=1, taken={"x": None}, produced=[said], final=said)
    record.blocks, record.approved = [CodeBlock(code="x", language="sh")], [0]
    record.begun = True
    data = json.loads(json.dumps(record.dump(lambda item: item.dump())))
    assert CodeTurnRecord.load(data, MessageFactory().create) == record
