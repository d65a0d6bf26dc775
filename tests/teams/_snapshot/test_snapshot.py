"""The two formats in which a team's state is saved."""

import json
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from teams import BaseGroupChat, RoundRobinGroupChat, Swarm
from teams.agents import (
    AssistantAgent,
    MessageFilterAgent,
    MessageFilterConfig,
    UserProxyAgent,
)
from teams.base import InputRequired, ToolCall, run_hooks
from teams.conditions import MaxMessageTermination, TimeoutTermination
from teams.core import CancellationToken
from teams.messages import BaseAgentEvent, TextMessage, ToolCallRequestEvent
from teams.model_context import ChatCompletionContext, UnboundedChatCompletionContext
from teams.models import AssistantMessage, LLMMessage, UserMessage
from teams.tools import BaseStreamTool
from tests.fakes.agents import Talker
from tests.fakes.scripted_model import ScriptedModel, calls
from tests.fakes.streams import take, take_until, texts

AUTOGEN = Path(__file__).parents[2] / "data" / "autogen-0.7.5"


def team_of(*answers: Any, max_turns: int | None = 2, **options: Any) -> RoundRobinGroupChat:
    agents = [
        AssistantAgent(name, ScriptedModel(*answers, speaker=name), description=name)
        for name in ("one", "two")
    ]
    return RoundRobinGroupChat([*agents], max_turns=max_turns, **options)


async def reload(team: BaseGroupChat, fresh: BaseGroupChat, way: str) -> None:
    if way == "state":
        await fresh.load_state(json.loads(json.dumps(await team.save_state())))
    else:
        await fresh.load_snapshot([await team.save_snapshot()])


both_ways = pytest.mark.parametrize("way", ["state", "snapshot"])


# The documented format


async def test_the_documented_shape():
    team = team_of("fine")
    await team.run(task="hi")
    state = await team.save_state()
    assert json.loads(json.dumps(state)) == state
    assert (state["type"], state["version"]) == ("TeamState", "1.0.0")
    states = state["agent_states"]
    assert set(states) == {"one", "two", "RoundRobinGroupChatManager"}
    one, manager = states["one"], states["RoundRobinGroupChatManager"]
    assert (one["type"], one["version"]) == ("ChatAgentContainerState", "1.0.0")
    assert [message["content"] for message in one["message_buffer"]] == ["fine"]
    assert one["agent_state"]["type"] == "AssistantAgentState"
    assert one["agent_state"]["llm_context"]["messages"] == [
        {"type": "UserMessage", "content": "hi", "source": "user"},
        {"type": "AssistantMessage", "content": "fine", "thought": None, "source": "one"},
    ]
    assert manager["type"] == "RoundRobinManagerState"
    assert [item["content"] for item in manager["message_thread"]] == ["hi", "fine", "fine"]
    assert manager["message_thread"][0]["type"] == "TextMessage"
    assert (manager["current_turn"], manager["next_speaker_index"]) == (0, 0)


async def test_the_managers_of_the_teams_have_the_documented_names():
    for team, key, extra in (
        (team_of(), "RoundRobinGroupChatManager", "next_speaker_index"),
        (Swarm([UserProxyAgent("user")]), "SwarmGroupChatManager", "current_speaker"),
    ):
        assert extra in (await team.save_state())["agent_states"][key]


@both_ways
async def test_a_team_can_be_saved_and_loaded_before_its_first_run(way: str):
    team, fresh = team_of("fine"), team_of("fine")
    await reload(team, fresh, way)
    assert await fresh.save_state() == await team.save_state()
    assert texts(await fresh.run(task="hi")) == ["hi", "fine", "fine"]


@both_ways
async def test_a_loaded_team_replaces_what_it_had(way: str):
    team, other = team_of("a", "b"), team_of("x", "y")
    await team.run(task="hi")
    await other.run(task="something else")
    await reload(team, other, way)
    assert await other.save_state() == await team.save_state()


async def test_what_was_saved_does_not_change_with_the_team():
    team = RoundRobinGroupChat(
        [AssistantAgent("a", ScriptedModel(calls(("t", {})), "b"), tools=[t])], max_turns=2
    )
    stream = team.run_stream(task="hi")
    await take_until(stream, ToolCallRequestEvent)
    state = await team.save_state()
    text = json.dumps(state)
    await take(stream, 3)
    assert json.dumps(state) == text
    await stream.aclose()


