"""Whoever runs a team sees every request to a model in it, at any depth, once."""

from contextlib import aclosing

import pytest

from teams import (
    MagenticOneGroupChat,
    RoundRobinGroupChat,
    SelectorGroupChat,
)
from teams.agents import AssistantAgent, SocietyOfMindAgent
from teams.base import TeamError, run_hooks
from teams.conditions import MaxMessageTermination
from teams.core import FunctionCall
from teams.models import ChatCompletionClient, CreateResult, ModelInfo, RequestUsage, UserMessage
from teams.models.cache import ChatCompletionCache
from teams.models.replay import ReplayChatCompletionClient
from teams.tools import AgentTool, TeamTool

CAN_CALL = ModelInfo(
    vision=False, function_calling=True, json_output=True, family="unknown", structured_output=False
)


def said(content) -> CreateResult:
    finish = "stop" if isinstance(content, str) else "function_calls"
    return CreateResult(
        finish_reason=finish,
        content=content,
        usage=RequestUsage(prompt_tokens=3, completion_tokens=2),
        cached=False,
    )


def call(name: str) -> CreateResult:
    return said([FunctionCall(id="1", name=name, arguments='{"task": "go"}')])


def model(*answers) -> ReplayChatCompletionClient:
    return ReplayChatCompletionClient(
        [said(answer) if isinstance(answer, str) else answer for answer in answers],
        model_info=CAN_CALL,
    )


class Watch:
    def __init__(self, most: int = 100) -> None:
        self.asked: list[ChatCompletionClient] = []
        self.counted: list[RequestUsage] = []
        self._most = most

    def asks(self, client: ChatCompletionClient) -> None:
        if len(self.asked) >= self._most:
            raise LookupError("no more")
        self.asked.append(client)

    def answered(self, client: ChatCompletionClient, usage: RequestUsage) -> None:
        self.counted.append(usage)


def alone(name: str, client: ChatCompletionClient, **more) -> AssistantAgent:
    return AssistantAgent(name, client, description=name, **more)


def round_robin(*agents, turns: int = 1) -> RoundRobinGroupChat:
    return RoundRobinGroupChat(list(agents), max_turns=turns)


def agent_tool():
    inner = model("inner")
    outer = model(call("helper"), "outer")
    tool = AgentTool(alone("helper", inner))
    return round_robin(alone("a", outer, tools=[tool], reflect_on_tool_use=True)), 3


def team_tool():
    inner = round_robin(alone("b", model("one")), alone("c", model("two")), turns=2)
    outer = model(call("helpers"), "outer")
    tool = TeamTool(inner, "helpers", "helpers")
    return round_robin(alone("a", outer, tools=[tool], reflect_on_tool_use=True)), 4


def nested():
    inner = round_robin(alone("b", model("one")), alone("c", model("two")), turns=2)
    return round_robin(alone("a", model("three")), inner, turns=2), 3


def society_of_mind():
    inner = round_robin(alone("b", model("one")), alone("c", model("two")), turns=2)
    return round_robin(SocietyOfMindAgent("mind", inner, model("in short"))), 3


def selector():
    team = SelectorGroupChat(
        [alone("a", model("one")), alone("b", model("two"))],
        model("b"),
        termination_condition=MaxMessageTermination(2),
    )
    return team, 2


def magentic_one():
    done = (
        '{"is_request_satisfied": {"reason": "", "answer": true},'
        ' "is_progress_being_made": {"reason": "", "answer": true},'
        ' "is_in_loop": {"reason": "", "answer": false},'
        ' "instruction_or_question": {"reason": "", "answer": ""},'
        ' "next_speaker": {"reason": "", "answer": "a"}}'
    )
    orchestrator = model("facts", "plan", done, "final")
    return MagenticOneGroupChat([alone("a", model("one"))], orchestrator), 4


def streaming():
    return round_robin(alone("a", model("one two"), model_client_stream=True)), 1


@pytest.mark.parametrize(
    "make",
    [agent_tool, team_tool, nested, society_of_mind, selector, magentic_one, streaming],
    ids=lambda make: make.__name__,
)
async def test_every_request_is_seen_once_however_deep(make):
    team, requests = make()
    watch = Watch()
    with run_hooks(model=watch):
        await team.run(task="go")
    assert len(watch.counted) == requests
    assert all(usage.completion_tokens == 2 for usage in watch.counted)


async def test_a_run_without_a_watch_is_seen_by_nobody():
    team, _ = nested()
    watch = Watch()
    with run_hooks(model=watch):
        pass
    await team.run(task="go")
    assert not watch.asked


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_an_answer_out_of_a_cache_is_not_counted_and_one_through_it_once(stream):
    cache = ChatCompletionCache(model("one"))
    watch = Watch()
    question = [UserMessage(content="?", source="user")]
    with run_hooks(model=watch):
        for _ in range(2):
            if stream:
                async with aclosing(cache.create_stream(question)) as pieces:
                    answer = [piece async for piece in pieces][-1]
            else:
                answer = await cache.create(question)
            assert answer.content == "one"
    assert len(watch.counted) == 1


async def test_what_the_watch_raises_ends_the_run_before_the_model_is_asked():
    client = model(call("look"), "done")

    async def look(task: str) -> str:
        """Look."""
        return task

    team = round_robin(alone("a", client, tools=[look], reflect_on_tool_use=True))
    with run_hooks(model=Watch(most=1)), pytest.raises(TeamError) as caught:
        await team.run(task="go")
    assert isinstance(caught.value.__cause__, LookupError)
    assert len(client.create_calls) == 1
    # The run stands where it was: it goes on with the request that was not made.
    result = await team.run(task=None)
    assert result.messages[-1].to_text() == "done"
