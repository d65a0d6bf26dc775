"""CodeExecutorAgent: others' code and its own, approval, retries, stopping and going on."""

import asyncio
import base64
import json
from collections.abc import Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

import pytest

from teams import BaseGroupChat, RoundRobinGroupChat
from teams._tools.workbench import text_result
from teams.agents import ApprovalRequest, ApprovalResponse, AssistantAgent, CodeExecutorAgent
from teams.base import ChatAgent, InputRequired, TeamError, ToolCall, run_hooks
from teams.code_executor import CodeBlock, CodeResult
from teams.code_executors.local import LocalCommandLineCodeExecutor
from teams.core import CancellationToken, Image
from teams.messages import (
    BaseChatMessage,
    CodeExecutionEvent,
    CodeGenerationEvent,
    HandoffMessage,
    ModelClientStreamingChunkEvent,
    MultiModalMessage,
    StopMessage,
    TextMessage,
    ThoughtEvent,
)
from teams.model_context import BufferedChatCompletionContext
from teams.models import AssistantMessage, ModelFamily, ModelInfo
from teams.models.replay import ReplayChatCompletionClient
from teams.tools import ToolResult
from tests.fakes.interrupted_runs import WAYS, Interrupted, Models, Way, assert_same, uninterrupted
from tests.fakes.scripted_executor import ScriptedExecutor
from tests.fakes.scripted_model import ScriptedModel, calls, says
from tests.teams.agents.run_code import (
    FAILED,
    PNG,
    Desk,
    approved,
    decision,
    drawn,
    python,
    seen,
    told,
)

PIXEL = "R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs="


# Others' code


async def test_without_a_model_it_executes_the_code_it_is_sent():
    executor = ScriptedExecutor()
    agent = CodeExecutorAgent("terminal", executor)
    response = await told(agent, f"{python('one')}and\n```sh\ntwo\n```")
    assert executor.executed == [
        [CodeBlock(code="one\n", language="python"), CodeBlock(code="two\n", language="sh")]
    ]
    assert isinstance(response.chat_message, TextMessage)
    assert (response.chat_message.content, response.chat_message.source) == ("did two", "terminal")
    assert response.inner_messages == []


async def test_in_a_team_the_coders_code_is_executed(tmp_path: Path):
    coder = AssistantAgent("coder", ScriptedModel(python("print(6 * 7)"), "It is 42."))
    terminal = CodeExecutorAgent("terminal", LocalCommandLineCodeExecutor(work_dir=tmp_path))
    result = await RoundRobinGroupChat([coder, terminal], max_turns=3).run(task="6 * 7?")
    assert [message.to_text() for message in result.messages] == [
        "6 * 7?",
        python("print(6 * 7)"),
        "42\n",
        "It is 42.",
    ]


@pytest.mark.parametrize(
    ("outcome", "answer"),
    [
        (FAILED, "The code failed with exit code 2. Its output:\nno such file\n"),
        (CodeResult(exit_code=0, output=" \n"), "The code ran and printed nothing."),
    ],
    ids=["failure", "silence"],
)
async def test_the_answer_says_what_came_of_the_code(outcome: CodeResult, answer: str):
    agent = CodeExecutorAgent("terminal", ScriptedExecutor(one=outcome))
    assert (await told(agent, python("one"))).chat_message.to_text() == answer


@pytest.mark.parametrize(
    "text",
    [
        "Just text, with `code` in it.",
        "```\nno language\n```",
        "```rust\nmain\n```",
        "```python\nnever closed",
        "say ```python\nx\n``` inline",
        StopMessage(content=python("stop"), source="user"),
        HandoffMessage(content=python("handoff"), source="user", target="terminal"),
    ],
    ids=["none", "no language", "other language", "open", "inline", "stop", "handoff"],
)
async def test_where_there_is_no_code_it_says_so(text: Any):
    executor = ScriptedExecutor()
    response = await told(CodeExecutorAgent("terminal", executor), text)
    assert response.chat_message.to_text() == CodeExecutorAgent.NO_CODE_BLOCKS_FOUND_MESSAGE
    assert executor.executed == []


