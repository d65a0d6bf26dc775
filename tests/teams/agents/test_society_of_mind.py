"""SocietyOfMindAgent: a team that speaks as one agent."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from teams import RoundRobinGroupChat, Swarm
from teams.agents import AssistantAgent, SocietyOfMindAgent, UserProxyAgent
from teams.base import InputRequired, Response, TaskResult, Team, TeamError
from teams.conditions import MaxMessageTermination, TextMentionTermination
from teams.core import CancellationToken
from teams.messages import (
    HandoffMessage,
    ModelClientStreamingChunkEvent,
    StructuredMessage,
    TextMessage,
    ToolCallExecutionEvent,
    UserInputRequestedEvent,
)
from teams.model_context import BufferedChatCompletionContext, UnboundedChatCompletionContext
from teams.models import AssistantMessage, UserMessage
from teams.models.replay import ReplayChatCompletionClient
from tests.fakes.agents import Talker
from tests.fakes.scripted_model import ScriptedModel, calls
from tests.fakes.streams import everything, texts
from tests.teams.test_safe_points import Words


def pair(*lines: str) -> RoundRobinGroupChat:
    return RoundRobinGroupChat(
        [Talker("one", *(lines or ["first"])), Talker("two", "second")], max_turns=2
    )


def contents(model: ScriptedModel, request: int = -1) -> list[tuple[str, str, Any]]:
    return [
        (message["type"], message.get("source", ""), message["content"])
        for message in model.requests[request]["messages"]
    ]


async def test_the_team_works_and_the_model_answers_for_it():
    model = ScriptedModel("both agree")
    mind = SocietyOfMindAgent(
        "mind", pair(), model, instruction="They said:", response_prompt="So?"
    )
    *items, response = await everything(
        mind.on_messages_stream([TextMessage(content="hi", source="user")], CancellationToken())
    )
    assert [(item.source, item.content) for item in items] == [("one", "first"), ("two", "second")]
    assert isinstance(response, Response)
    assert response.inner_messages == []
    answer = response.chat_message
    assert isinstance(answer, TextMessage)
    assert (answer.source, answer.content) == ("mind", "both agree")
    assert answer.models_usage is not None
    assert contents(model) == [
        ("UserMessage", "user", "They said:"),
        ("UserMessage", "one", "first"),
        ("UserMessage", "two", "second"),
        ("UserMessage", "user", "So?"),
    ]


@pytest.mark.parametrize(("several", "role"), [(True, "SystemMessage"), (False, "UserMessage")])
async def test_instruction_and_prompt_are_system_messages_where_the_model_takes_several(
    several: bool, role: str
):
    model = ReplayChatCompletionClient(
        ["so"],
        model_info={
            "vision": False,
            "function_calling": False,
            "json_output": False,
            "family": "unknown",
            "structured_output": False,
            "multiple_system_messages": several,
        },
    )
    await SocietyOfMindAgent("mind", pair(), model).run(task="hi")
    sent = model.create_calls[0]["messages"]
    assert [message.type for message in sent] == [role, "UserMessage", "UserMessage", role]
    assert sent[0].content == SocietyOfMindAgent.DEFAULT_INSTRUCTION
    assert sent[-1].content == SocietyOfMindAgent.DEFAULT_RESPONSE_PROMPT


async def test_events_of_the_team_are_streamed_but_not_shown_to_the_model():
    inner_model = ScriptedModel(calls(("add", {"a": 1, "b": 2})))

    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    inner = AssistantAgent("inner", inner_model, tools=[add], model_client_stream=True)
    model = ScriptedModel("three")
    mind = SocietyOfMindAgent("mind", RoundRobinGroupChat([inner], max_turns=1), model)
    items = await everything(mind.run_stream(task="hi"))
    assert ToolCallExecutionEvent in map(type, items)
    assert [entry[1:] for entry in contents(model)[1:-1]] == [("inner", "3")]


async def test_the_team_is_reset_after_each_answer_and_told_of_what_was_before():
    one, two = Talker("one", "a", "b", "c"), Talker("two", "x")
    model = ScriptedModel("first answer", "second answer", "third answer")
    mind = SocietyOfMindAgent("mind", RoundRobinGroupChat([one, two], max_turns=1), model)
    await mind.run(task="question")
    await mind.run(task="follow-up")
    assert one.calls == two.calls == ["reset", "reset"]
    assert one.given == [["question"], [mind_note(one.given), "follow-up"]]
    assert [(m.type, m.content) for m in await mind.model_context.get_messages()] == [
        ("UserMessage", "question"),
        ("AssistantMessage", "first answer"),
        ("UserMessage", "follow-up"),
        ("AssistantMessage", "second answer"),
    ]


def mind_note(given: list[list[str]]) -> str:
    return given[1][0]


async def test_the_models_of_the_team_read_what_was_before():
    inner_model = ScriptedModel("a", "b")
    inner = AssistantAgent("inner", inner_model, system_message=None)
    mind = SocietyOfMindAgent(
        "mind", RoundRobinGroupChat([inner], max_turns=1), ScriptedModel("yes", "no")
    )
    await mind.run(task="question")
    await mind.run(task="follow-up")
    assert [message["content"] for message in inner_model.messages()] == [
        "question",
        "yes",
        "What this team was asked and what it answered before.",
        "follow-up",
    ]


async def test_the_team_is_told_as_much_of_before_as_the_context_shows():
    inner_model = ScriptedModel("a", "b", "c")
    inner = AssistantAgent("inner", inner_model, system_message=None)
    mind = SocietyOfMindAgent(
        "mind",
        RoundRobinGroupChat([inner], max_turns=1),
        ScriptedModel("1", "2", "3"),
        model_context=BufferedChatCompletionContext(1),
    )
    for _ in range(3):
        await mind.run(task="question")
    assert inner_model.texts()[0] == "2"


async def test_a_context_may_come_with_messages_which_a_reset_clears():
    one = Talker("one", "a")
    context = UnboundedChatCompletionContext([UserMessage(content="earlier", source="user")])
    mind = SocietyOfMindAgent(
        "mind",
        RoundRobinGroupChat([one], max_turns=1),
        ScriptedModel("yes", "no"),
        model_context=context,
    )
    await mind.run(task="hi")
    assert len(one.given[0]) == 2
    await mind.on_reset(CancellationToken())
    await mind.run(task="hi")
    assert one.given[1] == ["hi"]


async def test_a_hand_off_to_it_is_remembered_with_its_context():
    mind = SocietyOfMindAgent("mind", pair(), ScriptedModel("yes"))
    known = AssistantMessage(content="known", source="desk")
    await mind.run(
        task=HandoffMessage(content="yours", source="desk", target="mind", context=[known])
    )
    remembered = await mind.model_context.get_messages()
    assert [message.content for message in remembered] == ["known", "yours", "yes"]


async def test_a_swarm_inside_begins_with_its_first_agent_each_time():
    one = AssistantAgent("one", ScriptedModel("a", "b"), handoffs=["two"])
    two = Talker("two", "x")
    mind = SocietyOfMindAgent("mind", Swarm([one, two], max_turns=1), ScriptedModel("yes", "no"))
    *_, result = await everything(mind.run_stream(task="hi"))
    assert texts(result) == ["hi", "a", "yes"]
    *_, result = await everything(mind.run_stream(task="hi"))
    assert texts(result) == ["hi", "b", "no"]


async def test_a_team_that_says_nothing_gets_no_answer_made():
    model = ScriptedModel()
    inner = RoundRobinGroupChat([Talker("one")], termination_condition=MaxMessageTermination(1))
    mind = SocietyOfMindAgent("mind", inner, model)
    assert texts(await mind.run(task="hi")) == ["hi", "No response."]
    assert model.requests == []


async def test_without_a_message_the_team_works_on_what_it_knows():
    one = Talker("one", "a")
    mind = SocietyOfMindAgent(
        "mind", RoundRobinGroupChat([one], max_turns=1), ScriptedModel("yes", "no")
    )
    await mind.run()
    await mind.run()
    assert one.given[0] == [""]
    assert one.given[1] == ["What this team was asked and what it answered before."]


async def test_a_model_that_calls_tools_ends_the_run():
    mind = SocietyOfMindAgent("mind", pair(), ScriptedModel(calls(("x", {}))))
    with pytest.raises(RuntimeError, match="called tools, but it was given none"):
        await mind.run(task="hi")


# In a team


async def test_in_a_team_the_others_hear_the_answer_alone():
    other = Talker("other", "ok")
    mind = SocietyOfMindAgent("mind", pair(), ScriptedModel("answer"))
    team = RoundRobinGroupChat([mind, other], max_turns=2)
    result = await team.run(task="hi")
    assert [message.source for message in result.messages] == [
        "user",
        "one",
        "two",
        "mind",
        "other",
    ]
    assert other.given == [["hi", "answer"]]
    state = await team.save_state()
    thread = state["agent_states"]["RoundRobinGroupChatManager"]["message_thread"]
    assert [message["content"] for message in thread] == ["hi", "answer", "ok"]


async def test_message_types_of_the_team_inside_are_known_outside():
    note = StructuredMessage[Words](content=Words(text="w"), source="one")
    inner = RoundRobinGroupChat(
        [Talker("one", note)], max_turns=1, custom_message_types=[StructuredMessage[Words]]
    )
    mind = SocietyOfMindAgent("mind", inner, ScriptedModel("answer"))
    stream = RoundRobinGroupChat([mind], max_turns=1).run_stream(task="hi")
    assert [type(item) for item in await everything(stream)] == [
        TextMessage,
        StructuredMessage[Words],
        TextMessage,
        TaskResult,
    ]


async def test_messages_that_come_while_the_team_works_reach_it():
    one = Talker("one", "a")
    model = ScriptedModel("yes")
    mind = SocietyOfMindAgent("mind", RoundRobinGroupChat([one], max_turns=2), model)
    team = RoundRobinGroupChat([mind], max_turns=1)
    stream = team.run_stream(task="hi")
    async for item in stream:
        if getattr(item, "source", "") == "one":
            team.add_messages([TextMessage(content="hurry", source="user")])
            break
    rest = await everything(stream)
    assert [getattr(item, "content", None) for item in rest] == ["a", "yes", None]
    assert one.given == [["hi"], ["hurry"]]
    remembered = await mind.model_context.get_messages()
    assert [message.content for message in remembered] == ["hi", "hurry", "yes"]


async def test_pausing_the_outer_team_pauses_the_one_inside_while_it_works():
    one = Talker("one", "a")
    mind = SocietyOfMindAgent("mind", RoundRobinGroupChat([one], max_turns=1), ScriptedModel("yes"))
    team = RoundRobinGroupChat([mind], max_turns=1)
    async for item in team.run_stream(task="hi"):
        if getattr(item, "source", "") == "one":
            await team.pause()
            await team.resume()
    assert one.calls == ["pause", "resume", "reset"]
    await team.pause()
    assert one.calls[3:] == []


# Breaks


class Human:
    def __init__(self) -> None:
        self.answer = ""

    async def ask(self, prompt: str, cancellation_token: CancellationToken | None) -> str:
        if not self.answer:
            raise InputRequired(prompt)
        return self.answer


async def test_a_run_keeps_the_messages_of_the_team_inside_and_its_stream_shows_them():
    mind = SocietyOfMindAgent("mind", pair("first", "again"), ScriptedModel("both agree", "still"))
    result = await mind.run(task="hi")
    assert [(each.source, each.to_text()) for each in result.messages] == [
        ("user", "hi"),
        ("mind", "both agree"),
    ]
    *_, streamed = await everything(mind.run_stream(task="and now?"))
    assert isinstance(streamed, TaskResult)
    assert texts(streamed) == ["and now?", "again", "second", "still"]
    mind = SocietyOfMindAgent("mind", pair(), ScriptedModel("both agree"))
    result = await mind.run(task="hi", output_task_messages=False)
    assert texts(result) == ["both agree"]


@pytest.mark.parametrize("way", ["same", "state", "snapshot"])
@pytest.mark.parametrize("outermost", ["team", "agent"])
async def test_a_team_that_waits_for_a_human_is_neither_summed_up_nor_reset(
    way: str, outermost: str
):
    human = Human()
    models: list[ScriptedModel] = []
    talkers: list[Talker] = []

    def build() -> Any:
        talker, model = Talker("one", "a"), ScriptedModel("answer")
        talkers.append(talker)
        models.append(model)
        boss = UserProxyAgent("boss", input_func=human.ask)
        inner = RoundRobinGroupChat([talker, boss], max_turns=2)
        mind = SocietyOfMindAgent("mind", inner, model)
        return mind if outermost == "agent" else RoundRobinGroupChat([mind], max_turns=1)

    async def moved(old: Any) -> Any:
        if way == "same":
            return old
        fresh = build()
        if way == "state" or outermost == "agent":
            await fresh.load_state(json.loads(json.dumps(await old.save_state())))
        else:
            await fresh.load_snapshot([await old.save_snapshot()])
        return fresh

    runner = build()
    result = await runner.run(task="hi")
    inner = [TextMessage, UserInputRequestedEvent] if outermost == "team" else []
    assert [type(item) for item in result.messages] == [TextMessage, *inner]
    (request,) = result.pending
    assert request.agent == ("mind", "boss")
    runner = await moved(runner)
    again = await runner.run()
    assert (texts(again), list(again.pending)) == ([], [request])
    assert all(model.requests == [] for model in models)
    assert all(talker.calls == [] for talker in talkers)
    runner = await moved(runner)
    human.answer = "go"
    result = await runner.run()
    assert texts(result) == (["go", "answer"] if outermost == "team" else ["answer"])
    assert [entry[1:] for entry in contents(models[-1])[1:-1]] == [("one", "a"), ("boss", "go")]
    assert talkers[-1].calls == ["reset"]


async def test_called_directly_it_raises_what_it_waits_for():
    inner = RoundRobinGroupChat([UserProxyAgent("boss", input_func=Human().ask)], max_turns=1)
    mind = SocietyOfMindAgent("mind", inner, ScriptedModel())
    with pytest.raises(InputRequired) as raised:
        await mind.on_messages([TextMessage(content="hi", source="u")], CancellationToken())
    assert [request.agent for request in raised.value.requests] == [("mind", "boss")]


async def test_after_an_error_of_the_model_only_the_answer_is_asked_for_again():
    one = Talker("one", "a")
    model = ScriptedModel(OSError("gone"), "answer")
    inner = RoundRobinGroupChat([one], max_turns=1)
    team = RoundRobinGroupChat([SocietyOfMindAgent("mind", inner, model)], max_turns=1)
    with pytest.raises(TeamError, match="gone"):
        await team.run(task="hi")
    assert texts(await team.run()) == ["answer"]
    assert one.given == [["hi"]]
    assert contents(model, 0) == contents(model, 1)


async def test_the_messages_of_a_cancelled_turn_come_again_to_a_team_that_is_new():
    hanging = asyncio.Event()
    one = Talker("one", "a", "b")
    two = Talker("two", hanging.wait(), "c")
    mind = SocietyOfMindAgent(
        "mind", RoundRobinGroupChat([one, two], max_turns=2), ScriptedModel("answer")
    )
    team = RoundRobinGroupChat([mind], max_turns=1)
    token = CancellationToken()
    stream = team.run_stream(task="hi", cancellation_token=token)
    async for item in stream:
        if getattr(item, "source", "") == "one":
            break
    pull = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await pull
    assert one.calls == ["reset"]
    assert texts(await team.run(task="on")) == ["on", "b", "c", "answer"]
    assert one.given[1] == ["hi", "on"]


# State and config


async def test_the_documented_state_holds_the_inner_teams():
    mind = SocietyOfMindAgent("mind", pair(), ScriptedModel("answer"))
    await mind.run(task="hi")
    state = json.loads(json.dumps(await mind.save_state()))
    assert state["type"] == "SocietyOfMindAgentState"
    assert state["inner_team_state"]["type"] == "TeamState"
    fresh = SocietyOfMindAgent("mind", pair(), ScriptedModel("more"))
    await fresh.load_state(state)
    assert await fresh.save_state() == state
    del state["llm_context"]  # AutoGen saves none
    await fresh.load_state(state)
    assert len(await fresh.model_context.get_messages()) == 2


class Recorder(Team):
    """A team of a user's own, which knows nothing of resuming."""

    component_type = "team"

    def __init__(self) -> None:
        self.tasks: list[Any] = []
        self.resets = 0

    @property
    def name(self) -> str:
        return "recorder"

    @property
    def description(self) -> str:
        return ""

    async def run(self, **options: Any) -> TaskResult:
        raise NotImplementedError

    async def run_stream(
        self,
        *,
        task: Any = None,
        cancellation_token: CancellationToken | None = None,
        output_task_messages: bool = True,
    ) -> AsyncGenerator[Any, None]:
        self.tasks.append((task if task is None else list(task), output_task_messages))
        message = TextMessage(content="noted", source="recorder")
        yield ModelClientStreamingChunkEvent(content="noted", source="recorder")
        yield message
        yield TaskResult(messages=[message])

    async def reset(self) -> None:
        self.resets += 1

    async def pause(self) -> None: ...

    async def resume(self) -> None: ...

    async def save_state(self) -> dict[str, Any]:
        return {"tasks": len(self.tasks)}

    async def load_state(self, state: Any) -> None:
        self.loaded = state


