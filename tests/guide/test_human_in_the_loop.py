"""The page on humans: asked during a run, or between two runs."""

import asyncio

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent, UserProxyAgent
from teams.base import Handoff, TaskResult
from teams.conditions import HandoffTermination, TextMentionTermination
from teams.core import CancellationToken
from teams.messages import UserInputRequestedEvent
from teams.ui import Console, UserInputManager
from tests.fakes.openai_script import Call, Reply
from tests.guide.harness import conversations, goes_on_alike, watch

POET = "You write verses."
TASK = "Two lines about the sea."


def with_a_human(model, ask=lambda prompt: "APPROVE") -> RoundRobinGroupChat:
    poet = AssistantAgent("poet", model, system_message=POET)
    reader = UserProxyAgent("reader", input_func=ask)
    return RoundRobinGroupChat(
        [poet, reader], termination_condition=TextMentionTermination("APPROVE")
    )


ONE_ROUND = [
    ("TextMessage", "user"),
    ("TextMessage", "poet"),
    ("UserInputRequestedEvent", "reader"),
    ("TextMessage", "reader"),
]


async def test_a_human_is_asked_in_turn(openai_server, model):
    prompts, answers = [], iter(["More waves.", "APPROVE"])

    def ask(prompt: str) -> str:
        prompts.append(prompt)
        return next(answers)

    openai_server.script(Reply(text="The sea."), Reply(text="The waves of the sea."))

    run = await watch(with_a_human(model, ask).run_stream(task=TASK))

    assert run.trace == [*ONE_ROUND, *ONE_ROUND[1:]]
    assert run.stop_reason == "Text 'APPROVE' mentioned"
    assert len(prompts) == 2
    assert conversations(openai_server)[-1] == [
        f"system: {POET}",
        f"user[user]: {TASK}",
        "assistant: The sea.",
        "user[reader]: More waves.",
    ]


async def test_a_team_with_a_human_goes_on_in_another_process(openai_server, model):
    openai_server.script(Reply(text="The sea."))
    team = with_a_human(model)
    await team.run(task=TASK)

    run = await goes_on_alike(
        team,
        with_a_human,
        openai_server,
        Reply(text="The lake."),
        task="Now a lake.",
    )

    assert run.trace == ONE_ROUND


async def test_the_input_function_can_wait_for_a_message_of_a_web_client(openai_server, model):
    inbox: asyncio.Queue[str] = asyncio.Queue()

    async def from_web_socket(prompt: str, cancellation_token: CancellationToken | None) -> str:
        return await inbox.get()

    openai_server.script(Reply(text="The sea."))
    async for item in with_a_human(model, from_web_socket).run_stream(task=TASK):
        match item:
            case UserInputRequestedEvent():
                inbox.put_nowait("APPROVE")
            case TaskResult():
                assert item.stop_reason == "Text 'APPROVE' mentioned"
            case _:
                pass
    assert inbox.empty()


async def test_on_the_console_the_question_comes_after_what_was_said(openai_server, model, capsys):
    def ask(prompt: str) -> str:
        shown.append(capsys.readouterr().out)
        return "APPROVE"

    shown: list[str] = []
    manager = UserInputManager(ask)
    openai_server.script(Reply(text="The sea."))
    team = with_a_human(model, manager.get_wrapped_callback())

    await Console(team.run_stream(task=TASK), user_input_manager=manager)

    assert shown[0].endswith("---------- TextMessage (poet) ----------\nThe sea.\n")


def one_turn_at_a_time(model) -> RoundRobinGroupChat:
    return RoundRobinGroupChat([AssistantAgent("poet", model, system_message=POET)], max_turns=1)


async def test_with_max_turns_the_next_task_is_the_feedback(openai_server, model):
    openai_server.script(Reply(text="The sea."))
    team = one_turn_at_a_time(model)

    run = await watch(team.run_stream(task=TASK))
    assert run.trace == [("TextMessage", "user"), ("TextMessage", "poet")]
    assert run.stop_reason == "Maximum number of turns 1 reached."

    again = await goes_on_alike(
        team, one_turn_at_a_time, openai_server, Reply(text="Waves."), task="More waves, please."
    )
    assert again.trace == [("TextMessage", "user"), ("TextMessage", "poet")]
    assert again.stop_reason == "Maximum number of turns 1 reached."
    assert conversations(openai_server)[-1] == [
        f"system: {POET}",
        f"user[user]: {TASK}",
        "assistant: The sea.",
        "user[user]: More waves, please.",
    ]


def lazy(model) -> RoundRobinGroupChat:
    agent = AssistantAgent(
        "helper",
        model,
        handoffs=[Handoff(target="user", message="Over to you.")],
        system_message="Hand over to the user when you do not know something.",
    )
    return RoundRobinGroupChat(
        [agent],
        termination_condition=HandoffTermination("user") | TextMentionTermination("TERMINATE"),
    )


async def test_an_agent_hands_over_to_the_user_and_goes_on_with_the_answer(openai_server, model):
    openai_server.script(Reply(calls=[Call(name="transfer_to_user")]))
    team = lazy(model)

    run = await watch(team.run_stream(task="What is the weather here?"))

    assert run.trace == [
        ("TextMessage", "user"),
        ("ToolCallRequestEvent", "helper"),
        ("ToolCallExecutionEvent", "helper"),
        ("HandoffMessage", "helper", "user"),
    ]
    assert run.answer == "Over to you."
    assert run.stop_reason == "Handoff to user from helper detected."
    [request] = openai_server.requests
    assert request.tools == ["transfer_to_user"]

    again = await goes_on_alike(
        team,
        lazy,
        openai_server,
        Reply(text="Enjoy the sun. TERMINATE"),
        task="It is sunny in Ulm.",
    )
    assert again.trace == [("TextMessage", "user"), ("TextMessage", "helper")]
    assert conversations(openai_server)[-1] == [
        "system: Hand over to the user when you do not know something.",
        "user[user]: What is the weather here?",
        "assistant calls transfer_to_user({})",
        "tool: Over to you.",
        "user[user]: It is sunny in Ulm.",
    ]