async def test_its_two_steps_can_be_called_and_overridden():
    class Logging(CodeExecutorAgent):
        async def extract_code_blocks_from_messages(
            self, messages: Sequence[BaseChatMessage]
        ) -> list[CodeBlock]:
            found = await super().extract_code_blocks_from_messages(messages)
            return [CodeBlock(code="first", language="sh"), *found]

        async def execute_code_block(
            self, code_blocks: list[CodeBlock], cancellation_token: CancellationToken
        ) -> CodeResult:
            result = await super().execute_code_block(code_blocks[:1], cancellation_token)
            return CodeResult(result.exit_code, f"logged {result.output}")

    asked: list[str] = []

    def refuse(request: ApprovalRequest) -> ApprovalResponse:
        asked.append(request.code)
        return ApprovalResponse(approved=request.code == "first", reason="never")

    executor = ScriptedExecutor()
    agent = Logging("terminal", executor, sources=["bob"], approval_func=refuse)
    messages = [TextMessage(content=python("one"), source=each) for each in ("bob", "ann")]
    blocks = await agent.extract_code_blocks_from_messages(messages)
    assert [block.code for block in blocks] == ["first", "one\n"]
    assert (await told(agent, *messages)).chat_message.to_text() == "logged did first"
    assert (asked, executor.codes) == (["first"], ["first"])
    refused = await agent.execute_code_block(blocks[1:], CancellationToken())
    assert refused.exit_code == 1
    assert "not approved. The reason: never" in refused.output

    calls: list[ToolCall] = []

    async def intercept(call: ToolCall, _: Any) -> ToolResult:
        calls.append(call)
        return text_result(call.name, "not here", is_error=True)

    with run_hooks(intercept=intercept):
        result = await agent.execute_code_block(blocks[:1], CancellationToken())
    assert result == CodeResult(1, "logged not here")
    assert [(call.name, call.agent) for call in calls] == [("execute_code", ("terminal",))]
    assert executor.codes == ["first"]


async def test_only_code_in_supported_languages_is_executed():
    executor = ScriptedExecutor()
    agent = CodeExecutorAgent("terminal", executor, supported_languages=["rust"])
    await told(agent, f"{python('one')}```rust\ntwo\n```")
    assert executor.codes == ["two"]


async def test_only_code_of_the_given_sources_is_executed():
    executor = ScriptedExecutor()
    agent = CodeExecutorAgent("terminal", executor, sources=["coder"])
    await told(
        agent,
        TextMessage(content=python("one"), source="stranger"),
        TextMessage(content=python("two"), source="coder"),
    )
    assert executor.codes == ["two"]
    response = await told(agent, TextMessage(content=python("three"), source="stranger"))
    assert response.chat_message.to_text() == CodeExecutorAgent.NO_CODE_BLOCKS_FOUND_MESSAGE


async def test_code_is_executed_once():
    executor = ScriptedExecutor()
    agent = CodeExecutorAgent("terminal", executor)
    await told(agent, python("one"))
    await told(agent, python("two"))
    assert executor.codes == ["one", "two"]


# Its own code


async def test_with_a_model_it_writes_runs_and_reflects():
    model = ScriptedModel(python("one"), "That did it.")
    agent = CodeExecutorAgent("coder", ScriptedExecutor(), model_client=model)
    result = await agent.run(task="Do one.")
    assert seen(result.messages) == [
        ("TextMessage", "Do one."),
        ("CodeGenerationEvent", python("one")),
        ("CodeExecutionEvent", "did one"),
        ("TextMessage", "That did it."),
    ]
    [_, written, run, final] = result.messages
    assert isinstance(written, CodeGenerationEvent)
    assert isinstance(run, CodeExecutionEvent)
    assert (written.retry_attempt, run.retry_attempt) == (0, 0)
    assert written.code_blocks == [CodeBlock(code="one\n", language="python")]
    assert run.result == CodeResult(exit_code=0, output="did one")
    assert [item.models_usage is not None for item in (written, run, final)] == [True, False, True]
    assert model.texts(0) == ["Do one."]
    assert model.texts(1) == ["Do one.", python("one"), "did one"]
    assert [message["type"] for message in model.requests[1]["messages"]] == [
        "SystemMessage",
        "UserMessage",
        "AssistantMessage",
        "UserMessage",
    ]


