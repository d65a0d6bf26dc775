"""An orchestrator's model gets what fits, and a summary of the rest."""

from __future__ import annotations

import json
from itertools import count, cycle
from typing import Any

import pytest

from teams import MagenticOneGroupChat
from teams.base import TaskResult, TeamError
from teams.messages import ContextSummaryEvent, TextMessage
from teams.model_context import AutoChatCompletionContext
from teams.models import ContextOverflow
from tests.fakes.agents import Talker
from tests.fakes.interrupted_runs import WAYS, Models, stop_at_every_item, uninterrupted
from tests.fakes.small_model import FACT, Model
from tests.teams._group_chats.test_magentic_one import Orchestrator, ledger

WINDOW = 2000
LONG = "and so on " * 12


class Leader(Model):
    """A small model that lets each agent speak once or twice."""

    def __init__(self, window: int | None = WINDOW, *, steps: int = 3, **options: Any) -> None:
        super().__init__(window, **options)
        self.steps = steps
        self.requests: list[dict[str, Any]] = []
        self.led: list[str] = []
        """Its requests but those for summaries."""

    async def create(self, messages, **asked: Any):
        self.requests.append({"messages": [each.model_dump() for each in messages]})
        answer = await super().create(messages, **asked)
        kinds = Orchestrator.PHRASES.items()
        prompt = str(messages[-1].content)
        if kind := next((kind for phrase, kind in kinds if phrase in prompt), ""):
            self.led.append("\n".join(str(each.content) for each in messages))
            done = sum("Step" in str(each.content) for each in self.since_plan(messages))
            answer.content = f"the {kind}"
            if kind == "progress":
                speaker = ("ann", "bob")[done % 2]
                answer.content = ledger(done=done >= self.steps, speaker=speaker, tell="Step.")
        return answer

    def since_plan(self, messages: Any) -> list[Any]:
        begins = "We are working on this request"
        said = messages[:-1]
        places = [n for n, each in enumerate(said) if begins in str(each.content)]
        return said[places[-1] if places else 0 :]


def team(model: Model, *, auto: bool = True) -> MagenticOneGroupChat:
    agents = [Talker(name, f"{name} says {LONG}") for name in ("ann", "bob")]
    chat = MagenticOneGroupChat([*agents], model)
    if auto:
        chat.use_context(AutoChatCompletionContext(model))
    return chat


def summaries(result: TaskResult) -> list[ContextSummaryEvent]:
    return [each for each in result.messages if isinstance(each, ContextSummaryEvent)]


async def moved(chat: MagenticOneGroupChat, model: Model, way: str) -> MagenticOneGroupChat:
    """The team, loaded by another one."""
    other = team(model, auto=chat.model_context is not None)
    if way == "state":
        await other.load_state(json.loads(json.dumps(await chat.save_state())))
    else:
        await other.load_snapshot([await chat.save_snapshot()])
    return other


@pytest.mark.parametrize("way", ["", "state", "snapshot"])
async def test_a_long_conversation_goes_on_and_its_beginning_is_known(way: str) -> None:
    model = Leader()
    chat = team(model)
    made = summaries(await chat.run(task=f"Remember that {FACT}."))
    said = 0
    for number in range(40):
        result = await chat.run(task=f"question {number}")
        made += summaries(result)
        said += sum(isinstance(each, TextMessage) for each in result.messages)
        if way:
            chat = await moved(chat, model, way)
    assert said > 300
    assert len(made) > 2
    assert {each.source for each in made} == {chat.manager_name}
    assert [each.covered for each in made] == sorted({each.covered for each in made})
    assert FACT in model.led[-1]
    assert "question 39" in model.led[-1]
    assert max(map(model.count_tokens, model.asked)) < WINDOW


@pytest.mark.parametrize("tells", [True, False])
async def test_a_refusal_is_answered_by_less_of_the_conversation(tells: bool) -> None:
    model = Leader(None, refuses_at=WINDOW, tells=tells)
    chat = team(model)
    made: list[ContextSummaryEvent] = []
    for number in range(30):
        made += summaries(await chat.run(task=f"question {number}"))
    assert made
    assert "question 29" in model.led[-1]


async def test_without_the_context_the_whole_thread_is_sent() -> None:
    model = Leader(None)
    chat = team(model, auto=False)
    assert chat.model_context is None
    for number in range(10):
        assert not summaries(await chat.run(task=f"question {number}"))
    assert "question 0" in model.led[-1]
    assert "preloaded" not in (await chat.save_state())["agent_states"][chat.manager_name]


async def test_a_run_stopped_at_any_item_goes_on_with_the_same_summaries() -> None:
    def build(models: Models) -> MagenticOneGroupChat:
        client: Any = Leader(1000, steps=15)
        models.of["leader"] = client
        return team(client)

    whole = await uninterrupted(build)
    assert any(isinstance(each, ContextSummaryEvent) for each in whole.items)
    await stop_at_every_item(build, cycle(WAYS))


@pytest.mark.parametrize("way", ["", "state", "snapshot"])
@pytest.mark.parametrize("auto", [True, False])
async def test_a_message_that_is_too_long_alone_is_set_aside(way: str, auto: bool) -> None:
    model = Leader()
    chat = team(model, auto=auto)
    await chat.run(task="hi")
    said = TextMessage(content="x" * 12_000, source="user")
    with pytest.raises(TeamError) as caught:
        await chat.run(task=said)
    cause = caught.value.__cause__
    assert isinstance(cause, ContextOverflow)
    assert (cause.set_aside, cause.message) == ("message", said.id)
    for number in count():
        if way:
            chat = await moved(chat, model, way)
        if not number:
            await chat.break_off()
        await chat.run(task=f"And now, {number}?")
        assert "too long for the model" in model.led[-1]
        if number:
            break


async def test_a_new_plan_begins_without_a_summary() -> None:
    model = Leader()
    chat = team(model)
    for number in range(20):
        await chat.run(task=f"Remember that {FACT}, {number}.")
    await chat.reset()
    before = len(model.led)
    await chat.run(task="new")
    assert FACT not in str(model.led[before:])
