"""A run that waits for a human is saved, and continues later."""

import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any, Literal

import pytest

from teams import BaseGroupChat, RoundRobinGroupChat, Swarm
from teams.agents import AssistantAgent, UserProxyAgent
from teams.base import InputRequired, Response, TaskResult, ToolCall, run_hooks
from teams.conditions import MaxMessageTermination, TextMentionTermination
from teams.core import CancellationToken
from teams.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    HandoffMessage,
    TextMessage,
    ToolCallExecutionEvent,
    ToolCallSummaryMessage,
    UserInputRequestedEvent,
)
from teams.tools import FunctionTool, TextResultContent, ToolResult
from tests.fakes.agents import Streamer, Talker
from tests.fakes.scripted_model import ScriptedModel, calls
from tests.fakes.streams import everything, texts

Way = Literal["same", "state", "snapshot"]
every_way = pytest.mark.parametrize("way", ["same", "state", "snapshot"])


class Human:
    """An input function whose answers come later."""

    def __init__(self) -> None:
        self.answers: dict[str, str] = {}
        self.asked: list[tuple[str, str]] = []

    async def ask(self, prompt: str, cancellation_token: CancellationToken | None) -> str:
        request_id = UserProxyAgent.InputRequestContext.request_id()
        self.asked.append((request_id, prompt))
        if request_id not in self.answers:
            raise InputRequired(prompt)
        return self.answers[request_id]


class Desk:
    """Approves calls of the tools in `ask` once it has an answer."""

    def __init__(self, *ask: str) -> None:
        self.ask = ask
        self.answers: dict[str, bool] = {}
        self.seen: list[str] = []

    async def intercept(self, call: ToolCall, proceed: Any) -> ToolResult:
        self.seen.append(call.name)
        if call.name in self.ask:
            if call.key not in self.answers:
                raise InputRequired(f"Run {call.name}?", kind="approval")
            if not self.answers[call.key]:
                return ToolResult(name=call.name, result=[], is_error=True)
        return await proceed(call)