async def test_an_answer_without_code_is_the_answer():
    model = ScriptedModel("Nothing to run here.")
    executor = ScriptedExecutor()
    agent = CodeExecutorAgent("coder", executor, model_client=model, sources=["nobody"])
    result = await agent.run(task="What is Python?")
    assert seen(result.messages)[1:] == [("TextMessage", "Nothing to run here.")]
    assert result.messages[-1].models_usage is not None
    assert executor.executed == []


async def test_code_in_the_reflection_is_not_executed():
    executor = ScriptedExecutor()
    model = ScriptedModel(python("one"), python("two"))
    await CodeExecutorAgent("coder", executor, model_client=model).run(task="go")
    assert executor.codes == ["one"]


async def test_without_retries_a_failure_is_reflected_on():
    model = ScriptedModel(python("one"), "It did not work.")
    agent = CodeExecutorAgent("coder", ScriptedExecutor(one=FAILED), model_client=model)
    result = await agent.run(task="go")
    assert result.messages[-1].to_text() == "It did not work."
    assert "exit code 2" in model.texts()[-1]
    assert len(model.requests) == 2


async def test_after_the_last_retry_there_is_a_reflection():
    model = ScriptedModel(python("one"), decision(retry=True), python("one"), "Twice no.")
    executor = ScriptedExecutor(one=FAILED)
    agent = CodeExecutorAgent("coder", executor, model_client=model, max_retries_on_error=1)
    assert (await agent.run(task="go")).messages[-1].to_text() == "Twice no."
    assert executor.codes == ["one", "one"]


async def test_a_retry_may_end_without_code():
    model = ScriptedModel(python("one"), decision(retry=True), "Do it by hand.")
    agent = CodeExecutorAgent(
        "coder", ScriptedExecutor(one=FAILED), model_client=model, max_retries_on_error=3
    )
    assert (await agent.run(task="go")).messages[-1].to_text() == "Do it by hand."


def test_retries_need_a_model_with_structured_output():
    plain = ReplayChatCompletionClient(
        ["x"],
        ModelInfo(
            vision=False,
            function_calling=False,
            json_output=True,
            family=ModelFamily.UNKNOWN,
            structured_output=False,
        ),
    )
    for model in (None, plain):
        with pytest.raises(ValueError, match="structured output"):
            CodeExecutorAgent(
                "coder", ScriptedExecutor(), model_client=model, max_retries_on_error=1
            )
    with pytest.raises(ValueError, match="at least 0"):
        CodeExecutorAgent("coder", ScriptedExecutor(), max_retries_on_error=-1)


async def test_streamed_pieces_name_the_item_they_become():
    model = ScriptedModel(
        ["```python\n", "one\n", "```", says("```python\none\n```", thought="hm")], "That is it."
    )
    agent = CodeExecutorAgent(
        "coder", ScriptedExecutor(), model_client=model, model_client_stream=True
    )
    items = [item async for item in agent.run_stream(task="go")]
    [thought] = [item for item in items if isinstance(item, ThoughtEvent)]
    [final] = [item for item in items if isinstance(item, TextMessage) and item.source == "coder"]
    chunks = [item for item in items if isinstance(item, ModelClientStreamingChunkEvent)]
    assert "".join(chunk.content for chunk in chunks) == "```python\none\n```That is it."
    assert {chunk.full_message_id for chunk in chunks[:3]} == {thought.id}
    assert {chunk.full_message_id for chunk in chunks[3:]} == {final.id}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (calls(("f", {})), "called tools"),
        (RuntimeError("busy"), "busy"),
    ],
)
async def test_what_goes_wrong_with_the_model_ends_the_run(answer: Any, said: str):
    agent = CodeExecutorAgent("coder", ScriptedExecutor(), model_client=ScriptedModel(answer))
    with pytest.raises(RuntimeError, match=said):
        await agent.run(task="go")


