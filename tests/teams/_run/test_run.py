"""Every tool call passes the interceptor of the run's caller."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel

from teams import RoundRobinGroupChat, Swarm
from teams._base.tool_call import AGENT_PATH
from teams._run.run import (
    current_hooks,
    largest_result,
    run_call,
    run_in_path,
    stream_answer_in_path,
    stream_in_path,
)
from teams._tools.result_size import LARGEST_RESULT
from teams.agents import AssistantAgent
from teams.base import TeamError, ToolCall, current_tool_call, run_hooks
from teams.conditions import HandoffTermination
from teams.core import CancellationToken
from teams.messages import TextMessage, ToolCallRequestEvent
from teams.tools import (
    BaseStreamTool,
    BaseTool,
    FunctionTool,
    StaticWorkbench,
    TextResultContent,
    ToolResult,
    ToolSchema,
    Workbench,
)
from tests.fakes.scripted_model import ScriptedModel, calls
from tests.fakes.streams import everything, texts


def result(call: ToolCall, text: str, *, failed: bool = False) -> ToolResult:
    return ToolResult(name=call.name, result=[TextResultContent(content=text)], is_error=failed)


class Journal:
    """An interceptor that notes what passes it."""

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []
        self.log: list[str] = []

    async def __call__(self, call: ToolCall, proceed: Any) -> ToolResult:
        self.calls.append(call)
        self.log.append(f"asked {call.name}")
        done = await proceed(call)
        self.log.append(f"{call.name} said {done.to_text()}")
        return done


async def one() -> str:
    """One."""
    return "1"


def two(a: int = 2) -> str:
    """Two."""
    return str(a)


async def test_a_call_is_told_with_its_key_arguments_and_callers_path():
    journal = Journal()
    model = ScriptedModel(calls(("two", {"a": 5}), ("one", "")))
    inner = RoundRobinGroupChat(
        [AssistantAgent("worker", model, tools=[one, two])], name="inner", max_turns=1
    )
    team = RoundRobinGroupChat([inner], max_turns=1)
    with run_hooks(intercept=journal):
        items = await everything(team.run_stream(task="hi"))
    request = next(item for item in items if isinstance(item, ToolCallRequestEvent))
    first, second = journal.calls
    assert (first.name, first.id, first.arguments) == ("two", "call_1", '{"a": 5}')
    assert first.parsed_arguments() == {"a": 5}
    assert second.parsed_arguments() == {}
    assert first.agent == second.agent == ("inner", "worker")
    assert (first.key, second.key) == (f"{request.id}:0", f"{request.id}:1")
    assert not first.handoff


async def test_keys_are_unique_though_a_model_repeats_its_call_ids():
    journal = Journal()
    model = ScriptedModel(calls(("one", {})), calls(("one", {})), "done")
    agent = AssistantAgent("worker", model, tools=[one], max_tool_iterations=3)
    with run_hooks(intercept=journal):
        await agent.run(task="hi")
    assert len({call.key for call in journal.calls}) == len(journal.calls) == 2


async def test_handoffs_pass_too_and_are_marked():
    journal = Journal()
    agent = AssistantAgent(
        "a",
        ScriptedModel(calls(("transfer_to_user", {}), ("one", {}))),
        tools=[one],
        handoffs=["user"],
    )
    team = Swarm([agent], termination_condition=HandoffTermination("user"))
    with run_hooks(intercept=journal):
        assert (await team.run(task="hi")).stop_reason == "Handoff to user from a detected."
    assert [(call.name, call.handoff) for call in journal.calls] == [
        ("transfer_to_user", True),
        ("one", False),
    ]


class Text(BaseModel):
    text: str = ""


class Own(BaseTool[Text, Text]):
    def __init__(self) -> None:
        super().__init__(Text, Text, "own", "")

    async def run(self, args: Text, cancellation_token: CancellationToken) -> Text:
        return args


class Streaming(BaseStreamTool[Text, TextMessage, Text]):
    def __init__(self) -> None:
        super().__init__(Text, Text, "streaming", "")

    async def run(self, args: Text, cancellation_token: CancellationToken) -> Text:
        return args

    async def run_stream(
        self, args: Text, cancellation_token: CancellationToken
    ) -> AsyncGenerator[TextMessage | Text, None]:
        yield TextMessage(content="said", source="tool")
        yield args


class Bench(Workbench):
    """A workbench of a user's own."""

    async def list_tools(self) -> list[ToolSchema]:
        return [ToolSchema(name="bench", description="")]

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        cancellation_token: CancellationToken | None = None,
        call_id: str | None = None,
    ) -> ToolResult:
        return ToolResult(name=name, result=[TextResultContent(content="benched")])

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def reset(self) -> None: ...

    async def save_state(self) -> Mapping[str, Any]:
        return {}

    async def load_state(self, state: Mapping[str, Any]) -> None: ...


