"""The example on travel planning: four roles, one plan."""

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.conditions import TextMentionTermination
from tests.fakes.openai_script import Reply
from tests.guide.harness import conversations, goes_on_alike, watch

TASK = "Two days in Ghent."
ROLES = {
    "planner": "You plan the days.",
    "local": "You know the places that no guide book names.",
    "interpreter": "You say what to know about the language.",
    "summary": "You put everything together, and TERMINATE with the whole plan.",
}


def travel_agency(model) -> RoundRobinGroupChat:
    return RoundRobinGroupChat(
        [
            AssistantAgent(name, model, description=role, system_message=role)
            for name, role in ROLES.items()
        ],
        termination_condition=TextMentionTermination("TERMINATE"),
    )


async def test_each_role_adds_to_the_plan(openai_server, model):
    openai_server.script(
        Reply(text="Castle, then cathedral."),
        Reply(text="Eat by the canal."),
        Reply(text="Say goeiedag."),
        Reply(text="Castle, canal, cathedral. TERMINATE"),
    )
    team = travel_agency(model)

    run = await watch(team.run_stream(task=TASK))

    assert run.trace == [("TextMessage", name) for name in ("user", *ROLES)]
    assert run.stop_reason == "Text 'TERMINATE' mentioned"
    assert conversations(openai_server)[-1] == [
        f"system: {ROLES['summary']}",
        f"user[user]: {TASK}",
        "user[planner]: Castle, then cathedral.",
        "user[local]: Eat by the canal.",
        "user[interpreter]: Say goeiedag.",
    ]
    assert [request.tools for request in openai_server.requests] == [[]] * 4

    again = await goes_on_alike(
        team,
        travel_agency,
        openai_server,
        Reply(text="Three days: Bruges, too. TERMINATE"),
        task="Make it three days.",
    )
    assert again.trace == [("TextMessage", "user"), ("TextMessage", "planner")]
