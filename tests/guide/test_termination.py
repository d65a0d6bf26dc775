"""The page on termination: conditions that reset, combine, and custom ones."""

from collections.abc import Sequence

import pytest
from pydantic import BaseModel

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import TerminatedException, TerminationCondition
from teams.conditions import FunctionalTermination, MaxMessageTermination, TextMentionTermination
from teams.core import Component
from teams.messages import BaseAgentEvent, BaseChatMessage, StopMessage, ToolCallExecutionEvent
from tests.fakes.openai_script import Call, Reply
from tests.guide.harness import conversations, goes_on_alike, watch

TASK = "A haiku about fog."
THREE = [("TextMessage", "user"), ("TextMessage", "poet"), ("TextMessage", "editor")]


def pair(model, condition, *, tools=()) -> RoundRobinGroupChat:
    poet = AssistantAgent("poet", model, system_message="You write.")
    editor = AssistantAgent("editor", model, system_message="You comment.", tools=list(tools))
    return RoundRobinGroupChat([poet, editor], termination_condition=condition)


def three_messages(model) -> RoundRobinGroupChat:
    return pair(model, MaxMessageTermination(max_messages=3))


async def test_a_condition_starts_over_with_each_run(openai_server, model):
    openai_server.script(Reply(text="Fog."), Reply(text="More fog."))
    team = three_messages(model)

    run = await watch(team.run_stream(task=TASK))
    assert run.trace == THREE
    assert run.stop_reason == "Maximum number of messages 3 reached, current message count: 3"

    again = await goes_on_alike(
        team,
        three_messages,
        openai_server,
        Reply(text="Fog, fog."),
        Reply(text="Yes."),
        Reply(text="Good."),
    )
    assert again.trace == [
        ("TextMessage", "poet"),
        ("TextMessage", "editor"),
        ("TextMessage", "poet"),
    ]


async def test_or_stops_with_the_first_condition(openai_server, model):
    condition = MaxMessageTermination(10) | TextMentionTermination("APPROVE")
    openai_server.script(Reply(text="Fog."), Reply(text="APPROVE"))
    run = await watch(pair(model, condition).run_stream(task=TASK))
    assert run.trace == THREE
    assert run.stop_reason == "Text 'APPROVE' mentioned"


async def test_and_waits_for_all_conditions(openai_server, model):
    condition = MaxMessageTermination(4) & TextMentionTermination("APPROVE")
    openai_server.script(Reply(text="Fog."), Reply(text="APPROVE"), Reply(text="Thanks."))
    run = await watch(pair(model, condition).run_stream(task=TASK))
    assert run.trace == [*THREE, ("TextMessage", "poet")]
    assert run.stop_reason == (
        "Text 'APPROVE' mentioned, Maximum number of messages 4 reached, current message count: 4"
    )


async def test_a_function_of_the_latest_messages_can_be_a_condition(openai_server, model):
    def short(messages: Sequence[BaseAgentEvent | BaseChatMessage]) -> bool:
        return len(messages[-1].to_text()) < 5

    openai_server.script(Reply(text="A long line."), Reply(text="Fog."))
    run = await watch(pair(model, FunctionalTermination(short)).run_stream(task=TASK))
    assert run.trace == THREE
    assert run.stop_reason == "Functional termination condition met"


class ToolUsedConfig(BaseModel):
    tool: str


class ToolUsed(TerminationCondition, Component[ToolUsedConfig]):
    """A condition of one's own: a tool was executed."""

    component_config_schema = ToolUsedConfig

    def __init__(self, tool: str) -> None:
        self._tool = tool
        self._terminated = False

    @property
    def terminated(self) -> bool:
        return self._terminated

    async def __call__(
        self, messages: Sequence[BaseAgentEvent | BaseChatMessage]
    ) -> StopMessage | None:
        if self._terminated:
            raise TerminatedException("The tool was used before")
        for message in messages:
            if isinstance(message, ToolCallExecutionEvent):
                for result in message.content:
                    if result.name == self._tool:
                        self._terminated = True
                        return StopMessage(content=f"{self._tool} was used", source="ToolUsed")
        return None

    async def reset(self) -> None:
        self._terminated = False


def approve() -> str:
    """Approve the text; there is nothing left to improve."""
    return "approved"


def until_approved(model) -> RoundRobinGroupChat:
    return pair(model, ToolUsed("approve"), tools=[approve])


async def test_a_condition_of_ones_own_watches_for_a_tool(openai_server, model):
    approval = Reply(calls=[Call(name="approve")])
    openai_server.script(Reply(text="Fog."), Reply(text="More."), Reply(text="Fog!"), approval)
    team = until_approved(model)

    run = await watch(team.run_stream(task=TASK))

    editing = [
        ("ToolCallRequestEvent", "editor"),
        ("ToolCallExecutionEvent", "editor"),
        ("ToolCallSummaryMessage", "editor"),
    ]
    assert run.trace == [*THREE, ("TextMessage", "poet"), *editing]
    assert run.stop_reason == "approve was used"
    assert [request.tools for request in openai_server.requests] == [[], ["approve"]] * 2
    assert conversations(openai_server)[-1] == [
        "system: You comment.",
        f"user[user]: {TASK}",
        "user[poet]: Fog.",
        "assistant: More.",
        "user[poet]: Fog!",
    ]
    again = await goes_on_alike(
        team, until_approved, openai_server, Reply(text="Mist."), approval, task="And mist?"
    )
    assert again.trace == [("TextMessage", "user"), ("TextMessage", "poet"), *editing]


async def test_a_condition_of_ones_own_dumps_and_loads():
    dumped = ToolUsed("approve").dump_component()
    assert dumped.config == {"tool": "approve"}
    loaded = ToolUsed.load_component(dumped)
    assert loaded.dump_component() == dumped


async def test_a_condition_that_fired_must_be_reset():
    condition = MaxMessageTermination(1)
    message = StopMessage(content="x", source="user")
    assert await condition([message]) is not None
    with pytest.raises(TerminatedException):
        await condition([message])
    await condition.reset()
    assert await condition([message]) is not None
