import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import teams.conditions
from teams.base import (
    AndTerminationCondition,
    OrTerminationCondition,
    TerminatedException,
    TerminationCondition,
)
from teams.conditions import (
    ExternalTermination,
    FunctionalTermination,
    FunctionCallTermination,
    HandoffTermination,
    MaxMessageTermination,
    SourceMatchTermination,
    StopMessageTermination,
    TextMentionTermination,
    TextMessageTermination,
    TimeoutTermination,
    TokenUsageTermination,
)
from teams.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    HandoffMessage,
    MultiModalMessage,
    StopMessage,
    TextMessage,
    ThoughtEvent,
    ToolCallExecutionEvent,
)
from teams.models import FunctionExecutionResult, RequestUsage

Item = BaseAgentEvent | BaseChatMessage


def text(content: str = "hi", source: str = "a", usage: RequestUsage | None = None) -> TextMessage:
    return TextMessage(content=content, source=source, models_usage=usage)


def ran(*names: str) -> ToolCallExecutionEvent:
    results = [
        FunctionExecutionResult(content="ok", name=name, call_id="1", is_error=False)
        for name in names
    ]
    return ToolCallExecutionEvent(content=results, source="a")


def always(messages: Sequence[Item]) -> bool:
    return True


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(teams.conditions, "monotonic", clock)
    return clock


def external(requested: bool = True) -> ExternalTermination:
    condition = ExternalTermination()
    if requested:
        condition.set()
    return condition


thought = ThoughtEvent(content="STOP", source="a", models_usage=RequestUsage(5, 1))
hand_off = HandoffMessage(content="", target="user", source="a")


@pytest.mark.parametrize(
    ("condition", "delta", "reason"),
    [
        (
            MaxMessageTermination(2),
            [text(), thought, text()],
            "Maximum number of messages 2 reached, current message count: 2",
        ),
        (MaxMessageTermination(2), [text(), thought], None),
        (
            MaxMessageTermination(2, include_agent_event=True),
            [text(), thought],
            "Maximum number of messages 2 reached, current message count: 2",
        ),
        (TextMentionTermination("STOP"), [text("please STOP.")], "Text 'STOP' mentioned"),
        (TextMentionTermination("STOP"), [thought], "Text 'STOP' mentioned"),
        (TextMentionTermination("STOP"), [text("stop")], None),
        (TextMentionTermination("STOP", sources=["b"]), [text("STOP")], None),
        (
            TextMentionTermination("STOP", sources=["b"]),
            [text("STOP", source="b")],
            "Text 'STOP' mentioned",
        ),
        (
            TextMentionTermination("STOP"),
            [MultiModalMessage(content=["see", "STOP"], source="a")],
            "Text 'STOP' mentioned",
        ),
        (
            StopMessageTermination(),
            [text(), StopMessage(content="", source="a")],
            "Stop message received",
        ),
        (StopMessageTermination(), [text()], None),
        (
            TokenUsageTermination(max_total_token=10),
            [thought, text(usage=RequestUsage(3, 1))],
            "Token usage limit reached, total token count: 10, prompt token count: 8, "
            "completion token count: 2.",
        ),
        (TokenUsageTermination(max_total_token=7), [thought, text()], None),
        (
            TokenUsageTermination(max_prompt_token=5),
            [thought],
            "Token usage limit reached, total token count: 6, prompt token count: 5, "
            "completion token count: 1.",
        ),
        (TokenUsageTermination(max_completion_token=2, max_prompt_token=9), [thought], None),
        (HandoffTermination("user"), [hand_off, text()], "Handoff to user from a detected."),
        (HandoffTermination("other"), [hand_off], None),
        (external(), [text()], "External termination requested"),
        (external(requested=False), [text()], None),
        (SourceMatchTermination(["b", "a"]), [text()], "'a' answered"),
        (SourceMatchTermination(["b"]), [text()], None),
        (TextMessageTermination(), [hand_off, text()], "Text message received from 'a'"),
        (TextMessageTermination(), [hand_off], None),
        (TextMessageTermination("b"), [text()], None),
        (TextMessageTermination("a"), [text()], "Text message received from 'a'"),
        (FunctionCallTermination("go"), [ran("wait", "go")], "Function 'go' was executed."),
        (FunctionCallTermination("go"), [ran("wait")], None),
        (FunctionalTermination(always), [text()], "Functional termination condition met"),
        (FunctionalTermination(lambda messages: len(messages) > 1), [text()], None),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, TerminationCondition) else "",
)
async def test_a_condition_fires_with_its_reason_and_then_only_after_a_reset(
    condition: TerminationCondition, delta: Sequence[Item], reason: str | None
) -> None:
    assert not condition.terminated
    stop = await condition(delta)
    assert condition.terminated == (reason is not None)
    if reason is None:
        assert stop is None
        return
    assert stop is not None
    assert (stop.content, stop.source) == (reason, type(condition).__name__)
    with pytest.raises(TerminatedException):
        await condition(delta)
    await condition.reset()
    assert not condition.terminated
    assert await condition([]) is None or isinstance(condition, FunctionalTermination)


