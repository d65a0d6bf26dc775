"""Agents make room in their contexts before and after a call."""

from __future__ import annotations

import asyncio
from itertools import cycle
from typing import Any

import pytest

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent, CodeExecutorAgent
from teams.base import TaskResult, TeamError, run_hooks
from teams.core import CancellationToken
from teams.messages import ContextSummaryEvent, TextMessage
from teams.model_context import AutoChatCompletionContext, UnboundedChatCompletionContext
from teams.models import ContextOverflow
from tests.fakes.interrupted_runs import WAYS, Models, stop_at_every_item, uninterrupted
from tests.fakes.scripted_executor import ScriptedExecutor
from tests.fakes.small_model import FACT, WINDOW, Model, called, filled, talk, texts


def assistant(model: Model, context: Any = None, **options: Any) -> AssistantAgent:
    context = AutoChatCompletionContext(model) if context is None else context
    return AssistantAgent("solo", model, model_context=context, system_message="Help.", **options)


def coder(model: Model, **options: Any) -> CodeExecutorAgent:
    return CodeExecutorAgent(
        "solo",
        ScriptedExecutor(),
        model_client=model,
        model_context=AutoChatCompletionContext(model),
        system_message="Help.",
        **options,
    )


both = pytest.mark.parametrize("make", [assistant, coder])
streaming = pytest.mark.parametrize("stream", [False, True])


def summaries(result: TaskResult) -> list[ContextSummaryEvent]:
    return [each for each in result.messages if isinstance(each, ContextSummaryEvent)]


@both
@streaming
async def test_a_long_conversation_goes_on_and_knows_its_beginning(make, stream):
    model = Model()
    agent = make(model, model_client_stream=stream)
    team = RoundRobinGroupChat([agent], max_turns=1)
    await team.run(task=f"Remember that {FACT}.")
    made: list[ContextSummaryEvent] = []
    for number in range(60):
        result = await team.run(task=f"question {number} {'q' * 100}")
        made += summaries(result)
    assert len(made) > 2
    assert made[0].source == "solo"
    assert made[0].models_usage is not None
    assert [each.covered for each in made] == sorted({each.covered for each in made})
    assert FACT in texts(await agent.model_context.get_messages())
    assert max(map(model.count_tokens, model.asked)) < WINDOW
    assert len(agent.model_context.history) == 2 * 61


@both
@streaming
@pytest.mark.parametrize("tells", [True, False])
async def test_a_refusal_is_answered_by_less_of_the_history(make, stream, tells):
    model = Model(None, refuses_at=WINDOW, tells=tells)
    agent = make(model, model_client_stream=stream)
    await filled(agent.model_context, talk(60))
    result = await RoundRobinGroupChat([agent], max_turns=1).run(task="What now?")
    assert summaries(result)
    assert isinstance(result.messages[-1], TextMessage)
    assert "What now?" in texts(model.asked[-1])
    assert FACT in texts(model.asked[-1])
    assert len(model.asked) < 40


@both
async def test_a_newest_message_that_is_too_long_alone_is_told_as_such(make):
    model = Model()
    agent = make(model)
    await filled(agent.model_context, talk(3))
    with pytest.raises(TeamError) as caught:
        await RoundRobinGroupChat([agent], max_turns=1).run(task="x" * 9000)
    cause = caught.value.__cause__
    assert isinstance(cause, ContextOverflow)
    assert cause.newest_alone


async def test_an_unbounded_context_fails_as_it_did():
    model = Model()
    agent = assistant(model, UnboundedChatCompletionContext())
    await filled(agent.model_context, talk(60))
    with pytest.raises(TeamError) as caught:
        await RoundRobinGroupChat([agent], max_turns=1).run(task="What now?")
    cause = caught.value.__cause__
    assert isinstance(cause, ContextOverflow)
    assert not cause.newest_alone
    assert len(model.asked) == 1


async def test_results_of_tools_make_room_between_two_calls_of_a_turn():
    model = Model()
    agent = assistant(model)
    await filled(agent.model_context, talk(2))
    for number in range(12):
        await filled(agent.model_context, called(str(number), of=200))
    result = await RoundRobinGroupChat([agent], max_turns=1).run(task="Go on.")
    assert len(summaries(result)) == 1


