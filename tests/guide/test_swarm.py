"""The page on swarms: support with a human, and four agents' research."""

from teams import Swarm
from teams.agents import AssistantAgent
from teams.conditions import HandoffTermination, TextMentionTermination
from teams.messages import HandoffMessage
from tests.fakes.openai_script import Call, Reply
from tests.guide.harness import (
    calls_tools,
    connected,
    conversations,
    goes_on_alike,
    hands_off,
    watch,
)

# Support: a desk and a specialist, and a customer who is asked back.

DESK = "You run the desk of a ferry line. Say TERMINATE when the customer is served."
REBOOKER = "You rebook ferry tickets. You need the booking code."


def rebook(code: str) -> str:
    """Rebook a ferry ticket."""
    return f"Ticket {code} was rebooked."


def support(model) -> Swarm:
    desk = AssistantAgent("desk", model, handoffs=["rebooker", "user"], system_message=DESK)
    rebooker = AssistantAgent(
        "rebooker", model, handoffs=["desk", "user"], tools=[rebook], system_message=REBOOKER
    )
    return Swarm(
        [desk, rebooker],
        termination_condition=HandoffTermination(target="user")
        | TextMentionTermination("TERMINATE"),
    )


def to(agent: str, call: str) -> Reply:
    return Reply(calls=[Call(name=f"transfer_to_{agent}", id=call)])


def transferred(name: str) -> str:
    return f"Transferred to {name}, adopting the role of {name} immediately."


TASK = "I want to take a later ferry."


async def test_support_stops_for_the_customer_and_goes_on_with_the_answer(openai_server, model):
    openai_server.script(to("rebooker", "c1"), to("user", "c2"))
    team = support(model)

    run = await watch(team.run_stream(task=TASK))

    assert run.trace == [
        ("TextMessage", "user"),
        *hands_off("desk", "rebooker"),
        *hands_off("rebooker", "user"),
    ]
    assert run.stop_reason == "Handoff to user from rebooker detected."
    assert conversations(openai_server) == [
        [f"system: {DESK}", f"user[user]: {TASK}"],
        [f"system: {REBOOKER}", f"user[user]: {TASK}", f"user[desk]: {transferred('rebooker')}"],
    ]
    assert [request.tools for request in openai_server.requests] == [
        ["transfer_to_rebooker", "transfer_to_user"],
        ["rebook", "transfer_to_desk", "transfer_to_user"],
    ]
    assert {request.body["tool_choice"] for request in openai_server.requests} == {"auto"}

    answer = HandoffMessage(source="user", target="rebooker", content="The code is FX7.")
    again = await goes_on_alike(
        team,
        support,
        openai_server,
        Reply(calls=[Call(name="rebook", arguments={"code": "FX7"}, id="c3")]),
        to("desk", "c4"),
        Reply(text="You are on the later ferry. TERMINATE"),
        task=answer,
    )

    assert again.trace == [
        ("HandoffMessage", "user", "rebooker"),
        *calls_tools("rebooker"),
        *hands_off("rebooker", "desk"),
        ("TextMessage", "desk"),
    ]
    assert again.stop_reason == "Text 'TERMINATE' mentioned"
    of_rebooker, _, of_desk = conversations(openai_server)[-3:]
    assert of_rebooker == [
        f"system: {REBOOKER}",
        f"user[user]: {TASK}",
        f"user[desk]: {transferred('rebooker')}",
        "assistant calls transfer_to_user({})",
        f"tool: {transferred('user')}",
        "user[user]: The code is FX7.",
    ]
    assert of_desk == [
        f"system: {DESK}",
        f"user[user]: {TASK}",
        "assistant calls transfer_to_rebooker({})",
        f"tool: {transferred('rebooker')}",
        f"user[rebooker]: {transferred('user')}",
        "user[user]: The code is FX7.",
        "user[rebooker]: Ticket FX7 was rebooked.",
        f"user[rebooker]: {transferred('desk')}",
    ]


async def test_the_customer_is_asked_as_often_as_needed(openai_server, model):
    openai_server.script(to("user", "c1"), to("user", "c2"), Reply(text="Goodbye. TERMINATE"))
    team = support(model)
    run = await watch(team.run_stream(task=TASK))

    replies = iter(["Tomorrow.", "At noon."])
    asked = []
    while run.stop_reason and run.stop_reason.startswith("Handoff to user"):
        asked.append(run.items[-1].source)
        task = HandoffMessage(source="user", target=asked[-1], content=next(replies))
        run = await watch(team.run_stream(task=task))

    assert asked == ["desk", "desk"]
    assert run.trace == [("HandoffMessage", "user", "desk"), ("TextMessage", "desk")]