async def test_a_stream_without_a_result_is_an_error():
    model = ReplayChatCompletionClient(["x"])

    async def cut(*args: Any, **kwargs: Any):
        yield "x"

    model.create_stream = cut  # type: ignore[method-assign]
    agent = CodeExecutorAgent(
        "coder", ScriptedExecutor(), model_client=model, model_client_stream=True
    )
    with pytest.raises(RuntimeError, match="without a final result"):
        await agent.run(task="go")


async def test_the_system_message_and_the_context_are_the_given_ones():
    model = ScriptedModel(python("one"), "done", "again")
    agent = CodeExecutorAgent(
        "coder",
        ScriptedExecutor(),
        model_client=model,
        system_message=None,
        model_context=BufferedChatCompletionContext(2),
    )
    await agent.run(task="go")
    assert [message["type"] for message in model.requests[1]["messages"]] == [
        "AssistantMessage",
        "UserMessage",
    ]
    await agent.run(
        task=HandoffMessage(
            content="You.",
            source="user",
            target="coder",
            context=[AssistantMessage(content="before", source="other")],
        )
    )
    assert model.texts() == ["before", "You."]


@pytest.mark.parametrize("vision", [True, False])
async def test_images_are_only_for_models_that_see(vision: bool):
    model = ScriptedModel("A pixel.", vision=vision)
    agent = CodeExecutorAgent("coder", ScriptedExecutor(), model_client=model)
    image = Image.from_bytes(base64.b64decode(PIXEL))
    await agent.run(task=MultiModalMessage(content=["See", image], source="user"))
    assert (model.messages()[0]["content"] == "See\n<image>") is not vision


async def test_an_executor_that_fails_ends_the_run_with_its_error():
    error = RuntimeError("no engine")
    agent = CodeExecutorAgent("terminal", ScriptedExecutor(one=error))
    team = RoundRobinGroupChat([agent], max_turns=1)
    with pytest.raises(TeamError, match="no engine") as caught:
        await team.run(task=python("one"))
    assert caught.value.__cause__ is error


# Approval


async def test_an_agent_alone_suspends_its_run_or_its_caller():
    desk, executor = Desk(), ScriptedExecutor()
    agent = CodeExecutorAgent("terminal", executor, approval_func=desk.approve)
    result = await agent.run(task=python("one"))
    assert [pending.prompt for pending in result.pending] == ["Run one?"]
    with pytest.raises(InputRequired, match="Run one"):
        await agent.on_messages([], CancellationToken())
    desk.answers["one"] = True
    assert (await agent.run()).messages[-1].to_text() == "did one"


# The interception point


# Stopping and going on


class Deciding(ScriptedModel):
    """Always decides to try again; its other answers come in order."""

    def _answer(self, messages: Any) -> Any:
        if "Is another one worth it?" in str(messages[-1].content):
            return decision(retry=True)
        return super()._answer(messages)


def with_retries(models: Models) -> BaseGroupChat:
    models.of["coder"] = model = Deciding(
        says(python("one"), thought="think"), python("two"), "Both done.", "More.", speaker="coder"
    )
    coder = CodeExecutorAgent(
        "coder",
        ScriptedExecutor(one=FAILED),
        model_client=model,
        model_client_stream=True,
        max_retries_on_error=1,
        approval_func=approved,
    )
    return RoundRobinGroupChat([coder, models.agent("critic", "good", "fine")], max_turns=3)


def without_model(models: Models) -> BaseGroupChat:
    coder = models.agent("coder", python("one"), python("two"))
    return RoundRobinGroupChat(
        [coder, CodeExecutorAgent("terminal", ScriptedExecutor())], max_turns=4
    )


@pytest.mark.parametrize("build", [with_retries, without_model], ids=lambda b: b.__name__)
@pytest.mark.parametrize("way", WAYS)
async def test_a_run_stopped_at_any_item_goes_on_as_if_it_had_not_stopped(build: Any, way: Way):
    whole = await uninterrupted(build)
    for count in range(1, len(whole.items) + 1):
        part = Interrupted(build)
        await part.take(count, way)
        await part.take(10_000, way)
        assert_same(part.run, whole)


