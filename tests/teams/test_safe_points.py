"""A run can stop wherever its consumer holds an item, and goes on as if it had not.

Each scenario is a team with scripted models whose answers depend on the request alone. It is run
once in one go; then it is stopped at every item, in every way there is, and taken up in a fresh
team.
"""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from teams import BaseGroupChat, RoundRobinGroupChat, Swarm
from teams.agents import AssistantAgent, UserProxyAgent
from teams.base import ChatAgent, TaskResult, Team
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
from teams.tools import BaseStreamTool
from tests.fakes.scripted_model import Answer, ScriptedModel, calls, says

Way = Literal["state", "snapshot", "deltas", "stay", "drop"]
Seen = tuple[str, str, Any]


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


async def look_up(word: str) -> str:
    """Look up."""
    await asyncio.sleep(0)
    return f"{word} is a word"


class Words(BaseModel):
    text: str


class Spell(BaseStreamTool[Words, TextMessage, Words]):
    """Says its letters while it runs."""

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


class Models:
    """The scripted models of a team, by agent."""

    def __init__(self) -> None:
        self.of: dict[str, ScriptedModel] = {}

    def agent(self, name: str, *answers: Answer, **options: Any) -> AssistantAgent:
        self.of[name] = model = ScriptedModel(*answers, speaker=name)
        return AssistantAgent(name, model, system_message=f"You are {name}.", **options)

    def requests(self) -> dict[str, list[dict[str, Any]]]:
        return {name: model.requests for name, model in self.of.items()}


Build = Callable[[Models], BaseGroupChat]


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
]
"""Those in which one speaks at a time, so that the order is always the same."""

every_scenario = pytest.mark.parametrize("build", [*SCENARIOS, together], ids=lambda b: b.__name__)
every_sequence = pytest.mark.parametrize("build", SCENARIOS, ids=lambda b: b.__name__)


def seen(item: Any) -> Seen:
    return type(item).__name__, item.source, json.dumps(normal(item.dump()["content"]), default=str)


UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")


def normal(data: Any) -> Any:
    """The same data with times blanked and ids numbered as they come."""
    names: dict[str, str] = {}
    text = TIME.sub("<time>", json.dumps(data))
    return json.loads(UUID.sub(lambda m: names.setdefault(m[0], f"id{len(names)}"), text))


def settled(items: Sequence[Any]) -> list[Seen]:
    """What was said; not the chunks, which come again when a model is asked again."""
    return [seen(i) for i in items if not isinstance(i, ModelClientStreamingChunkEvent)]


@dataclass
class Run:
    """A run in parts: what was taken, what each model was sent, how it ended."""

    items: list[Any]
    requests: dict[str, list[dict[str, Any]]]
    result: TaskResult | None = None
    state: Any = None


async def uninterrupted(build: Build) -> Run:
    models = Models()
    team = build(models)
    run = Run([], models.requests())
    async for item in team.run_stream(task="go"):
        if isinstance(item, TaskResult):
            run.result = item
        else:
            run.items.append(item)
    run.state = normal(await team.save_state())
    return run


class Interrupted:
    """Takes a run in pieces: some items, then a break, then on in another team (or the same)."""

    def __init__(self, build: Build) -> None:
        self._build = build
        self._models = Models()
        self._team = build(self._models)
        self._task: str | None = "go"
        self.run = Run([], {})

    async def take(self, count: int, way: Way) -> None:
        """Take so many items, then leave."""
        parts: list[bytes] = []
        state = ""
        stream = self._team.run_stream(task=self._task)
        self._task = None
        async for item in stream:
            if isinstance(item, TaskResult):
                await self._end(item)
                break
            self.run.items.append(item)
            if way == "deltas":
                parts.append(
                    await (self._team.save_delta() if parts else self._team.save_snapshot())
                )
            count -= 1
            if count == 0:
                state = json.dumps(await self._team.save_state())
                if way == "snapshot":
                    parts.append(await self._team.save_snapshot())
                break
        if self.run.result is not None:
            return
        if way == "drop":
            return  # no aclose: as after a plain `break`
        await stream.aclose()
        if way != "stay":
            await self._move(json.loads(state), parts)

    async def _move(self, state: Any, parts: list[bytes]) -> None:
        self._collect()
        self._models = Models()
        self._team = self._build(self._models)
        if parts:
            await self._team.load_snapshot(parts)
        else:
            await self._team.load_state(state)
        assert json.loads(json.dumps(await self._team.save_state())) == state

    async def _end(self, result: TaskResult) -> None:
        self._collect()
        self.run.result = result
        self.run.state = normal(await self._team.save_state())

    def _collect(self) -> None:
        """What the models were sent. A request that was broken off is made again, counts once."""
        for name, sent in self._models.requests().items():
            known = self.run.requests.setdefault(name, [])
            for request in sent:
                if not known or known[-1] != request:
                    known.append(request)


def assert_same(run: Run, whole: Run) -> None:
    assert settled(run.items) == settled(whole.items)
    assert run.result is not None
    assert whole.result is not None
    assert run.result.stop_reason == whole.result.stop_reason
    assert run.requests == whole.requests
    assert run.state == whole.state


@every_sequence
@pytest.mark.parametrize("way", ["state", "snapshot", "deltas", "stay", "drop"])
async def test_a_run_stopped_at_any_item_goes_on_as_if_it_had_not_stopped(build: Build, way: Way):
    whole = await uninterrupted(build)
    for count in range(1, len(whole.items) + 1):
        part = Interrupted(build)
        await part.take(count, way)
        await part.take(10_000, way)
        assert_same(part.run, whole)


@every_sequence
def test_a_run_may_stop_as_often_as_it_likes(build: Build):
    whole = asyncio.run(uninterrupted(build))
    ways = st.sampled_from(["state", "snapshot", "deltas", "stay", "drop"])

    async def check(breaks: list[tuple[int, Way]]) -> None:
        part = Interrupted(build)
        for count, way in breaks:
            if part.run.result is None:
                await part.take(count, way)
        if part.run.result is None:
            await part.take(10_000, "stay")
        assert_same(part.run, whole)

    @settings(max_examples=10, deadline=None, derandomize=True, database=None)
    @given(st.lists(st.tuples(st.integers(1, 3), ways), max_size=12))
    def in_pieces(breaks: list[tuple[int, Way]]) -> None:
        asyncio.run(check(breaks))

    in_pieces()


@every_scenario
async def test_at_every_item_snapshot_and_deltas_load_to_the_state_that_is_saved(build: Build):
    team = build(Models())
    parts: list[bytes] = []
    async for _ in team.run_stream(task="go"):
        parts.append(await (team.save_delta() if parts else team.save_snapshot()))
        state = json.loads(json.dumps(await team.save_state()))
        assert await team.save_delta() == b""
        for loaded_from in (parts, [await build_snapshot(build, parts)]):
            fresh = build(Models())
            await fresh.load_snapshot(loaded_from)
            assert json.loads(json.dumps(await fresh.save_state())) == state
            assert await fresh.save_delta() == b""


async def build_snapshot(build: Build, parts: list[bytes]) -> bytes:
    """One snapshot in place of a snapshot and its deltas."""
    team = build(Models())
    await team.load_snapshot(parts)
    return await team.save_snapshot()


@pytest.mark.parametrize("way", ["state", "snapshot", "deltas", "stay", "drop"])
async def test_speakers_side_by_side_stopped_at_any_item_lose_and_repeat_nothing(way: Way):
    whole = await uninterrupted(together)
    assert whole.items
    for count in range(1, len(whole.items) + 1):
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
