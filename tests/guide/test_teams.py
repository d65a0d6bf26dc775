"""The page on teams: run, observe, reset, stop, resume and abort."""

import asyncio

import pytest

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import TaskResult
from teams.conditions import ExternalTermination, TextMentionTermination, TextMessageTermination
from teams.core import CancellationToken
from teams.messages import ModelClientStreamingChunkEvent
from teams.ui import Console
from tests.fakes.openai_script import Call, Reply
from tests.guide.harness import conversations, goes_on_alike, watch

POET = "You write short verses."
EDITOR = "You comment on verses. Say APPROVE once you are content."
TASK = "Two lines about rain."
MENTIONED = "Text 'APPROVE' mentioned"


def reflection(model, stop=None) -> RoundRobinGroupChat:
    poet = AssistantAgent("poet", model, system_message=POET)
    editor = AssistantAgent("editor", model, system_message=EDITOR)
    condition = TextMentionTermination("APPROVE", sources=["editor"])
    return RoundRobinGroupChat(
        [poet, editor], termination_condition=condition | stop if stop else condition
    )


VERSES = (Reply(text="Rain, rain."), Reply(text="Longer."), Reply(text="Rain all the day."))
APPROVED = (*VERSES, Reply(text="APPROVE"))


async def test_two_agents_take_turns_until_one_approves(openai_server, model):
    openai_server.script(*APPROVED)

    run = await watch(reflection(model).run_stream(task=TASK))

    assert run.trace == [
        ("TextMessage", "user"),
        ("TextMessage", "poet"),
        ("TextMessage", "editor"),
        ("TextMessage", "poet"),
        ("TextMessage", "editor"),
    ]
    assert run.stop_reason == MENTIONED
    assert conversations(openai_server) == [
        [f"system: {POET}", f"user[user]: {TASK}"],
        [f"system: {EDITOR}", f"user[user]: {TASK}", "user[poet]: Rain, rain."],
        [
            f"system: {POET}",
            f"user[user]: {TASK}",
            "assistant: Rain, rain.",
            "user[editor]: Longer.",
        ],
        [
            f"system: {EDITOR}",
            f"user[user]: {TASK}",
            "user[poet]: Rain, rain.",
            "assistant: Longer.",
            "user[poet]: Rain all the day.",
        ],
    ]


async def test_a_team_at_rest_goes_on_in_another_process(openai_server, model):
    openai_server.script(*APPROVED)
    team = reflection(model)
    await team.run(task=TASK)

    run = await goes_on_alike(
        team,
        reflection,
        openai_server,
        Reply(text="Sun, sun."),
        Reply(text="APPROVE"),
        task="Now about the sun.",
    )

    assert run.trace == [
        ("TextMessage", "user"),
        ("TextMessage", "poet"),
        ("TextMessage", "editor"),
    ]
    assert conversations(openai_server)[-1][-3:] == [
        "assistant: APPROVE",
        "user[user]: Now about the sun.",
        "user[poet]: Sun, sun.",
    ]


async def test_the_console_shows_a_run_and_returns_its_result(openai_server, model, capsys):
    openai_server.script(*APPROVED)

    result = await Console(reflection(model).run_stream(task=TASK), output_stats=True)

    assert isinstance(result, TaskResult)
    assert result.stop_reason == MENTIONED
    shown = capsys.readouterr().out
    assert shown.startswith("---------- TextMessage (user) ----------\nTwo lines about rain.\n")
    assert "---------- TextMessage (editor) ----------\nLonger.\n" in shown
    assert "Total prompt tokens: 40\n" in shown


async def test_a_reset_team_has_forgotten_everything(openai_server, model):
    openai_server.script(*APPROVED, Reply(text="Hello."), Reply(text="APPROVE"))
    team = reflection(model)
    await team.run(task=TASK)

    await team.reset()
    run = await watch(team.run_stream(task="Greet me."))

    assert run.trace == [
        ("TextMessage", "user"),
        ("TextMessage", "poet"),
        ("TextMessage", "editor"),
    ]
    assert conversations(openai_server)[-2] == [f"system: {POET}", "user[user]: Greet me."]


