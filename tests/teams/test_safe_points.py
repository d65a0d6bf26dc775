"""A run can stop at every item, and continues as if uninterrupted.

Each scenario is a team with scripted models whose answers depend on the request alone. It is run
once in one go; then it is stopped at every item, in every way there is, and taken up in a fresh
team.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from itertools import cycle, repeat
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from teams import BaseGroupChat, RoundRobinGroupChat, Swarm
from teams.agents import UserProxyAgent
from teams.base import ChatAgent, TaskResult, Team, run_hooks
from teams.conditions import MaxMessageTermination, TextMentionTermination
from teams.core import CancellationToken
from teams.memory import ListMemory, MemoryContent, MemoryMimeType
from teams.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    HandoffMessage,
    ModelClientStreamingChunkEvent,
    StopMessage,
    StructuredMessage,
    TextMessage,
)
from teams.model_context import BufferedChatCompletionContext, UnboundedChatCompletionContext
from teams.models import AssistantMessage, LLMMessage
from teams.tools import BaseStreamTool, FunctionTool, ToolTraits
from tests.fakes.interrupted_runs import (
    WAYS,
    Build,
    Interrupted,
    Later,
    Models,
    Way,
    assert_same,
    build_snapshot,
    settled,
    stop_at_every_item,
    uninterrupted,
)
from tests.fakes.scripted_model import calls, says


def _add(a: int, b: int) -> int:
    """Add."""
    return a + b


async def _look_up(word: str) -> str:
    """Look up."""
    await asyncio.sleep(0)
    return f"{word} is a word"


# What a break cuts off may begin again: test_calls_in_flight.py has what may not.
REPEATABLE = ToolTraits(idempotent=True)
add = FunctionTool(_add, name="add", traits=REPEATABLE)
look_up = FunctionTool(_look_up, name="look_up", traits=REPEATABLE)


class Words(BaseModel):
    text: str


class Spell(BaseStreamTool[Words, TextMessage, Words]):
    """Says its letters while it runs."""

    traits = REPEATABLE

    def __init__(self) -> None:
        super().__init__(Words, Words, "spell", "Spell a text.")

    async def run(self, args: Words, cancellation_token: CancellationToken) -> Words:
        return args

    async def run_stream(
        self, args: Words, cancellation_token: CancellationToken
    ) -> AsyncGenerator[Any, None]:
        for letter in args.text:
            await asyncio.sleep(0)
            yield TextMessage(content=letter, source="speller")
        yield args

    def return_value_as_string(self, value: Any) -> str:
        return value.text


def texts(models: Models) -> BaseGroupChat:
    first = models.agent("first", "one", "two DONE")
    second = models.agent("second", "uno", "due", model_context=BufferedChatCompletionContext(3))
    return RoundRobinGroupChat(
        [first, second],
        termination_condition=TextMentionTermination("DONE") & MaxMessageTermination(4),
        emit_team_events=True,
    )


def streamed(models: Models) -> BaseGroupChat:
    first = models.agent(
        "first", "one two three", says("so DONE", thought="hm"), model_client_stream=True
    )
    second = models.agent("second", "uno due", model_client_stream=True)
    return RoundRobinGroupChat([first, second], max_turns=3)


def tool_loop(models: Models) -> BaseGroupChat:
    agent = models.agent(
        "worker",
        calls(("add", {"a": 1, "b": 2}), thought="count"),
        calls(("look_up", {"word": "x"})),
        "done",
        tools=[add, look_up],
        max_tool_iterations=5,
        model_client_stream=True,
    )
    return RoundRobinGroupChat([agent], max_turns=1)


def parallel_tools(models: Models) -> BaseGroupChat:
    wanted = calls(
        ("add", {"a": 1, "b": 2}),
        ("look_up", {"word": "x"}),
        ("spell", {"text": ""}),
        ("nothing", {}),
        ("add", "no json"),
    )
    agent = models.agent(
        "worker", wanted, calls(("add", {"a": 3, "b": 4})), tools=[add, look_up, Spell()]
    )
    return RoundRobinGroupChat([agent], max_turns=2)


def reflection(models: Models) -> BaseGroupChat:
    agent = models.agent(
        "worker",
        calls(("add", {"a": 1, "b": 2})),
        "that is three",
        tools=[add],
        reflect_on_tool_use=True,
        model_client_stream=True,
    )
    return RoundRobinGroupChat([agent, models.agent("critic", "fine")], max_turns=2)


def hand_offs(models: Models) -> BaseGroupChat:
    desk = models.agent(
        "desk",
        calls(("look_up", {"word": "x"}), ("transfer_to_expert", {})),
        "bye DONE",
        tools=[look_up],
        handoffs=["expert"],
    )
    expert = models.agent(
        "expert",
        calls(("add", {"a": 1, "b": 1}), thought="sum"),
        calls(("transfer_to_desk", {}), thought="back"),
        tools=[add],
        handoffs=["desk"],
        max_tool_iterations=3,
    )
    return Swarm([desk, expert], termination_condition=TextMentionTermination("DONE"))


def structured(models: Models) -> BaseGroupChat:
    agent = models.agent(
        "worker",
        calls(("add", {"a": 1, "b": 2})),
        '{"text": "three"}',
        tools=[add],
        output_content_type=Words,
        output_content_type_format="it is {text}",
    )
    return RoundRobinGroupChat([agent, models.agent("critic", "fine")], max_turns=2)


def memory(models: Models) -> BaseGroupChat:
    def remember(text: str) -> ListMemory:
        return ListMemory(
            text, [MemoryContent(content=text, mime_type=MemoryMimeType.TEXT, metadata={"n": 1})]
        )

    agent = models.agent(
        "worker", "yes", "no", memory=[remember("sky is blue"), remember("grass is green")]
    )
    return RoundRobinGroupChat([agent], max_turns=2)


def human(models: Models) -> BaseGroupChat:
    async def ask(prompt: str, cancellation_token: CancellationToken | None) -> str:
        await asyncio.sleep(0)
        return f"answer to {prompt}"

    desk = models.agent("desk", calls(("transfer_to_boss", {})), "bye DONE", handoffs=["boss"])
    return Swarm(
        [desk, UserProxyAgent("boss", input_func=ask)],
        termination_condition=TextMentionTermination("DONE"),
    )


def nested(models: Models) -> BaseGroupChat:
    inner = RoundRobinGroupChat(
        [
            models.agent("one", "a", "c", "e", "g"),
            models.agent("two", calls(("add", {"a": 1, "b": 2})), "d", tools=[add]),
        ],
        name="inner",
        description="a pair",
        termination_condition=MaxMessageTermination(3),
        emit_team_events=True,
    )
    return RoundRobinGroupChat(
        [models.agent("outer", "x y", "z", model_client_stream=True), inner], max_turns=4
    )


async def risky() -> str:
    """Needs a human's word."""
    return "risked"