class Work:
    """Tools that count how often they ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def tool(self, name: str) -> FunctionTool:
        async def work() -> str:
            self.ran.append(name)
            return f"{name} done"

        return FunctionTool(work, name, name=name)


async def moved(team: BaseGroupChat, fresh: BaseGroupChat, way: Way) -> BaseGroupChat:
    """The team to go on with."""
    match way:
        case "same":
            return team
        case "state":
            await fresh.load_state(json.loads(json.dumps(await team.save_state())))
        case "snapshot":
            await fresh.load_snapshot([await team.save_snapshot()])
    return fresh


# A human among the participants


def team_with(human: Human, *talkers: Talker) -> RoundRobinGroupChat:
    return RoundRobinGroupChat(
        [*talkers, UserProxyAgent("human", input_func=human.ask)],
        termination_condition=MaxMessageTermination(4),
    )


@every_way
async def test_a_run_that_waits_for_input_says_so_and_goes_on_with_the_answer(way: Way):
    human = Human()
    team = team_with(human, Talker("a", "1"))
    result = await team.run(task="hi")
    assert [type(item) for item in result.messages][-1] is UserInputRequestedEvent
    assert result.stop_reason == "Waiting for input: Your response: "
    (request,) = result.pending
    assert (request.agent, request.kind, request.prompt) == (("human",), "text", "Your response: ")
    assert request.call_id is None
    event = result.messages[-1]
    assert isinstance(event, UserInputRequestedEvent)
    assert request.request_id == event.request_id

    team = await moved(team, team_with(human, Talker("a", "1")), way)
    again = await team.run()
    assert list(again.pending) == [request]
    assert list(again.messages) == []
    assert again.stop_reason == result.stop_reason

    team = await moved(team, team_with(human, Talker("a", "1")), way)
    human.answers[request.request_id] = "answer"
    result = await team.run()
    assert texts(result) == ["answer", "1"]
    assert list(result.pending) == []
    assert result.stop_reason == "Maximum number of messages 4 reached, current message count: 4"
    assert [entry[0] for entry in human.asked] == [request.request_id] * 3


async def test_each_question_has_an_id_of_its_own():
    human = Human()
    team = team_with(human)
    ids: list[str] = []
    for _ in range(3):
        (request,) = (await team.run(task="hi" if not ids else None)).pending
        ids.append(request.request_id)
        human.answers[request.request_id] = "yes"
    assert len(set(ids)) == 3


async def test_the_tally_of_condition_and_turns_goes_on_after_a_wait():
    human = Human()
    team = RoundRobinGroupChat(
        [Talker("a", "1"), UserProxyAgent("human", input_func=human.ask)], max_turns=3
    )
    (request,) = (await team.run(task="hi")).pending
    human.answers[request.request_id] = "answer"
    result = await team.run()
    assert texts(result) == ["answer", "1"]
    assert result.stop_reason == "Maximum number of turns 3 reached."


async def test_a_hook_asks_for_agents_without_a_function_of_their_own():
    human, own = Human(), Human()
    inner = RoundRobinGroupChat([UserProxyAgent("inmost")], name="inner", max_turns=1)
    for agent, path in ((UserProxyAgent("outer"), ("outer",)), (inner, ("inner", "inmost"))):
        team = RoundRobinGroupChat([agent], max_turns=1)
        with run_hooks(ask=human.ask):
            (request,) = (await team.run(task="hi")).pending
            assert request.agent == path
            human.answers[request.request_id] = "answer"
            assert texts(await team.run())[-1] == "answer"
    team = RoundRobinGroupChat([UserProxyAgent("own", input_func=own.ask)], max_turns=1)
    with run_hooks(ask=human.ask):
        (request,) = (await team.run(task="hi")).pending
    assert own.asked[0][0] == request.request_id


async def test_a_function_may_name_its_requests_itself():
    def ask(prompt: str) -> str:
        raise InputRequired("Pick one.", request_id="mine", kind="choice")

    team = RoundRobinGroupChat([UserProxyAgent("human", input_func=ask)], max_turns=1)
    (request,) = (await team.run(task="hi")).pending
    assert (request.request_id, request.kind, request.prompt) == ("mine", "choice", "Pick one.")


async def test_a_waiting_team_takes_a_new_task_and_still_waits():
    human = Human()
    other = Talker("a", "1")
    team = RoundRobinGroupChat([UserProxyAgent("human", input_func=human.ask), other], max_turns=2)
    (request,) = (await team.run(task="hi")).pending
    result = await team.run(task="hurry")
    assert texts(result) == ["hurry"]
    assert list(result.pending) == [request]
    human.answers[request.request_id] = "answer"
    assert texts(await team.run()) == ["answer", "1"]
    assert other.given == [["hi", "hurry", "answer"]]


@every_way
async def test_what_is_said_while_a_human_thinks_does_not_change_who_is_answered(way: Way):
    human = Human()

    def build() -> Swarm:
        model = ScriptedModel(calls(("transfer_to_boss", {})), "DONE", speaker="desk")
        desk = AssistantAgent("desk", model, handoffs=["boss"])
        return Swarm(
            [desk, UserProxyAgent("boss", input_func=human.ask)],
            termination_condition=TextMentionTermination("DONE"),
        )

    team = build()
    (request,) = (await team.run(task="hi")).pending
    assert request.prompt == "desk handed off to you. Your response: "
    await team.run(task="hurry")
    team = await moved(team, build(), way)
    human.answers[request.request_id] = "answer"
    answer, *_, last = (await team.run()).messages
    assert isinstance(answer, HandoffMessage)
    assert (answer.target, answer.content) == ("desk", "answer")
    assert last.to_text() == "DONE"


async def test_a_waiting_team_that_is_reset_waits_no_more():
    human = Human()
    team = team_with(human)
    (request,) = (await team.run(task="hi")).pending
    await team.reset()
    (other,) = (await team.run(task="hi")).pending
    assert other.request_id != request.request_id


# Approvals


def worker(model: ScriptedModel, work: Work, *tools: str, **options: Any) -> AssistantAgent:
    return AssistantAgent("worker", model, tools=[work.tool(name) for name in tools], **options)


@every_way
@pytest.mark.parametrize("waiting", ["first", "second"])
async def test_of_two_calls_the_one_that_need_not_wait_runs_and_keeps_its_result(
    way: Way, waiting: str
):
    work, desk = Work(), Desk(waiting)
    other = {"first": "second", "second": "first"}[waiting]

    def build() -> RoundRobinGroupChat:
        model = ScriptedModel(calls(("first", {}), ("second", {})), "bye", speaker="worker")
        return RoundRobinGroupChat([worker(model, work, "first", "second")], max_turns=1)

    team = build()
    with run_hooks(intercept=desk.intercept):
        result = await team.run(task="hi")
        assert work.ran == [other]
        (request,) = result.pending
        assert (request.kind, request.agent, request.call_id) == (
            "approval",
            ("worker",),
            "call_1" if waiting == "first" else "call_2",
        )
        team = await moved(team, build(), way)
        assert list((await team.run()).pending) == [request]
        assert work.ran == [other]
        team = await moved(team, build(), way)
        desk.answers[request.request_id] = True
        result = await team.run()
    assert work.ran == [other, waiting]
    execution, summary = result.messages
    assert isinstance(execution, ToolCallExecutionEvent)
    assert [r.content for r in execution.content] == ["first done", "second done"]
    assert isinstance(summary, ToolCallSummaryMessage)
    thread = (await team.save_state())["agent_states"]["RoundRobinGroupChatManager"]
    assert [item["type"] for item in thread["message_thread"]] == [
        "TextMessage",
        "ToolCallRequestEvent",
        "ToolCallExecutionEvent",
        "ToolCallSummaryMessage",
    ]


async def test_two_calls_that_wait_are_two_requests_with_ids_of_their_own():
    work, desk = Work(), Desk("same")
    model = ScriptedModel(calls(("same", {}), ("same", {}), ("other", {})), "bye")
    team = RoundRobinGroupChat([worker(model, work, "same", "other")], max_turns=1)
    with run_hooks(intercept=desk.intercept):
        first, second = (await team.run(task="hi")).pending
        assert first.request_id != second.request_id
        assert work.ran == ["other"]
        desk.answers[second.request_id] = True
        assert list((await team.run()).pending) == [first]
        assert work.ran == ["other", "same"]
        desk.answers[first.request_id] = False
        assert list((await team.run()).pending) == []
    assert work.ran == ["other", "same"]


async def test_a_tool_may_wait_for_a_human_itself():
    answers: list[str] = []

    async def consult() -> str:
        if not answers:
            raise InputRequired("What now?")
        return answers[0]

    def consult_in_a_thread() -> str:
        if not answers:
            raise InputRequired("What now?")
        return answers[0]

    for tool in (consult, consult_in_a_thread):
        answers.clear()
        model = ScriptedModel(calls((tool.__name__, {})))
        team = RoundRobinGroupChat([AssistantAgent("a", model, tools=[tool])], max_turns=1)
        (request,) = (await team.run(task="hi")).pending
        assert request.prompt == "What now?"
        answers.append("this")
        assert texts(await team.run())[-1] == "this"


async def test_a_refused_call_is_an_error_for_the_model():
    work, desk = Work(), Desk("risky")
    model = ScriptedModel(calls(("risky", {})), "fine, not then")
    team = RoundRobinGroupChat([worker(model, work, "risky", max_tool_iterations=2)], max_turns=1)
    with run_hooks(intercept=desk.intercept):
        (request,) = (await team.run(task="hi")).pending
        desk.answers[request.request_id] = False
        assert texts(await team.run())[-1] == "fine, not then"
    assert work.ran == []
    assert model.messages()[-1]["content"][0]["is_error"] is True


async def test_giving_up_a_waiting_run_leaves_error_results_and_the_results_there_are():
    work, desk = Work(), Desk("risky")
    model = ScriptedModel(calls(("risky", {}), ("safe", {})), "next")
    team = RoundRobinGroupChat([worker(model, work, "risky", "safe")], max_turns=1)
    with run_hooks(intercept=desk.intercept):
        await team.run(task="hi")
        await team.abandon_turn()
        assert texts(await team.run(task="never mind")) == ["never mind", "next"]
    results = model.messages()[2]["content"]
    assert [(r["content"], r["is_error"]) for r in results][1] == ("safe done", False)
    assert results[0]["is_error"] is True


@every_way
async def test_a_wait_in_a_nested_team_is_the_outer_teams_wait(way: Way):
    work, desk = Work(), Desk("risky")

    def build() -> RoundRobinGroupChat:
        model = ScriptedModel(calls(("risky", {})), speaker="worker")
        inner = RoundRobinGroupChat(
            [Talker("first", "1"), worker(model, work, "risky")], name="inner", max_turns=2
        )
        return RoundRobinGroupChat([inner, Talker("last", "9")], max_turns=2)

    team = build()
    with run_hooks(intercept=desk.intercept):
        (request,) = (await team.run(task="hi")).pending
        assert request.agent == ("inner", "worker")
        team = await moved(team, build(), way)
        desk.answers[request.request_id] = True
        result = await team.run()
    assert texts(result)[1:] == ["risky done", "9"]
    thread = (await team.save_state())["agent_states"]["RoundRobinGroupChatManager"]
    assert [item["source"] for item in thread["message_thread"]] == [
        "user",
        "first",
        "worker",
        "worker",
        "worker",
        "last",
    ]


async def test_a_handoff_may_wait_for_approval():
    desk_agent = AssistantAgent(
        "desk", ScriptedModel(calls(("transfer_to_expert", {}))), handoffs=["expert"]
    )
    team = Swarm(
        [desk_agent, Talker("expert", "DONE")], termination_condition=TextMentionTermination("DONE")
    )
    desk = Desk("transfer_to_expert")
    with run_hooks(intercept=desk.intercept):
        (request,) = (await team.run(task="hi")).pending
        desk.answers[request.request_id] = True
        assert texts(await team.run())[-1] == "DONE"


async def test_a_handoff_that_is_refused_is_an_ordinary_failed_call():
    async def refuse(call: ToolCall, proceed: Any) -> ToolResult:
        return ToolResult(
            name=call.name, result=[TextResultContent(content="not now")], is_error=True
        )

    desk = AssistantAgent(
        "desk", ScriptedModel(calls(("transfer_to_boss", {})), "well then"), handoffs=["boss"]
    )
    team = Swarm([desk], max_turns=2)
    with run_hooks(intercept=refuse):
        result = await team.run(task="hi")
    assert isinstance(result.messages[-2], ToolCallSummaryMessage)
    assert texts(result)[-2:] == ["not now", "well then"]


# Agents of users' own, which keep no turn record


@every_way
async def test_an_agent_without_a_record_starts_its_turn_again_with_the_same_inbox(way: Way):
    answers: list[str] = []

    def think() -> Any:
        return answers[0] if answers else InputRequired("Well?")

    talker = Talker("own", think)
    team = RoundRobinGroupChat([talker, Talker("b", "b")], max_turns=2)
    (request,) = (await team.run(task="hi")).pending
    assert (request.agent, request.prompt) == (("own",), "Well?")
    fresh_talker = Talker("own", think)
    team = await moved(
        team, RoundRobinGroupChat([fresh_talker, Talker("b", "b")], max_turns=2), way
    )
    assert list((await team.run()).pending) == [request]
    answers.append("so")
    assert texts(await team.run()) == ["so", "b"]
    assert talker.given + fresh_talker.given == [["hi"], ["hi"], ["hi"]]


async def test_two_questions_of_an_agent_without_a_record_have_two_ids():
    script: list[Any] = [InputRequired("1?"), "one", InputRequired("2?"), "two"]
    team = RoundRobinGroupChat([Talker("own", *script)], max_turns=2)
    (first,) = (await team.run(task="hi")).pending
    (second,) = (await team.run()).pending
    assert first.request_id != second.request_id


async def test_what_such_an_agent_had_yielded_stays_yielded():
    open_: list[bool] = [False]

    async def script() -> AsyncGenerator[Any, None]:
        yield TextMessage(content="thinking", source="own")
        if not open_[0]:
            raise InputRequired("Well?")
        yield Response(chat_message=TextMessage(content="so", source="own"))

    team = RoundRobinGroupChat([Streamer("own", script)], max_turns=1)
    assert texts(await team.run(task="hi")) == ["hi", "thinking"]
    open_[0] = True
    assert texts(await team.run()) == ["thinking", "so"]


# An agent alone


async def test_an_agent_alone_waits_and_goes_on_too():
    human = Human()
    agent = UserProxyAgent("human", input_func=human.ask)
    result = await agent.run(task="hi")
    (request,) = result.pending
    assert request.agent == ("human",)
    human.answers[request.request_id] = "answer"
    assert texts(await agent.run()) == ["answer"]


async def test_an_agent_alone_that_waits_for_an_approval_can_be_saved():
    work, desk = Work(), Desk("risky")

    def build() -> AssistantAgent:
        model = ScriptedModel(calls(("risky", {})), "told", speaker="worker")
        return worker(model, work, "risky", reflect_on_tool_use=True)

    agent, fresh = build(), build()
    with run_hooks(intercept=desk.intercept):
        (request,) = (await agent.run(task="hi")).pending
        await fresh.load_state(json.loads(json.dumps(await agent.save_state())))
        desk.answers[request.request_id] = True
        assert texts(await fresh.run())[-1] == "told"


async def test_a_direct_call_raises_what_it_waits_for():
    human = Human()
    agent = UserProxyAgent("human", input_func=human.ask)
    said = [TextMessage(content="hi", source="user")]
    with pytest.raises(InputRequired) as caught:
        await agent.on_messages(said, CancellationToken())
    (request,) = caught.value.requests
    human.answers[request.request_id] = "answer"
    response = await agent.on_messages(said, CancellationToken())
    assert response.chat_message.to_text() == "answer"


async def test_an_own_agent_that_asks_another_agent_inside_waits_with_it():
    human = Human()
    inside = UserProxyAgent("inside", input_func=human.ask)

    class Outside(Talker):
        async def on_messages(
            self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
        ) -> Response:
            return await inside.on_messages(messages, cancellation_token)

    team = RoundRobinGroupChat([Outside("outside")], max_turns=1)
    (request,) = (await team.run(task="hi")).pending
    human.answers[request.request_id] = "answer"
    assert texts(await team.run()) == ["answer"]


# Side by side


class Together(BaseGroupChat):
    manager_name = "Together"

    async def select_speaker(
        self, thread: Sequence[BaseAgentEvent | BaseChatMessage]
    ) -> str | list[str]:
        return list(self._places)


@every_way
async def test_siblings_of_a_waiting_speaker_finish_and_are_not_asked_again(way: Way):
    human = Human()
    free = Talker("free", "done")

    def build() -> Together:
        return Together(
            "together",
            "",
            [UserProxyAgent("human", input_func=human.ask), free, Talker("third", "3")],
            max_turns=1,
        )

    team = build()
    result = await team.run(task="hi")
    (request,) = result.pending
    assert sorted(texts(result)) == ["", "3", "done", "hi"]
    team = await moved(team, build(), way)
    assert list((await team.run()).pending) == [request]
    human.answers[request.request_id] = "answer"
    result = await team.run()
    assert texts(result) == ["answer"]
    assert result.stop_reason == "Maximum number of turns 1 reached."
    assert free.given == [["hi"]]


async def test_several_waiting_speakers_are_several_requests():
    human = Human()
    agents = [UserProxyAgent(name, input_func=human.ask) for name in ("x", "y")]
    team = Together("together", "", agents, max_turns=1)
    result = await team.run(task="hi")
    assert {request.agent for request in result.pending} == {("x",), ("y",)}
    for request in result.pending:
        human.answers[request.request_id] = request.agent[0]
    assert sorted(texts(await team.run())) == ["x", "y"]


async def test_a_waiting_run_ends_its_stream_with_the_result():
    human = Human()
    items = await everything(team_with(human).run_stream(task="hi"))
    assert isinstance(items[-1], TaskResult)
    assert list(items[-1].messages) == items[:-1]