@pytest.mark.parametrize(
    "options",
    [
        {"tools": [one]},
        {"tools": [two]},
        {"tools": [Own()]},
        {"tools": [Streaming()]},
        {"tools": [FunctionTool(one, "", name="renamed")]},
        {"workbench": StaticWorkbench([Own()])},
        {"workbench": [StaticWorkbench([Own()]), Bench()]},
        {"handoffs": ["user"]},
    ],
    ids=["async", "sync", "tool", "stream", "renamed", "workbench", "two-benches", "handoff"],
)
async def test_no_way_of_attaching_a_tool_goes_around_it(options: Any):
    seen: list[str] = []

    async def deny(call: ToolCall, proceed: Any) -> ToolResult:
        seen.append(call.name)
        return result(call, "denied", failed=True)

    model = ScriptedModel("")
    agent = AssistantAgent("a", model, **options)
    await agent.run(task="what can you do?")
    names: list[str] = model.requests[0]["tools"]
    model = ScriptedModel(calls(*((name, {}) for name in names)))
    agent = AssistantAgent("a", model, **options)
    with run_hooks(intercept=deny):
        items = (await agent.run(task="go")).messages
    assert sorted(seen) == names
    outcome = next(item for item in items if item.to_text().count("denied"))
    assert outcome.to_text().count("denied") == len(names)


async def test_the_interceptor_may_change_the_call_and_its_result():
    async def intercept(call: ToolCall, proceed: Any) -> ToolResult:
        done = await proceed(replace(call, arguments='{"a": 7}'))
        return result(call, done.to_text() + "!")

    agent = AssistantAgent("a", ScriptedModel(calls(("two", {"a": 1}))), tools=[two])
    with run_hooks(intercept=intercept):
        assert texts(await agent.run(task="hi"))[-1] == "7!"


async def test_an_error_of_the_interceptor_fails_the_run_and_the_call_can_be_made_later():
    broken = [True]

    async def intercept(call: ToolCall, proceed: Any) -> ToolResult:
        if broken[0]:
            raise OSError("no journal")
        return await proceed(call)

    agent = AssistantAgent("a", ScriptedModel(calls(("one", {}), ("two", {}))), tools=[one, two])
    team = RoundRobinGroupChat([agent], max_turns=1)
    with run_hooks(intercept=intercept):
        with pytest.raises(TeamError, match="no journal") as caught:
            await team.run(task="hi")
        assert isinstance(caught.value.__cause__, OSError)
        broken[0] = False
        assert texts(await team.run())[-1] == "1\n2"


async def test_hooks_hold_for_what_runs_inside_and_inner_ones_win():
    outer, inner = Journal(), Journal()
    model = ScriptedModel(*[calls(("one", {}))] * 3)
    agent = AssistantAgent("a", model, tools=[one])
    with run_hooks(intercept=outer):
        await agent.run(task="hi")
        with run_hooks(intercept=inner):
            await agent.run(task="hi")
        with run_hooks():
            await agent.run(task="hi")
    assert (len(outer.calls), len(inner.calls)) == (2, 1)


async def test_a_run_without_hooks_calls_its_tools_directly():
    agent = AssistantAgent("a", ScriptedModel(calls(("one", {}))), tools=[one])
    assert texts(await agent.run(task="hi"))[-1] == "1"


async def test_a_tool_can_ask_for_its_own_call():
    seen: list[ToolCall | None] = []

    async def curious() -> str:
        seen.append(current_tool_call())
        return ""

    def curious_in_a_thread() -> str:
        seen.append(current_tool_call())
        return ""

    wanted = calls(("curious", {}), ("curious_in_a_thread", {}))
    agent = AssistantAgent("a", ScriptedModel(wanted), tools=[curious, curious_in_a_thread])
    await agent.run(task="hi")
    assert sorted(call.name for call in seen if call) == ["curious", "curious_in_a_thread"]
    assert current_tool_call() is None


async def test_malformed_arguments_pass_the_interceptor_as_the_model_wrote_them():
    journal = Journal()
    agent = AssistantAgent("a", ScriptedModel(calls(("one", "{no"), ("one", "[]"))), tools=[one])
    with run_hooks(intercept=journal):
        await agent.run(task="hi")
    assert [call.arguments for call in journal.calls] == ["{no", "[]"]
    assert [call.parsed_arguments() for call in journal.calls] == [None, None]


async def here() -> str:
    return "/".join(AGENT_PATH.get())


async def here_twice() -> AsyncGenerator[str, None]:
    yield await here()
    yield await here()


async def test_who_asks_is_on_the_path():
    assert await run_in_path("al", run_in_path("bo", here())) == "al/bo"
    seen = [(each, await here()) async for each in stream_in_path("al", here_twice())]
    assert seen == [("al", "")] * 2


async def test_a_streamed_answer_has_a_path_if_somebody_listens(caplog: pytest.LogCaptureFixture):
    stream = here_twice()
    assert stream_answer_in_path("al", stream) is stream
    await stream.aclose()
    with caplog.at_level("INFO", "teams.events"):
        assert [each async for each in stream_answer_in_path("al", here_twice())] == ["al"] * 2


async def test_a_result_fits_a_model_of_the_run():
    call = ToolCall(key="k", id="1", name="one", arguments="{}", agent=("a",))

    async def long(call: ToolCall) -> ToolResult:
        return result(call, "x" * 2_000)

    assert (largest_result(), current_hooks().largest_result) == (LARGEST_RESULT, None)
    assert (await run_call(call, long)).to_text() == "x" * 2_000
    with run_hooks(largest_result=1_000):
        assert largest_result() == 1_000
        assert len((await run_call(call, long)).to_text()) < 2_000