def waiting(models: Models) -> BaseGroupChat:
    wanted = calls(("risky", {}), ("add", {"a": 1, "b": 2}), ("risky", {}))
    worker = models.agent(
        "worker", wanted, "so", tools=[risky, add], max_tool_iterations=2, model_client_stream=True
    )
    inner = RoundRobinGroupChat([UserProxyAgent("boss"), worker], name="inner", max_turns=2)
    return RoundRobinGroupChat([models.agent("first", "a b", "c"), inner], max_turns=3)


class OwnContext(UnboundedChatCompletionContext):
    """As in the guide: the model is not told what was thought."""

    async def get_messages(self) -> list[LLMMessage]:
        return [
            AssistantMessage(content=message.content, source=message.source)
            if isinstance(message, AssistantMessage)
            else message
            for message in await super().get_messages()
        ]


def own_context(models: Models) -> BaseGroupChat:
    agent = models.agent(
        "worker", says("a", thought="hm"), says("b", thought="so"), model_context=OwnContext()
    )
    return RoundRobinGroupChat([agent], max_turns=2)


class Together(BaseGroupChat):
    """Everyone at once, round after round."""

    manager_name = "Together"

    def __init__(self, participants: Sequence[ChatAgent | Team], **options: Any) -> None:
        super().__init__("together", "", list(participants), **options)

    async def select_speaker(
        self, thread: Sequence[BaseAgentEvent | BaseChatMessage]
    ) -> list[str] | StopMessage:
        return list(self._places)


def together(models: Models) -> BaseGroupChat:
    return Together(
        [
            models.agent("left", calls(("add", {"a": 1, "b": 2})), "l", tools=[add]),
            models.agent("right", "r one", "r two", model_client_stream=True),
            models.agent("third", calls(("look_up", {"word": "x"})), "t", tools=[look_up]),
            RoundRobinGroupChat(
                [models.agent("inmost", "i", "j"), models.agent("next", "n", "o")],
                name="inner",
                max_turns=2,
            ),
        ],
        max_turns=2,
    )


SCENARIOS: list[Build] = [
    texts,
    streamed,
    tool_loop,
    parallel_tools,
    reflection,
    hand_offs,
    structured,
    memory,
    human,
    nested,
    own_context,
    waiting,
]
"""Those in which one speaks at a time, so that the order is always the same."""

every_scenario = pytest.mark.parametrize("build", [*SCENARIOS, together], ids=lambda b: b.__name__)
every_sequence = pytest.mark.parametrize("build", SCENARIOS, ids=lambda b: b.__name__)


@every_sequence
async def test_a_run_stopped_at_any_item_goes_on_as_if_it_had_not_stopped(build: Build):
    await stop_at_every_item(build, cycle(WAYS))


@pytest.mark.chaos
@every_sequence
@pytest.mark.parametrize("way", WAYS)
async def test_a_run_stopped_in_any_way_goes_on_as_if_it_had_not_stopped(build: Build, way: Way):
    await stop_at_every_item(build, repeat(way))


