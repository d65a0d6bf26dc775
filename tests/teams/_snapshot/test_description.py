"""The description of an agent's state, for both formats."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, cast

import pytest
from pydantic import BaseModel

from teams import RoundRobinGroupChat
from teams._snapshot.description import MemberField, RecordField, StateField, ValueField
from teams._snapshot.snapshot import SnapshotReader, SnapshotWriter
from teams.agents import AssistantAgent, MessageFilterAgent, MessageFilterConfig
from teams.base import InputRequired, ToolCall, run_hooks
from teams.core import CancellationToken
from teams.messages import BaseAgentEvent, MessageFactory, TextMessage
from teams.model_context import ChatCompletionContext, UnboundedChatCompletionContext
from teams.models import LLMMessage, UserMessage
from teams.tools import BaseStreamTool
from tests.fakes.agents import Talker
from tests.fakes.scripted_model import ScriptedModel, calls
from tests.fakes.streams import take_until, texts
from tests.teams._snapshot.saved_teams import both_ways, reload


class LastTwo(ChatCompletionContext):
    """As in the guide: a context that shows only a part."""

    async def get_messages(self) -> list[LLMMessage]:
        return self._messages[-2:]

    def _to_config(self) -> Any: ...


class Titled(UnboundedChatCompletionContext):
    """A context with a state of its own."""

    def __init__(self, title: str = "") -> None:
        super().__init__()
        self.title = title

    async def get_messages(self) -> list[LLMMessage]:
        return [UserMessage(content=self.title, source="title"), *await super().get_messages()]

    async def save_state(self) -> Mapping[str, Any]:
        return {**await super().save_state(), "title": self.title}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        await super().load_state(state)
        self.title = state["title"]


@both_ways
@pytest.mark.parametrize("kind", ["last-two", "titled"])
async def test_model_contexts_of_users_own_are_saved_and_loaded(way: str, kind: str):
    def build(title: str) -> tuple[RoundRobinGroupChat, ScriptedModel]:
        context = LastTwo() if kind == "last-two" else Titled(title)
        model = ScriptedModel("a", "b", "c")
        return RoundRobinGroupChat(
            [AssistantAgent("a", model, model_context=context)], max_turns=1
        ), model

    (team, _), (fresh, model) = build("My title"), build("")
    await team.run(task="hi")
    await team.run(task="ho")
    await reload(team, fresh, way)
    assert await fresh.save_state() == await team.save_state()
    await fresh.run(task="hu")
    expected = ["b", "hu"] if kind == "last-two" else ["My title", "hi", "a", "ho", "b", "hu"]
    assert model.texts() == expected


class Counting(AssistantAgent):
    """An agent that remembers more than its base class."""

    turns = 0

    async def on_messages_stream(
        self, messages: Any, cancellation_token: Any
    ) -> AsyncGenerator[Any, None]:
        self.turns += 1
        async for item in super().on_messages_stream(messages, cancellation_token):
            yield item

    async def save_state(self) -> Mapping[str, Any]:
        return {**await super().save_state(), "turns": self.turns}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        await super().load_state(state)
        self.turns = state["turns"]


class CountingFilter(MessageFilterAgent):
    """The same of an agent around another one."""

    turns = 0

    async def save_state(self) -> Mapping[str, Any]:
        return {**await super().save_state(), "turns": self.turns}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        await super().load_state(state)
        self.turns = state["turns"]


def counting_filter() -> CountingFilter:
    inner = AssistantAgent("inner", ScriptedModel("fine"))
    return CountingFilter("outer", inner, MessageFilterConfig(per_source=[]))


@both_ways
async def test_what_a_subclass_of_any_agent_adds_is_saved_in_both_formats(way: str):
    agent, fresh = counting_filter(), counting_filter()
    agent.turns = 3
    await reload(RoundRobinGroupChat([agent]), RoundRobinGroupChat([fresh]), way)
    assert fresh.turns == 3


async def test_an_older_snapshot_of_such_a_subclass_loads_what_it_holds():
    inner = AssistantAgent("inner", ScriptedModel("fine"))
    before = MessageFilterAgent("outer", inner, MessageFilterConfig(per_source=[]))
    await inner.model_context.add_message(UserMessage(content="known", source="user"))
    team, fresh = RoundRobinGroupChat([before]), RoundRobinGroupChat([counting_filter()])
    await fresh.load_snapshot([await team.save_snapshot()])
    loaded = (await fresh.save_state())["agent_states"]["outer"]["agent_state"]
    context = loaded["wrapped_agent_state"]["llm_context"]
    assert [message["content"] for message in context["messages"]] == ["known"]


@both_ways
async def test_what_a_users_agent_adds_to_its_state_is_saved_in_both_formats(way: str):
    def build() -> tuple[RoundRobinGroupChat, Counting]:
        agent = Counting("a", ScriptedModel("1", "2"))
        return RoundRobinGroupChat([agent], max_turns=1), agent

    (team, _), (fresh, agent) = build(), build()
    await team.run(task="hi")
    await reload(team, fresh, way)
    assert agent.turns == 1
    assert await fresh.save_state() == await team.save_state()


@both_ways
async def test_a_half_finished_batch_goes_on_elsewhere(way: str):
    ran: list[str] = []

    async def quick() -> str:
        ran.append("quick")
        return "quick"

    async def risky() -> str:
        ran.append("risky")
        return "risky"

    async def wait(call: ToolCall, proceed: Any) -> Any:
        if call.name == "risky" and "approved" not in ran:
            raise InputRequired("?")
        return await proceed(call)

    def build() -> RoundRobinGroupChat:
        model = ScriptedModel(calls(("risky", {}), ("quick", {})), "fine", speaker="a")
        agent = AssistantAgent("a", model, tools=[quick, risky], reflect_on_tool_use=True)
        return RoundRobinGroupChat([agent], max_turns=1)

    team, fresh = build(), build()
    with run_hooks(intercept=wait):
        await team.run(task="hi")
        await reload(team, fresh, way)
        ran.append("approved")
        assert texts(await fresh.run())[-1] == "fine"
    assert ran == ["quick", "approved", "risky"]


class Progress(BaseAgentEvent):
    content: str
    type: str = "Progress"

    def to_text(self) -> str:
        return self.content


class Nothing(BaseModel):
    pass


class Reporting(BaseStreamTool[Nothing, Progress, Nothing]):
    def __init__(self) -> None:
        super().__init__(Nothing, Nothing, "reporting", "")

    async def run(self, args: Nothing, cancellation_token: CancellationToken) -> Nothing:
        return args

    async def run_stream(
        self, args: Nothing, cancellation_token: CancellationToken
    ) -> AsyncGenerator[Progress | Nothing, None]:
        yield Progress(content="half", source="tool")
        yield args


@both_ways
async def test_a_turn_in_the_middle_may_hold_message_types_of_users_own(way: str):
    def build() -> RoundRobinGroupChat:
        model = ScriptedModel(calls(("reporting", {})), speaker="a")
        inner = RoundRobinGroupChat(
            [AssistantAgent("a", model, tools=[Reporting()])],
            name="inner",
            max_turns=1,
            custom_message_types=[Progress],
        )
        return RoundRobinGroupChat([inner], max_turns=1)

    team, fresh = build(), build()
    stream = team.run_stream(task="hi")
    await take_until(stream, Progress)
    await reload(team, fresh, way)
    assert await fresh.save_state() == await team.save_state()
    await stream.aclose()


class Note:
    """A record with a message."""

    def __init__(self, said: TextMessage) -> None:
        self.said = said

    def dump(self, encode: Any) -> dict[str, Any]:
        return {"said": encode(self.said)}


class Owner:
    """Holds a value, a record and a member."""

    def __init__(self, count: int | None = None, note: Note | None = None) -> None:
        self.inner = self
        self.count = count
        self.note = note
        self.member = Talker("al")

    def take_note(self, note: Note | None) -> None:
        self.note = note


FIELDS: Sequence[StateField] = (
    ValueField("count", "inner.count"),
    RecordField(
        "note",
        "note",
        load=lambda data, decode: Note(cast("TextMessage", decode(data["said"]))),
        put=Owner.take_note,
    ),
    MemberField("member", key="member", prefix="member/"),
)


@pytest.mark.parametrize(
    "note", [None, Note(TextMessage(content="hi", source="a"))], ids=["none", "one"]
)
async def test_fields_are_saved_in_both_formats(note: Note | None):
    owner, types = Owner(3, note), MessageFactory()
    state: dict[str, Any] = {}
    writer = SnapshotWriter.for_team(types)
    for field in FIELDS:
        await field.save(owner, state)
        await field.write(owner, "al/", writer)
    assert (state["count"], "note" in state, "member" in state) == (3, note is not None, True)
    loaded, read = (Owner(9, Note(TextMessage(content="old", source="a"))) for _ in range(2))
    reader = SnapshotReader([writer.finish()], types)
    for field in FIELDS:
        await field.load(loaded, json.loads(json.dumps(state)), types)
        await field.read(read, "al/", reader)
    for again in (loaded, read):
        assert again.count == 3
        assert (again.note and again.note.said) == (note and note.said)