@pytest.mark.parametrize("phase", ["write", "run", "consider", "reflect", "approve"])
async def test_cancelling_ends_any_phase_and_leaves_a_valid_context(phase: str):
    never = asyncio.Event()
    approving = asyncio.Event()

    async def approve(request: ApprovalRequest) -> ApprovalResponse:
        approving.set()
        await never.wait()
        return approved(request)

    executor = ScriptedExecutor(one=never if phase == "run" else FAILED)
    model = ScriptedModel(
        never if phase == "write" else python("one"),
        never if phase == "consider" else decision(retry=False),
        never,
    )
    agent = CodeExecutorAgent(
        "coder",
        executor,
        model_client=model,
        max_retries_on_error=1,
        approval_func=approve if phase == "approve" else None,
    )
    token = CancellationToken()
    running = asyncio.ensure_future(
        RoundRobinGroupChat([agent]).run(task="go", cancellation_token=token)
    )
    waits = {"run": executor.begun, "approve": approving.wait}
    asked = {"write": 1, "consider": 2, "reflect": 3}
    await (waits[phase]() if phase in waits else model.asked(asked[phase]))
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    context = await agent.model_context.get_messages()
    interrupted = "interrupted" in str(context[-1].content)
    assert interrupted is (phase in ("run", "approve"))
    agent._model_client = ScriptedModel("fresh")  # type: ignore
    assert (await agent.run(task="again")).messages[-1].to_text() == "fresh"


async def test_an_executor_that_ignores_cancellation_is_left_behind(caplog):
    class Stubborn(ScriptedExecutor):
        async def execute_code_blocks(
            self, code_blocks: list[CodeBlock], cancellation_token: CancellationToken
        ) -> CodeResult:
            self._begun.set()
            while not released.is_set():
                with suppress(asyncio.CancelledError):
                    await released.wait()
            return CodeResult(exit_code=0, output="late")

    released, executor, token = asyncio.Event(), Stubborn(), CancellationToken()
    agent = CodeExecutorAgent("terminal", executor)
    running = asyncio.ensure_future(agent.run(task=python("one"), cancellation_token=token))
    await executor.begun()
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(running, 1)
    assert "abandoned" in caplog.text
    released.set()
    await asyncio.sleep(0)


async def test_what_arrives_during_the_turn_is_for_the_next_one():
    gate = asyncio.Event()
    agent = CodeExecutorAgent("terminal", ScriptedExecutor(one=gate))
    team = RoundRobinGroupChat([agent], max_turns=2)
    texts: list[str] = []
    async with aclosing(team.run_stream(task=python("one"))) as stream:
        async for item in stream:
            if isinstance(item, TextMessage) and item.source == "user":
                team.add_messages([TextMessage(content=python("two"), source="user")])
                gate.set()
            elif isinstance(item, TextMessage):
                texts.append(item.content)
    assert texts[0] == "did two"


async def test_its_memory_is_part_of_its_state_and_a_reset_clears_it():
    def build() -> tuple[CodeExecutorAgent, ScriptedModel]:
        model = ScriptedModel("Yes.", "Again yes.", speaker="coder")
        return CodeExecutorAgent("coder", ScriptedExecutor(), model_client=model), model

    agent, _ = build()
    await agent.run(task="one?")
    state = json.loads(json.dumps(await agent.save_state()))
    assert state["type"] == "BaseState"
    again, model = build()
    await again.load_state(state)
    await again.run(task="two?")
    assert model.texts() == ["one?", "Yes.", "two?"]
    await again.on_reset(CancellationToken())
    assert await again.model_context.get_messages() == []


async def test_closing_stops_the_executor():
    executor = ScriptedExecutor()
    await CodeExecutorAgent("terminal", executor).close()
    assert executor.stopped == 1


# As a component