@every_sequence
def test_a_run_may_stop_as_often_as_it_likes(build: Build):
    whole = asyncio.run(uninterrupted(build))
    ways = st.sampled_from(WAYS)

    async def check(breaks: list[tuple[int, Way]]) -> None:
        part = Interrupted(build)
        for count, way in breaks:
            if part.run.result is None:
                await part.take(count, way)
        if part.run.result is None:
            await part.take(10_000, "stay")
        assert_same(part.run, whole)

    @settings(max_examples=10, derandomize=True, database=None)
    @given(st.lists(st.tuples(st.integers(1, 3), ways), max_size=12))
    def in_pieces(breaks: list[tuple[int, Way]]) -> None:
        asyncio.run(check(breaks))

    in_pieces()


@every_scenario
async def test_at_every_item_snapshot_and_deltas_load_to_the_state_that_is_saved(build: Build):
    team, later = build(Models()), Later()
    parts: list[bytes] = []
    result: TaskResult | None = None
    with run_hooks(ask=later.ask, intercept=later.intercept):
        while result is None or result.pending:
            async for item in team.run_stream(task="go" if result is None else None):
                result = item if isinstance(item, TaskResult) else result
                parts.append(await (team.save_delta() if parts else team.save_snapshot()))
                state = json.loads(json.dumps(await team.save_state()))
                assert await team.save_delta() == b""
                for loaded_from in (parts, [await build_snapshot(build, parts)]):
                    fresh = build(Models())
                    await fresh.load_snapshot(loaded_from)
                    assert json.loads(json.dumps(await fresh.save_state())) == state
                    assert await fresh.save_delta() == b""


@pytest.mark.chaos
@pytest.mark.parametrize("way", WAYS)
async def test_speakers_side_by_side_stopped_in_any_way_lose_and_repeat_nothing(way: Way):
    await stop_speakers_at_every_item(repeat(way))


async def test_speakers_side_by_side_stopped_at_any_item_lose_and_repeat_nothing():
    await stop_speakers_at_every_item(cycle(WAYS))


async def stop_speakers_at_every_item(ways: Iterable[Way]) -> None:
    whole = await uninterrupted(together)
    assert whole.items
    for count, way in zip(range(1, len(whole.items) + 1), ways, strict=False):
        part = Interrupted(together)
        await part.take(count, way)
        await part.take(10_000, way)
        assert sorted(settled(part.run.items)) == sorted(settled(whole.items)), count
        by_source = [
            [
                [entry for entry in settled(run.items) if entry[1] == name]
                for name in ("left", "right")
            ]
            for run in (part.run, whole)
        ]
        assert by_source[0] == by_source[1]


async def test_the_chunks_of_a_resumed_message_are_its_whole_text_under_its_id():
    whole = await uninterrupted(streamed)
    for count in range(1, len(whole.items) + 1):
        part = Interrupted(streamed)
        await part.take(count, "state")
        before = len(part.run.items)
        await part.take(10_000, "state")
        streams: dict[str | None, str] = {}
        for item in part.run.items[before:]:
            if isinstance(item, ModelClientStreamingChunkEvent):
                streams[item.full_message_id] = streams.get(item.full_message_id, "") + item.content
            elif isinstance(item, TextMessage) and item.id in streams:
                assert streams.pop(item.id) == item.content


async def test_a_result_holds_what_its_own_part_of_the_run_yielded():
    whole = await uninterrupted(hand_offs)
    for count in range(1, len(whole.items)):
        part = Interrupted(hand_offs)
        await part.take(count, "state")
        await part.take(10_000, "state")
        assert part.run.result is not None
        assert list(part.run.result.messages) == part.run.items[count:]


async def test_the_response_and_the_delta_of_a_broken_turn_hold_what_came_before_the_break():
    whole = await uninterrupted(hand_offs)
    assert whole.result is not None
    for count in range(1, len(whole.items)):
        part = Interrupted(hand_offs)
        await part.take(count, "snapshot")
        await part.take(10_000, "snapshot")
        thread = part.run.state["agent_states"]["SwarmGroupChatManager"]["message_thread"]
        assert [(m["type"], m["source"]) for m in thread] == [
            (type(item).__name__, item.source) for item in whole.items
        ]


async def test_the_message_that_hands_off_survives_a_break_with_its_context():
    whole = await uninterrupted(hand_offs)
    at = next(i for i, item in enumerate(whole.items) if isinstance(item, HandoffMessage))
    part = Interrupted(hand_offs)
    await part.take(at + 1, "deltas")
    await part.take(10_000, "deltas")
    handoff = part.run.items[at]
    assert isinstance(handoff, HandoffMessage)
    assert [message.type for message in handoff.context] == [
        "AssistantMessage",
        "FunctionExecutionResultMessage",
    ]
    assert part.run.requests == whole.requests


async def test_structured_messages_come_back_as_what_they_were():
    part = Interrupted(structured)
    whole = await uninterrupted(structured)
    await part.take(len(whole.items) - 1, "state")
    assert isinstance(part.run.items[-1], StructuredMessage)
    await part.take(10_000, "state")
    assert_same(part.run, whole)


async def test_no_task_of_a_left_run_stays_behind():
    before = asyncio.all_tasks()
    whole = await uninterrupted(parallel_tools)
    for count in range(1, len(whole.items) + 1):
        stream = parallel_tools(Models()).run_stream(task="go")
        async with aclosing(stream):
            for _ in range(count):
                await anext(stream)
        assert asyncio.all_tasks() == before