class Watch:
    """Sees the requests of a run."""

    def __init__(self) -> None:
        self.read = 0

    async def before_request(self, request: Any) -> None:
        pass

    def after_answer(self, request: Any, answer: Any) -> None:
        self.read += answer.usage.prompt_tokens

    def after_no_answer(self, request: Any, *, written: int | None) -> None:
        pass


async def test_a_summary_is_a_call_of_the_turn_that_its_watch_counts():
    model, watch = Model(), Watch()
    agent = assistant(model)
    await filled(agent.model_context, talk(30))
    with run_hooks(model=watch):
        result = await RoundRobinGroupChat([agent], max_turns=1).run(task="What now?")
    assert watch.read == sum(map(model.count_tokens, model.asked))
    usage = summaries(result)[0].models_usage
    assert usage is not None
    assert usage.prompt_tokens == sum(map(model.count_tokens, model.asked[:-1]))


async def test_a_cancelled_summary_leaves_the_context_as_it_was():
    model, token = Model(), CancellationToken()
    agent = assistant(model)
    await filled(agent.model_context, talk(30))
    model.begun = asyncio.Event()
    model.held = asyncio.Event()
    team = RoundRobinGroupChat([agent], max_turns=1)
    async with asyncio.TaskGroup() as group:
        run = group.create_task(team.run(task="?", cancellation_token=token))
        await model.begun.wait()
        token.cancel()
    assert run.cancelled()
    context = agent.model_context
    assert isinstance(context, AutoChatCompletionContext)
    assert context.summary is None


class Recorded(Model):
    """A small model whose answers are long, and that shows its requests."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[dict[str, Any]] = []

    async def create(self, messages, **asked: Any):
        self.requests.append({"messages": [each.model_dump() for each in messages]})
        answer = await super().create(messages, **asked)
        if "summar" not in str(messages[0].content):
            answer.content = f"An answer to {len(messages)} messages. " + "a" * 500
        return answer


@pytest.mark.parametrize("make", [assistant, coder])
async def test_a_run_stopped_at_any_item_goes_on_with_the_same_summaries(make):
    def build(models: Models) -> RoundRobinGroupChat:
        client: Any = Recorded()
        models.of["solo"] = client
        agents = [make(client, model_client_stream=True)]
        return RoundRobinGroupChat(agents, max_turns=12)

    whole = await uninterrupted(build)
    assert sum(isinstance(each, ContextSummaryEvent) for each in whole.items) > 1
    await stop_at_every_item(build, cycle(WAYS))


class Poor(Watch):
    """A watch that has nothing left for summaries."""

    def affords(self, request: Any) -> bool:
        return False


async def test_without_budget_for_a_summary_the_oldest_are_left_out_with_a_mark():
    model = Model()
    agent = assistant(model)
    await filled(agent.model_context, talk(30))
    with run_hooks(model=Poor()):
        result = await RoundRobinGroupChat([agent], max_turns=1).run(task="What now?")
    (made,) = summaries(result)
    assert made.left_out
    assert made.models_usage is None
    assert len(model.asked) == 1
    assert "left out" in texts(model.asked[0])
    await filled(agent.model_context, talk(30))
    (made,) = summaries(await RoundRobinGroupChat([agent], max_turns=1).run(task="And now?"))
    assert not made.left_out, "these are summarised"


async def test_a_thread_of_two_thousand_messages_never_fails_and_knows_its_beginning():
    model = Model(8192)
    agent = assistant(model)
    team = RoundRobinGroupChat([agent], max_turns=1)
    await team.run(task=f"Remember that {FACT}.")
    for number in range(999):
        result = await team.run(task=f"question {number} {'q' * 200}")
        assert isinstance(result.messages[-1], TextMessage)
    assert len(agent.model_context.history) == 2000
    assert max(map(model.count_tokens, model.asked)) < 8192
    assert FACT in texts(model.asked[-1])
    sent = sum(map(model.count_tokens, model.asked))
    assert sent < 1000 * 8192 * 0.8