# Research: a planner who delegates, and three who report back.


async def rainfall(town: str) -> dict[str, str]:
    """Rainfall figures of a town."""
    return {"town": town, "millimetres": "640"}


async def headlines(town: str) -> list[str]:
    """Headlines about the weather of a town."""
    return [f"{town} is dry", "A wet June"]


PLANNER = "You plan; hand each step to one agent. Say TERMINATE when the report is there."


def research(model) -> Swarm:
    return Swarm(
        [
            AssistantAgent(
                "planner",
                model,
                handoffs=["statistician", "journalist", "author"],
                system_message=PLANNER,
            ),
            AssistantAgent(
                "statistician",
                model,
                handoffs=["planner"],
                tools=[rainfall],
                system_message="You know the figures.",
            ),
            AssistantAgent(
                "journalist",
                model,
                handoffs=["planner"],
                tools=[headlines],
                system_message="You read the news.",
            ),
            AssistantAgent(
                "author", model, handoffs=["planner"], system_message="You write the report."
            ),
        ],
        termination_condition=TextMentionTermination("TERMINATE"),
    )


async def test_research_runs_by_itself_until_the_planner_ends_it(openai_server, model):
    openai_server.script(
        to("statistician", "c1"),
        Reply(calls=[Call(name="rainfall", arguments={"town": "Ulm"}, id="c2")]),
        to("planner", "c3"),
        to("journalist", "c4"),
        Reply(calls=[Call(name="headlines", arguments={"town": "Ulm"}, id="c5")]),
        to("planner", "c6"),
        to("author", "c7"),
        Reply(text="Ulm had a dry year."),
        to("planner", "c8"),
        Reply(text="The report is there. TERMINATE"),
    )
    team = research(model)

    run = await watch(team.run_stream(task="Report on the rain in Ulm."))

    assert run.trace == [
        ("TextMessage", "user"),
        *hands_off("planner", "statistician"),
        *calls_tools("statistician"),
        *hands_off("statistician", "planner"),
        *hands_off("planner", "journalist"),
        *calls_tools("journalist"),
        *hands_off("journalist", "planner"),
        *hands_off("planner", "author"),
        ("TextMessage", "author"),
        *hands_off("author", "planner"),
        ("TextMessage", "planner"),
    ]
    assert run.stop_reason == "Text 'TERMINATE' mentioned"
    assert [request.tools for request in openai_server.requests] == [
        ["transfer_to_statistician", "transfer_to_journalist", "transfer_to_author"],
        ["rainfall", "transfer_to_planner"],
        ["rainfall", "transfer_to_planner"],
        ["transfer_to_statistician", "transfer_to_journalist", "transfer_to_author"],
        ["headlines", "transfer_to_planner"],
        ["headlines", "transfer_to_planner"],
        ["transfer_to_statistician", "transfer_to_journalist", "transfer_to_author"],
        ["transfer_to_planner"],
        ["transfer_to_planner"],
        ["transfer_to_statistician", "transfer_to_journalist", "transfer_to_author"],
    ]
    of_author = conversations(openai_server)[7]
    assert of_author == [
        "system: You write the report.",
        "user[user]: Report on the rain in Ulm.",
        f"user[planner]: {transferred('statistician')}",
        "user[statistician]: {'town': 'Ulm', 'millimetres': '640'}",
        f"user[statistician]: {transferred('planner')}",
        f"user[planner]: {transferred('journalist')}",
        "user[journalist]: ['Ulm is dry', 'A wet June']",
        f"user[journalist]: {transferred('planner')}",
        f"user[planner]: {transferred('author')}",
    ]

    again = await goes_on_alike(
        team,
        research,
        openai_server,
        to("author", "c9"),
        Reply(text="Shorter: dry."),
        to("planner", "c10"),
        Reply(text="TERMINATE"),
        task="Shorter, please.",
    )
    assert again.trace == [
        ("TextMessage", "user"),
        *hands_off("planner", "author"),
        ("TextMessage", "author"),
        *hands_off("author", "planner"),
        ("TextMessage", "planner"),
    ]


async def test_hand_offs_are_made_one_at_a_time_by_a_client_without_parallel_calls(openai_server):
    async with connected(openai_server.url, parallel_tool_calls=False) as model:
        openai_server.script(Reply(text="TERMINATE"))
        await support(model).run(task=TASK)
    assert openai_server.requests[0].body["parallel_tool_calls"] is False