async def test_a_functional_condition_may_be_async() -> None:
    async def long_enough(messages: Sequence[Item]) -> bool:
        return len(messages) >= 2

    condition = FunctionalTermination(long_enough)
    assert await condition([text()]) is None
    assert await condition([text(), text()]) is not None


async def test_an_external_request_does_not_outlive_a_reset() -> None:
    condition = external()
    await condition.reset()
    assert await condition([text()]) is None


def test_a_token_limit_is_needed() -> None:
    with pytest.raises(ValueError, match="max_total_token"):
        TokenUsageTermination()


class TestTimeout:
    async def test_alone_it_counts_from_construction_and_reset(self, clock: Clock) -> None:
        condition = TimeoutTermination(10)
        clock.now += 9
        assert await condition([]) is None
        clock.now += 1
        stop = await condition([])
        assert stop is not None
        assert stop.content == "Timeout of 10 seconds reached"
        await condition.reset()
        clock.now += 9
        assert await condition([]) is None

    async def test_in_a_team_it_counts_only_while_the_team_runs(self, clock: Clock) -> None:
        condition = MaxMessageTermination(99) | TimeoutTermination(10)
        clock.now += 100
        condition.on_run_start()
        clock.now += 6
        assert await condition([]) is None
        condition.on_run_end()
        clock.now += 100
        condition.on_run_start()
        clock.now += 3
        assert await condition([]) is None
        clock.now += 1
        assert await condition([]) is not None

    async def test_its_state_holds_the_running_time(self, clock: Clock) -> None:
        condition = TimeoutTermination(10)
        condition.on_run_start()
        clock.now += 6
        running = await condition.save_state()
        condition.on_run_end()
        clock.now += 100
        assert await condition.save_state() == running

        loaded = TimeoutTermination(10)
        await loaded.load_state(running)
        clock.now += 100
        loaded.on_run_start()
        clock.now += 3
        assert await loaded([]) is None
        clock.now += 1
        assert await loaded([]) is not None


@pytest.mark.parametrize(
    "condition",
    [
        MaxMessageTermination(5, include_agent_event=True),
        TextMentionTermination("STOP", sources=["a"]),
        TextMentionTermination("STOP"),
        StopMessageTermination(),
        TokenUsageTermination(max_prompt_token=4),
        HandoffTermination("user"),
        TimeoutTermination(1.5),
        ExternalTermination(),
        SourceMatchTermination(["a", "b"]),
        TextMessageTermination("a"),
        TextMessageTermination(),
        FunctionCallTermination("go"),
        MaxMessageTermination(5) & TextMentionTermination("x") | StopMessageTermination(),
    ],
    ids=lambda condition: type(condition).__name__,
)
def test_a_condition_survives_its_component_form_under_our_and_autogens_name(
    condition: TerminationCondition,
) -> None:
    dumped = condition.dump_component()
    assert dumped.component_type == "termination"
    module = "base" if type(condition).__name__.endswith("Condition") else "conditions"
    assert dumped.provider == f"teams.{module}.{type(condition).__name__}"
    data: dict[str, Any] = json.loads(dumped.model_dump_json())
    assert TerminationCondition.load_component(data).dump_component() == dumped
    data["provider"] = f"autogen_agentchat.{module}.{type(condition).__name__}"
    assert TerminationCondition.load_component(data).dump_component() == dumped