async def test_a_team_is_stopped_from_outside_after_the_turn_that_is_under_way(
    openai_server, model
):
    stop = ExternalTermination()
    poet = AssistantAgent("poet", model, system_message=POET, model_client_stream=True)
    editor = AssistantAgent("editor", model, system_message=EDITOR)
    team = RoundRobinGroupChat([poet, editor], termination_condition=stop)
    openai_server.script(Reply(text="Rain, rain.", chunks=2))

    items = []
    async for item in team.run_stream(task=TASK):
        items.append(item)
        if isinstance(item, ModelClientStreamingChunkEvent):
            stop.set()

    assert [type(item).__name__ for item in items] == [
        "TextMessage",
        "ModelClientStreamingChunkEvent",
        "ModelClientStreamingChunkEvent",
        "TextMessage",
        "TaskResult",
    ]
    assert items[-1].stop_reason == "External termination requested"


async def test_a_stopped_team_goes_on_with_the_next_agent(openai_server, model):
    stop = ExternalTermination()
    team = reflection(model, stop)
    openai_server.script(*APPROVED)
    stream = team.run_stream(task=TASK)
    async for item in stream:
        if getattr(item, "source", "") == "poet":
            stop.set()

    run = await watch(team.run_stream())

    assert run.trace == [
        ("TextMessage", "editor"),
        ("TextMessage", "poet"),
        ("TextMessage", "editor"),
    ]
    assert run.stop_reason == MENTIONED


async def test_the_next_task_keeps_the_context_of_the_last(openai_server, model):
    openai_server.script(*APPROVED, Reply(text="Regen."), Reply(text="APPROVE"))
    team = reflection(model)
    await team.run(task=TASK)

    run = await watch(team.run_stream(task="Now in German."))

    assert run.trace[0] == ("TextMessage", "user")
    assert conversations(openai_server)[-2] == [
        f"system: {POET}",
        f"user[user]: {TASK}",
        "assistant: Rain, rain.",
        "user[editor]: Longer.",
        "assistant: Rain all the day.",
        "user[editor]: APPROVE",
        "user[user]: Now in German.",
    ]


async def test_an_aborted_run_ends_at_once_and_the_team_takes_the_next_task(openai_server, model):
    openai_server.script(Reply(text="Never seen.", gate=openai_server.gate))
    team, token = reflection(model), CancellationToken()

    async with asyncio.TaskGroup() as group:
        run = group.create_task(team.run(task=TASK, cancellation_token=token))
        await openai_server.gate.reached()
        token.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    openai_server.script(Reply(text="Rain."), Reply(text="APPROVE"))
    again = await watch(team.run_stream(task="Try once more."))
    assert again.trace == [
        ("TextMessage", "user"),
        ("TextMessage", "poet"),
        ("TextMessage", "editor"),
    ]


def increment(number: int) -> int:
    """Add one to a number."""
    return number + 1


def counter(model) -> RoundRobinGroupChat:
    agent = AssistantAgent(
        "counter", model, tools=[increment], system_message="Count up with the tool."
    )
    return RoundRobinGroupChat(
        [agent], termination_condition=TextMessageTermination(source="counter")
    )


async def test_a_team_of_one_repeats_until_the_agent_stops_calling_tools(openai_server, model):
    def calls(number: int) -> Reply:
        arguments = {"number": number}
        return Reply(calls=[Call(name="increment", arguments=arguments, id=f"call_{number}")])

    openai_server.script(calls(5), calls(6), Reply(text="Seven."))
    team = counter(model)

    run = await watch(team.run_stream(task="From 5 to 7."))

    turn = [
        ("ToolCallRequestEvent", "counter"),
        ("ToolCallExecutionEvent", "counter"),
        ("ToolCallSummaryMessage", "counter"),
    ]
    assert run.trace == [("TextMessage", "user"), *turn, *turn, ("TextMessage", "counter")]
    assert run.stop_reason == "Text message received from 'counter'"
    assert conversations(openai_server)[-1] == [
        "system: Count up with the tool.",
        "user[user]: From 5 to 7.",
        'assistant calls increment({"number": 5})',
        "tool: 6",
        'assistant calls increment({"number": 6})',
        "tool: 7",
    ]
    again = await goes_on_alike(
        team, counter, openai_server, calls(7), Reply(text="Eight."), task="One more."
    )
    assert again.trace == [("TextMessage", "user"), *turn, ("TextMessage", "counter")]
