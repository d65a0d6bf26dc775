"""The example on a literature review: two searches and a report."""

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.conditions import TextMentionTermination
from teams.tools import FunctionTool
from tests.fakes.openai_script import Call, Reply
from tests.guide.harness import conversations, goes_on_alike, watch

TASK = "A review of what is written about bees."


def search_web(query: str, results: int = 2) -> list[dict[str, str]]:
    return [{"title": f"{query} {number}", "link": f"page-{number}"} for number in range(results)]


def search_papers(query: str, results: int = 2) -> list[dict[str, str]]:
    return [{"title": f"On {query}", "year": "1911"}][:results]


def review(model) -> RoundRobinGroupChat:
    web = FunctionTool(search_web, description="Search the web.")
    papers = FunctionTool(search_papers, description="Search for papers.")
    return RoundRobinGroupChat(
        [
            AssistantAgent("web_searcher", model, tools=[web], system_message="You search pages."),
            AssistantAgent(
                "paper_searcher", model, tools=[papers], system_message="You search for papers."
            ),
            AssistantAgent(
                "reporter", model, system_message="You write the review, then TERMINATE."
            ),
        ],
        termination_condition=TextMentionTermination("TERMINATE"),
    )


async def test_a_review_is_written_from_two_searches(openai_server, model):
    openai_server.script(
        Reply(calls=[Call(name="search_web", arguments={"query": "bees"}, id="c1")]),
        Reply(calls=[Call(name="search_papers", arguments={"query": "bees"}, id="c2")]),
        Reply(text="Much is written about bees. TERMINATE"),
    )
    team = review(model)

    run = await watch(team.run_stream(task=TASK))

    assert run.trace == [
        ("TextMessage", "user"),
        ("ToolCallRequestEvent", "web_searcher"),
        ("ToolCallExecutionEvent", "web_searcher"),
        ("ToolCallSummaryMessage", "web_searcher"),
        ("ToolCallRequestEvent", "paper_searcher"),
        ("ToolCallExecutionEvent", "paper_searcher"),
        ("ToolCallSummaryMessage", "paper_searcher"),
        ("TextMessage", "reporter"),
    ]
    assert run.stop_reason == "Text 'TERMINATE' mentioned"
    assert [request.tools for request in openai_server.requests] == [
        ["search_web"],
        ["search_papers"],
        [],
    ]
    assert conversations(openai_server)[-1] == [
        "system: You write the review, then TERMINATE.",
        f"user[user]: {TASK}",
        "user[web_searcher]: [{'title': 'bees 0', 'link': 'page-0'}, "
        "{'title': 'bees 1', 'link': 'page-1'}]",
        "user[paper_searcher]: [{'title': 'On bees', 'year': '1911'}]",
    ]

    again = await goes_on_alike(
        team,
        review,
        openai_server,
        Reply(text="TERMINATE"),
        task="Thank you.",
    )
    assert again.trace == [("TextMessage", "user"), ("TextMessage", "web_searcher")]
