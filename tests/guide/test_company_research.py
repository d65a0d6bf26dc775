"""The example on company research: search, figures and report in order."""

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.tools import FunctionTool
from tests.fakes.openai_script import Call, Reply
from tests.guide.harness import conversations, goes_on_alike, watch

TASK = "Write a report about Acme Bikes."


def search_register(query: str, entries: int = 2, whole_page: bool = False) -> list[str]:
    """Search the register of companies."""
    return [f"{query}: entry {number}" for number in range(1, entries + 1)]


async def price_figures(symbol: str) -> dict[str, float | str]:
    """Figures about a share."""
    return {"symbol": symbol, "price": 12.5, "trend": "Upward"}


def company_research(model) -> RoundRobinGroupChat:
    search = FunctionTool(search_register, description="Search the register of companies.")
    figures = FunctionTool(price_figures, description="Figures about a share.")
    return RoundRobinGroupChat(
        [
            AssistantAgent(
                "searcher",
                model,
                tools=[search],
                description="Searches the register.",
                system_message="You search.",
            ),
            AssistantAgent(
                "analyst",
                model,
                tools=[figures],
                description="Knows the figures.",
                system_message="You analyse.",
            ),
            AssistantAgent(
                "reporter", model, description="Writes.", system_message="You write the report."
            ),
        ],
        max_turns=3,
    )


async def test_three_agents_work_in_sequence(openai_server, model):
    openai_server.script(
        Reply(calls=[Call(name="search_register", arguments={"query": "Acme Bikes"}, id="c1")]),
        Reply(calls=[Call(name="price_figures", arguments={"symbol": "ACME"}, id="c2")]),
        Reply(text="Acme Bikes is going up."),
    )
    team = company_research(model)

    run = await watch(team.run_stream(task=TASK))

    assert run.trace == [
        ("TextMessage", "user"),
        ("ToolCallRequestEvent", "searcher"),
        ("ToolCallExecutionEvent", "searcher"),
        ("ToolCallSummaryMessage", "searcher"),
        ("ToolCallRequestEvent", "analyst"),
        ("ToolCallExecutionEvent", "analyst"),
        ("ToolCallSummaryMessage", "analyst"),
        ("TextMessage", "reporter"),
    ]
    assert run.stop_reason == "Maximum number of turns 3 reached."
    assert [request.tools for request in openai_server.requests] == [
        ["search_register"],
        ["price_figures"],
        [],
    ]
    [schema] = openai_server.requests[0].body["tools"]
    assert schema["function"]["description"] == "Search the register of companies."
    assert schema["function"]["parameters"]["required"] == ["query"]
    assert schema["function"]["parameters"]["properties"]["entries"]["default"] == 2
    assert conversations(openai_server)[-1] == [
        "system: You write the report.",
        f"user[user]: {TASK}",
        "user[searcher]: ['Acme Bikes: entry 1', 'Acme Bikes: entry 2']",
        "user[analyst]: {'symbol': 'ACME', 'price': 12.5, 'trend': 'Upward'}",
    ]

    again = await goes_on_alike(
        team,
        company_research,
        openai_server,
        Reply(text="Nothing new."),
        Reply(text="Still up."),
        Reply(text="As before."),
        task="And today?",
    )
    assert again.trace == [
        ("TextMessage", "user"),
        ("TextMessage", "searcher"),
        ("TextMessage", "analyst"),
        ("TextMessage", "reporter"),
    ]