async def test_a_team_of_a_users_own_works_too():
    recorder = Recorder()
    mind = SocietyOfMindAgent("mind", recorder, ScriptedModel("answer"))
    team = RoundRobinGroupChat([mind], max_turns=1)
    assert texts(await team.run(task="hi")) == ["hi", "noted", "answer"]
    ((task, output),) = recorder.tasks
    assert [message.content for message in task] == ["hi"]
    assert output is False
    assert recorder.resets == 1
    other = Recorder()
    fresh = RoundRobinGroupChat(
        [SocietyOfMindAgent("mind", other, ScriptedModel("answer"))], max_turns=1
    )
    await fresh.load_snapshot([await team.save_snapshot()])
    assert other.loaded == {"tasks": 1}
    await fresh.load_state(json.loads(json.dumps(await team.save_state())))
    assert other.loaded == {"tasks": 1}


def test_it_dumps_and_loads_with_its_team():
    inner = RoundRobinGroupChat(
        [UserProxyAgent("boss")], termination_condition=TextMentionTermination("DONE")
    )
    mind = SocietyOfMindAgent(
        "mind",
        inner,
        ReplayChatCompletionClient(["x"]),
        description="many",
        instruction="i",
        response_prompt="r",
        model_context=BufferedChatCompletionContext(3),
    )
    dumped = mind.dump_component().model_dump()
    assert dumped["provider"] == "teams.agents.SocietyOfMindAgent"
    loaded = SocietyOfMindAgent.load_component(json.loads(json.dumps(dumped)))
    assert loaded.dump_component().model_dump() == dumped
    foreign = {**dumped, "provider": "autogen_agentchat.agents.SocietyOfMindAgent"}
    config = dumped["config"]
    foreign["config"] = {name: config[name] for name in ("name", "team", "model_client")}
    loaded = SocietyOfMindAgent.load_component(foreign)
    assert loaded.description == SocietyOfMindAgent.DEFAULT_DESCRIPTION


def test_it_says_text_only():
    mind = SocietyOfMindAgent("mind", pair(), ScriptedModel())
    kinds: Sequence[Any] = mind.produced_message_types
    assert list(kinds) == [TextMessage]
