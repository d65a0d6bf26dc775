"""Maintainers' helpers sort an issue, then draft the reply."""

from typing import Literal

from pydantic import BaseModel

from teams import DiGraphBuilder, GraphFlow
from teams.agents import AssistantAgent, MessageFilterAgent, MessageFilterConfig, PerSourceFilter
from teams.messages import BaseChatMessage, StructuredMessage
from tests.fakes.openai_script import Call, Reply
from tests.guide.harness import conversations, watch

ISSUES = {
    7: "It crashes when I open an empty file.",
    8: "How do I change the colours?",
}


class Label(BaseModel):
    """The kind of an issue."""

    kind: Literal["bug", "question"]
    reason: str


def read_issue(number: int) -> str:
    """The text of an issue."""
    return ISSUES[number]


def is_a(kind: str):
    """A condition: the issue was sorted so."""

    def check(message: BaseChatMessage) -> bool:
        return isinstance(message, StructuredMessage) and message.content.kind == kind

    return check


def triage(model) -> GraphFlow:
    sorter = AssistantAgent(
        "sorter",
        model,
        tools=[read_issue],
        max_tool_iterations=2,
        output_content_type=Label,
        system_message="You sort issues.",
    )
    tester = AssistantAgent("tester", model, system_message="You ask for what reproduces a bug.")
    guide = AssistantAgent("guide", model, system_message="You answer questions.")
    editor = MessageFilterAgent(
        "editor",
        AssistantAgent("editor", model, system_message="You make drafts short and kind."),
        MessageFilterConfig(
            per_source=[
                PerSourceFilter(source=source, position="last", count=1)
                for source in ("tester", "guide")
            ]
        ),
    )
    builder = DiGraphBuilder()
    for agent in (sorter, tester, guide, editor):
        builder.add_node(agent)
    builder.add_edge(sorter, tester, condition=is_a("bug"))
    builder.add_edge(sorter, guide, condition=is_a("question"))
    builder.add_edge(tester, editor, activation_group="draft", activation_condition="any")
    builder.add_edge(guide, editor, activation_group="draft", activation_condition="any")
    return GraphFlow(builder.get_participants(), graph=builder.build())


async def test_each_kind_of_issue_takes_its_way(openai_server, model):
    flow = triage(model)
    ways = {7: ("bug", "tester"), 8: ("question", "guide")}
    for number, (kind, writer) in ways.items():
        openai_server.script(
            Reply(calls=[Call(name="read_issue", arguments={"number": number})]),
            Reply(text=f'{{"kind": "{kind}", "reason": "It says so."}}'),
            Reply(text=f"Draft about {number}."),
            Reply(text=f"Dear you, {number}."),
        )

        run = await watch(flow.run_stream(task=f"Issue {number}"))

        speakers = [source for kind, source in run.trace if kind.endswith(("Message", "[Label]"))]
        assert speakers == ["user", "sorter", writer, "editor"]
        assert run.answer == f"Dear you, {number}."
        assert run.stop_reason == "Digraph execution is complete"
        assert conversations(openai_server)[-1][-1] == f"user[{writer}]: Draft about {number}."
    assert conversations(openai_server)[-1][0] == "system: You make drafts short and kind."
    assert not [line for line in conversations(openai_server)[-1] if "Issue" in line]