async def t() -> str:
    return "t"


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"agent_states": {}},
        {"agent_states": None},
        {"agent_states": {"one": {}, "two": {}}},
        {"agent_states": {"one": {}, "two": {}, "RoundRobinGroupChatManager": None}},
        {"agent_states": {"one": 1, "two": {}, "RoundRobinGroupChatManager": {}}},
        {
            "agent_states": {
                "one": {},
                "two": {},
                "RoundRobinGroupChatManager": {"next_speaker_index": 7},
            }
        },
        {"agent_states": {"one": {}, "two": {}, "RoundRobinGroupChatManager": {"run": {}}}},
        {
            "agent_states": {
                "one": {"agent_state": {"turn": {"phase": "model"}}},
                "two": {},
                "RoundRobinGroupChatManager": {},
            }
        },
        {
            "agent_states": {
                "one": {"message_buffer": [{"type": "Unheard"}]},
                "two": {},
                "RoundRobinGroupChatManager": {},
            }
        },
    ],
)
async def test_a_malformed_state_is_a_value_error(broken: Any):
    with pytest.raises(ValueError, match=r"\w"):
        await team_of().load_state(broken)


async def test_a_state_that_lacks_a_participant_says_whom():
    team = team_of("a")
    state = await team.save_state()
    other = RoundRobinGroupChat([Talker("one"), Talker("three")])
    with pytest.raises(ValueError, match="three"):
        await other.load_state(state)
    with pytest.raises(ValueError, match="three"):
        await other.load_snapshot([await team.save_snapshot()])
    with pytest.raises(ValueError, match="RoundRobinGroupChatManager"):
        await team.load_state(await Swarm([UserProxyAgent("one")]).save_state())


# What AutoGen wrote


async def test_calls_that_autogen_left_without_results_get_error_results():
    saved = json.loads((AUTOGEN / "round-robin-cancelled.json").read_text())["state"]
    model = ScriptedModel("I am back.")
    team = RoundRobinGroupChat([AssistantAgent("worker", model)], max_turns=1)
    await team.load_state(saved)
    assert texts(await team.run(task="Where are you?"))[-1] == "I am back."
    question, asked, answered, *_ = model.messages()
    assert question["content"] == "Do it."
    assert [call["id"] for call in asked["content"]] == ["c1", "c2"]
    assert [(r["call_id"], r["is_error"]) for r in answered["content"]] == [
        ("c1", True),
        ("c2", True),
    ]


async def test_only_a_turn_record_lets_calls_run_that_have_no_results():
    ran: list[str] = []

    async def tool() -> str:
        ran.append("tool")
        return "done"

    def build() -> tuple[RoundRobinGroupChat, ScriptedModel]:
        model = ScriptedModel(calls(("tool", {})), "fine", speaker="a")
        agent = AssistantAgent("a", model, tools=[tool], max_tool_iterations=2)
        return RoundRobinGroupChat([agent], max_turns=1), model

    team, _ = build()
    stream = team.run_stream(task="hi")
    await take_until(stream, ToolCallRequestEvent)
    state = json.loads(json.dumps(await team.save_state()))
    await stream.aclose()
    for with_record in (True, False):
        if not with_record:
            del state["agent_states"]["a"]["agent_state"]["turn"]
            del state["agent_states"]["RoundRobinGroupChatManager"]["run"]
        ran.clear()
        fresh, model = build()
        await fresh.load_state(state)
        assert texts(await fresh.run(task=None if with_record else "go on"))[-1] == "fine"
        assert ran == (["tool"] if with_record else [])
        (result,) = model.messages()[2]["content"]
        assert result["is_error"] is not with_record


# The compact format


async def test_a_delta_costs_what_was_added_whatever_came_before():
    sizes: list[int] = []
    team = team_of(*["fine"] * 60)
    for number in range(50):
        await team.run(task=f"task {number:3}")
        if number in (10, 49):
            sizes.append(len(await team.save_delta()))
        elif number in (9, 48):
            await team.save_snapshot()
    assert abs(sizes[0] - sizes[1]) < 100
    assert sizes[1] < len(await team.save_snapshot()) / 10


async def test_each_text_is_written_once():
    team = team_of("fine")
    text = "a text which is long enough to be found " * 3
    await team.run(task=text)
    assert (await team.save_snapshot()).count(text.encode()) == 1
    fresh = team_of("fine")
    await fresh.load_snapshot([await team.save_snapshot()])
    assert (await fresh.save_snapshot()).count(text.encode()) == 1


async def test_nothing_new_is_an_empty_delta():
    team = team_of("fine", "good")
    with pytest.raises(RuntimeError, match="save_snapshot"):
        await team.save_delta()
    parts = [await team.save_snapshot()]
    assert await team.save_delta() == b""
    await team.run(task="hi")
    parts.append(await team.save_delta())
    assert parts[1]
    assert await team.save_delta() == b""
    for chain in (parts, [parts[0], b"", parts[1], b""]):
        fresh = team_of("fine", "good")
        await fresh.load_snapshot(chain)
        assert await fresh.save_delta() == b""
        assert await fresh.save_state() == await team.save_state()