def test_a_function_has_no_component_form() -> None:
    with pytest.raises(TypeError, match="FunctionalTermination"):
        FunctionalTermination(always).dump_component()


MAKERS: Mapping[str, Callable[[], TerminationCondition]] = {
    "messages": lambda: MaxMessageTermination(6),
    "items": lambda: MaxMessageTermination(9, include_agent_event=True),
    "mention": lambda: TextMentionTermination("STOP"),
    "stop": StopMessageTermination,
    "tokens": lambda: TokenUsageTermination(max_total_token=20, max_completion_token=6),
    "handoff": lambda: HandoffTermination("user"),
    "timeout": lambda: TimeoutTermination(3600),
    "external": external,
    "source": lambda: SourceMatchTermination(["b"]),
    "text": lambda: TextMessageTermination("b"),
    "function": lambda: FunctionCallTermination("go"),
    "functional": lambda: FunctionalTermination(lambda messages: len(messages) == 3),
}

makers = st.recursive(
    st.sampled_from(sorted(MAKERS)).map(MAKERS.__getitem__),
    lambda parts: st.builds(
        lambda kind, some: lambda: kind(*(make() for make in some)),
        st.sampled_from([AndTerminationCondition, OrTerminationCondition]),
        st.lists(parts, min_size=1, max_size=3),
    ),
    max_leaves=5,
)
items = st.sampled_from(
    [
        text(),
        text("STOP"),
        text(source="b", usage=RequestUsage(4, 2)),
        thought,
        hand_off,
        ran("wait"),
        ran("go"),
        StopMessage(content="", source="a"),
    ]
)
deltas = st.lists(st.lists(items, max_size=3), max_size=8)


async def verdicts(
    condition: TerminationCondition, deltas: Iterable[Sequence[Item]]
) -> list[tuple[str, str] | None]:
    found: list[tuple[str, str] | None] = []
    for delta in deltas:
        stop = await condition(delta)
        found.append(None if stop is None else (stop.content, stop.source))
        if stop is not None:
            break
    return found


@given(makers, deltas)
async def test_saved_and_loaded_at_any_point_a_condition_decides_as_if_nothing_had_happened(
    make: Callable[[], TerminationCondition], deltas: list[list[Item]]
) -> None:
    expected = await verdicts(make(), deltas)
    for cut in range(len(expected) + 1):
        first = make()
        before = await verdicts(first, deltas[:cut])
        state = json.loads(json.dumps(await first.save_state()))
        second = make()
        await second.load_state(state)
        assert second.terminated == first.terminated
        after = [] if second.terminated else await verdicts(second, deltas[cut : len(expected)])
        assert before + after == expected


@given(makers, deltas)
async def test_an_empty_state_is_that_of_a_new_condition(
    make: Callable[[], TerminationCondition], deltas: list[list[Item]]
) -> None:
    fresh = MaxMessageTermination(6) | make()
    await verdicts(fresh, deltas)
    await fresh.load_state({})
    assert not fresh.terminated


@pytest.mark.parametrize(
    ("condition", "state"),
    [
        (MaxMessageTermination(2), {"message_count": "many"}),
        (TokenUsageTermination(max_total_token=2), {"prompt_tokens": None}),
        (TimeoutTermination(2), {"elapsed_seconds": []}),
        (MaxMessageTermination(2) & StopMessageTermination(), {"conditions": [{}]}),
        (MaxMessageTermination(2) & StopMessageTermination(), {"stops": [{"source": "a"}]}),
    ],
    ids=["count", "tokens", "seconds", "conditions", "stops"],
)
async def test_a_state_that_does_not_fit_is_a_value_error(
    condition: TerminationCondition, state: Mapping[str, Any]
) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (the text differs)
        await condition.load_state(state)
