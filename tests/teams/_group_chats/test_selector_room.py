"""A selector's model gets what fits, and a summary of the rest."""

from __future__ import annotations

import json
import re
from itertools import cycle
from typing import Any

import pytest

from teams import SelectorGroupChat
from teams.base import TaskResult, TeamError
from teams.messages import ContextSummaryEvent, TextMessage
from teams.model_context import (
    AutoChatCompletionContext,
    BufferedChatCompletionContext,
    ChatCompletionContext,
)
from teams.models import ContextOverflow
from tests.fakes.agents import Talker
from tests.fakes.interrupted_runs import WAYS, Models, stop_at_every_item, uninterrupted
from tests.fakes.small_model import FACT, WINDOW, Model

LONG = "and so on " * 12


class Chooser(Model):
    """A small model that names the first candidate."""

    def __init__(self, *more: Any, **options: Any) -> None:
        super().__init__(*more, **options)
        self.requests: list[dict[str, Any]] = []

    async def create(self, messages, **asked: Any):
        self.requests.append({"messages": [each.model_dump() for each in messages]})
        answer = await super().create(messages, **asked)
        if named := re.search(r'out of \["(\w+)"', str(messages[0].content)):
            answer.content = named[1]
        return answer

    @property
    def choices(self) -> list[str]:
        """The texts by which it was to choose."""
        asked = (str(each[0].content) for each in self.asked)
        return [each for each in asked if "Several participants" in each]


def team(
    model: Model, context: ChatCompletionContext | None = None, turns: int = 1, **options: Any
) -> SelectorGroupChat:
    context = AutoChatCompletionContext(model) if context is None else context
    agents = [Talker(name, f"{name} says {LONG}") for name in ("ann", "bob", "carl")]
    return SelectorGroupChat(
        [*agents], model, model_context=context, max_turns=turns, emit_team_events=False, **options
    )


def summaries(result: TaskResult) -> list[ContextSummaryEvent]:
    return [each for each in result.messages if isinstance(each, ContextSummaryEvent)]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("moves", [False, True], ids=["stays", "is loaded for each turn"])
async def test_a_long_conversation_goes_on_and_the_choice_knows_its_beginning(stream, moves):
    model = Chooser()
    chat = team(model, model_client_streaming=stream)
    await chat.run(task=f"Remember that {FACT}.")
    made: list[ContextSummaryEvent] = []
    for number in range(60):
        result = await chat.run(task=f"question {number}")
        made += summaries(result)
        assert isinstance(result.messages[-1], TextMessage)
        if moves:
            state = json.loads(json.dumps(await chat.save_state()))
            chat = team(model, model_client_streaming=stream)
            await chat.load_state(state)
    assert len(made) > 2
    assert made[0].source == chat.manager_name
    assert made[0].models_usage is not None
    assert [each.covered for each in made] == sorted({each.covered for each in made})
    assert FACT in model.choices[-1]
    assert "question 59" in model.choices[-1]
    assert max(map(model.count_tokens, model.asked)) < WINDOW
    assert len(model.choices) == 61


@pytest.mark.parametrize("tells", [True, False])
async def test_a_refusal_is_answered_by_less_of_the_conversation(tells):
    model = Chooser(None, refuses_at=WINDOW, tells=tells)
    chat = team(model)
    made: list[ContextSummaryEvent] = []
    for number in range(40):
        made += summaries(await chat.run(task=f"question {number}"))
    assert made
    assert "question 39" in model.choices[-1]


async def test_a_run_stopped_at_any_item_goes_on_with_the_same_summaries():
    def build(models: Models) -> SelectorGroupChat:
        client: Any = Chooser()
        models.of["chooser"] = client
        return team(client, turns=40)

    whole = await uninterrupted(build)
    assert sum(isinstance(each, ContextSummaryEvent) for each in whole.items) > 1
    await stop_at_every_item(build, cycle(WAYS))


@pytest.mark.parametrize("load", [None, "state", "snapshot"])
@pytest.mark.parametrize("bounded", [False, True])
async def test_a_message_that_is_too_long_alone_is_set_aside(load, bounded):
    model = Chooser()

    def make() -> SelectorGroupChat:
        return team(model, BufferedChatCompletionContext(100) if bounded else None)

    chat = make()
    await chat.run(task="hi")
    said = TextMessage(content="x" * 9000, source="user")
    with pytest.raises(TeamError) as caught:
        await chat.run(task=said)
    cause = caught.value.__cause__
    assert isinstance(cause, ContextOverflow)
    assert (cause.set_aside, cause.message) == ("message", said.id)
    for number in range(2):
        if load is not None:
            chat, before = make(), chat
            if load == "state":
                await chat.load_state(json.loads(json.dumps(await before.save_state())))
            else:
                await chat.load_snapshot([await before.save_snapshot()])
        await chat.run(task=f"And now, {number}?")
        assert "too long for the model" in model.choices[-1]
    await chat.reset()
    await chat.run(task=said.model_copy(update={"content": "short"}))
    assert "short" in model.choices[-1]


async def test_after_a_reset_no_summary_is_left():
    model = Chooser()
    chat = team(model, turns=30)
    assert summaries(await chat.run(task=f"Remember that {FACT}."))
    await chat.reset()
    before = len(model.choices)
    await chat.run(task="new")
    assert FACT not in model.choices[before]
    assert "summar" not in model.choices[before]