async def test_deltas_go_on_where_a_loaded_chain_ends():
    team = team_of("a", "b", "c")
    chain = [await team.save_snapshot()]
    for number in range(3):
        await team.run(task=f"task {number}")
        chain.append(await team.save_delta())
        state = await team.save_state()
        team = team_of("a", "b", "c")
        await team.load_snapshot(chain)
        assert await team.save_state() == state


async def test_what_is_replaced_in_a_history_is_written_again():
    team = team_of("a", "b")
    await team.run(task="hi")
    chain = [await team.save_snapshot()]
    await team.reset()
    chain.append(await team.save_delta())
    await team.run(task="anew")
    chain.append(await team.save_delta())
    fresh = team_of("a", "b")
    await fresh.load_snapshot(chain)
    assert await fresh.save_state() == await team.save_state()


async def test_a_snapshot_in_the_middle_of_a_chain_begins_anew():
    team = team_of("a", "b")
    first = await team.save_snapshot()
    await team.run(task="hi")
    second = [await team.save_snapshot()]
    await team.run(task="hi")
    second.append(await team.save_delta())
    fresh = team_of("a", "b")
    await fresh.load_snapshot([first, *second])
    assert await fresh.save_state() == await team.save_state()


@pytest.mark.parametrize("lost", [0, 1, 2])
async def test_a_chain_that_lacks_a_part_is_refused(lost: int):
    team = team_of("a", "b", "c", "d")
    chain = [await team.save_snapshot()]
    for number in range(3):
        await team.run(task=f"task {number}")
        chain.append(await team.save_delta())
    del chain[lost]
    with pytest.raises(ValueError, match="lacks a part"):
        await team_of().load_snapshot(chain)


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [b""],
        [b"no json"],
        [b"[]"],
        [b"{}"],
        [b'{"parley_state": 99}'],
        [b'{"parley_state": true}'],
        [b'{"parley_state": [2]}'],
        [b'{"parley_state": 2, "part": 0, "lists": {}, "values": {}}'],
    ],
)
async def test_broken_parts_are_a_value_error(parts: list[bytes]):
    with pytest.raises(ValueError, match=r"\w"):
        await team_of().load_snapshot(parts)


async def test_a_state_of_another_version_says_so():
    with pytest.raises(ValueError, match="version 99"):
        await team_of().load_snapshot([b'{"parley_state": 99}'])


async def test_a_state_of_a_dropped_version_names_the_commit_that_reads_it():
    part = b'{"parley_state": 1, "part": 0, "pool": [], "lists": {}, "values": {}}'
    with pytest.raises(ValueError, match=r"version 1;.* Commit 1482369 still reads it"):
        await team_of().load_snapshot([part])


# What users bring along


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


# Conditions


@both_ways
async def test_the_tally_of_a_condition_travels_with_the_team(way: str):
    def build() -> RoundRobinGroupChat:
        return team_of(
            "1", "2", "3", termination_condition=MaxMessageTermination(4), max_turns=None
        )

    team, fresh = build(), build()
    stream = team.run_stream(task="hi")
    await take(stream, 3)
    await reload(team, fresh, way)
    await stream.aclose()
    result = await fresh.run()
    assert len(result.messages) == 1
    assert result.stop_reason == "Maximum number of messages 4 reached, current message count: 4"


async def test_an_idle_team_does_not_age(monkeypatch: pytest.MonkeyPatch):
    now = [0.0]
    monkeypatch.setattr("teams.conditions.monotonic", lambda: now[0])

    def build() -> RoundRobinGroupChat:
        return RoundRobinGroupChat(
            [Talker("a")], termination_condition=TimeoutTermination(10), max_turns=1
        )

    team = build()
    for _ in range(4):
        now[0] += 100
        saved = await team.save_state()
        now[0] += 100
        team = build()
        await team.load_state(saved)
        result = await team.run(task="hi")
        assert result.stop_reason == "Maximum number of turns 1 reached."
    await team.reset()
    now[0] += 100
    saved = await team.save_state()
    team = build()
    await team.load_state(saved)
    assert (await team.run(task="hi")).stop_reason == "Maximum number of turns 1 reached."


# Half-finished work in another process


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


@both_ways
async def test_messages_keep_their_identity(way: str):
    team, fresh = team_of("fine"), team_of("fine")
    message = TextMessage(content="hi", source="user", metadata={"platform": "slack"})
    await team.run(task=message)
    await reload(team, fresh, way)
    thread = (await fresh.save_state())["agent_states"]["RoundRobinGroupChatManager"]
    assert thread["message_thread"][0] == message.dump()


async def test_loaded_contexts_hold_real_model_messages():
    team = team_of("fine")
    await team.run(task="hi")
    fresh = team_of("fine")
    await fresh.load_snapshot([await team.save_snapshot()])
    (one, _) = fresh._participants
    assert isinstance(one, AssistantAgent)
    assert [type(message) for message in await one.model_context.get_messages()] == [
        UserMessage,
        AssistantMessage,
    ]