def test_it_round_trips_as_a_component(tmp_path: Path):
    agent = CodeExecutorAgent(
        "coder",
        LocalCommandLineCodeExecutor(work_dir=tmp_path),
        model_client=ReplayChatCompletionClient(
            ["x"],
            ModelInfo(
                vision=False,
                function_calling=False,
                json_output=True,
                family=ModelFamily.UNKNOWN,
                structured_output=True,
            ),
        ),
        model_context=BufferedChatCompletionContext(3),
        model_client_stream=True,
        max_retries_on_error=2,
        description="Codes.",
        system_message=None,
        sources=["user"],
        supported_languages=["sh"],
    )
    dumped = agent.dump_component()
    assert dumped.provider == "teams.agents.CodeExecutorAgent"
    assert "system_message" not in dumped.config
    loaded = ChatAgent.load_component(dumped)
    assert isinstance(loaded, CodeExecutorAgent)
    assert loaded.dump_component() == dumped
    assert loaded.description == "Codes."


def test_an_approval_function_cannot_be_dumped():
    agent = CodeExecutorAgent("coder", LocalCommandLineCodeExecutor(), approval_func=approved)
    with pytest.raises(NotImplementedError, match="approval function"):
        agent.dump_component()


async def test_what_autogen_wrote_loads_and_works(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = Path(__file__).parents[2] / "data" / "autogen-0.7.5" / "agent-code-executor.json"
    case = json.loads(data.read_text())
    agent = ChatAgent.load_component(case["component"])
    assert isinstance(agent, CodeExecutorAgent)
    await agent.load_state(case["state"])
    result = await agent.run(task=python("print(6 * 7)"))
    assert result.messages[-1].to_text() == "42\n"
    dumped = agent.dump_component().config
    assert dumped["supported_languages"] == ["python", "sh"]
    assert dumped["code_executor"]["config"]["work_dir"] == "work"


def test_descriptions_tell_the_terminal_from_the_programmer():
    terminal = CodeExecutorAgent("terminal", ScriptedExecutor())
    coder = CodeExecutorAgent("coder", ScriptedExecutor(), model_client=ScriptedModel())
    assert terminal.description == CodeExecutorAgent.DEFAULT_TERMINAL_DESCRIPTION
    assert coder.description == CodeExecutorAgent.DEFAULT_AGENT_DESCRIPTION
    assert terminal.produced_message_types == (TextMessage, MultiModalMessage)
    assert coder.produced_message_types == (TextMessage,)


# Pictures


async def test_what_code_draws_is_the_answer_of_a_terminal(tmp_path):
    agent = CodeExecutorAgent("terminal", ScriptedExecutor(draw=drawn(tmp_path)))
    message = (await told(agent, python("draw"))).chat_message
    assert isinstance(message, MultiModalMessage)
    assert message.content == ["saved as plot.png\n", Image.from_bytes(PNG)]


@pytest.mark.parametrize("vision", [True, False])
async def test_what_code_draws_is_shown_to_a_model_that_sees(tmp_path, vision: bool):
    model = ScriptedModel(python("draw"), "nice", vision=vision)
    executor = ScriptedExecutor(draw=drawn(tmp_path))
    response = await told(CodeExecutorAgent("coder", executor, model_client=model), "go")
    assert isinstance(response.chat_message, TextMessage)
    picture = {"data": Image.from_bytes(PNG).to_base64()}
    shown = model.messages()[-1]["content"]
    assert shown == (["saved as plot.png\n", picture] if vision else "saved as plot.png\n\n<image>")


class Remembering(ScriptedExecutor):
    state: dict[str, Any] = {}  # noqa: RUF012 (a test's)

    async def save_state(self) -> Any:
        return self.state

    async def load_state(self, state: Any) -> None:
        self.state = dict(state)


async def test_the_executor_s_state_is_part_of_the_agent_s(tmp_path):
    agent = CodeExecutorAgent("terminal", executor := Remembering())
    assert "code_executor" not in await agent.save_state()
    executor.state = {"has_run": True}
    other = CodeExecutorAgent("terminal", another := Remembering())
    await other.load_state(await agent.save_state())
    assert another.state == {"has_run": True}
    team = RoundRobinGroupChat([agent], max_turns=1)
    assert "has_run" in json.dumps(await team.save_state())
