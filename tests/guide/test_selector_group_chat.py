"""The page on selection: by a model, helped or replaced by functions."""

from collections.abc import Sequence

from teams import SelectorGroupChat
from teams.agents import AssistantAgent, UserProxyAgent
from teams.conditions import MaxMessageTermination, TextMentionTermination
from teams.messages import BaseAgentEvent, BaseChatMessage
from tests.fakes.openai_script import Call, Reply
from tests.guide.harness import calls_tools, connected, conversations, goes_on_alike, watch

Thread = Sequence[BaseAgentEvent | BaseChatMessage]

TASK = "Who rowed fastest in 1998, and by how much more than in 1997?"
PROMPT = "Roles:\n{roles}\n\nSo far:\n{history}\n\nChoose one of {participants}, planner first."
ROLES = {
    "planner": "Plans; to be asked first.",
    "searcher": "Searches the results.",
    "analyst": "Calculates.",
}


def search_results(query: str) -> str:
    """Search the results of the regatta."""
    return "1997: Ada, 50 strokes. 1998: Ada, 60 strokes."


def percentage(start: float, end: float) -> float:
    """By how many per cent something changed."""
    return (end - start) / start * 100


def participants(model) -> list:
    tools = {"searcher": [search_results], "analyst": [percentage]}
    return [
        AssistantAgent(
            name,
            model,
            description=description,
            tools=tools.get(name, []),
            system_message=f"You are the {name}.",
        )
        for name, description in ROLES.items()
    ]


def finished() -> TextMentionTermination | MaxMessageTermination:
    return TextMentionTermination("TERMINATE", sources=["planner"])


def research(model, **options) -> SelectorGroupChat:
    return SelectorGroupChat(
        participants(model),
        model_client=model,
        termination_condition=finished() | MaxMessageTermination(25),
        selector_prompt=PROMPT,
        allow_repeated_speaker=True,
        **options,
    )


SEARCHING = Reply(calls=[Call(name="search_results", arguments={"query": "1998"}, id="c1")])
CALCULATING = Reply(calls=[Call(name="percentage", arguments={"start": 50, "end": 60}, id="c2")])
FOUND = "1997: Ada, 50 strokes. 1998: Ada, 60 strokes."


def say(*texts: str) -> list[Reply]:
    return [Reply(text=text) for text in texts]


def prompt(history: str, names: Sequence[str] = tuple(ROLES)) -> list[str]:
    """The prompt of the model that selects."""
    roles = "\n".join(f"{name}: {ROLES[name]}" for name in names)
    listed = ", ".join(f'"{name}"' for name in names)
    return [
        f"system: Roles:\n{roles}\n\nSo far:\n{history}\n\nChoose one of [{listed}], planner first."
    ]


async def test_a_model_chooses_by_description_and_history(openai_server, model):
    openai_server.script(
        *say("planner", "searcher: results of both years", "searcher"),
        SEARCHING,
        *say("analyst"),
        CALCULATING,
        *say("planner", "Ada, by 20 per cent. TERMINATE"),
    )
    team = research(model)

    run = await watch(team.run_stream(task=TASK))

    assert run.trace == [
        ("TextMessage", "user"),
        ("TextMessage", "planner"),
        *calls_tools("searcher"),
        *calls_tools("analyst"),
        ("TextMessage", "planner"),
    ]
    assert run.stop_reason == "Text 'TERMINATE' mentioned"
    first = f"user: {TASK}"
    second = f"{first}\n\nplanner: searcher: results of both years"
    third = f"{second}\n\nsearcher: {FOUND}"
    asked = conversations(openai_server)
    assert asked[0::2] == [
        prompt(first),
        prompt(second),
        prompt(third),
        prompt(f"{third}\n\nanalyst: 20.0"),
    ]
    assert asked[5] == [
        "system: You are the analyst.",
        f"user[user]: {TASK}",
        "user[planner]: searcher: results of both years",
        f"user[searcher]: {FOUND}",
    ]
    assert [request.tools for request in openai_server.requests] == [
        *([], [], [], ["search_results"], [], ["percentage"], [], [])
    ]

    again = await goes_on_alike(
        team,
        research,
        openai_server,
        *say("planner", "It was Ada. TERMINATE"),
        task="Say it shorter.",
    )
    assert again.trace == [("TextMessage", "user"), ("TextMessage", "planner")]
    assert (
        "planner: Ada, by 20 per cent. TERMINATE\n\nuser: Say it shorter."
        in (conversations(openai_server)[-2][0])
    )


def planner_in_between(thread: Thread) -> str | None:
    return None if thread[-1].source == "planner" else "planner"


def research_with_a_function(model) -> SelectorGroupChat:
    return research(model, selector_func=planner_in_between)


async def test_a_function_chooses_and_may_leave_it_to_the_model(openai_server, model):
    openai_server.script(
        *say("searcher: both years", "searcher"),
        SEARCHING,
        *say("analyst: compare", "analyst"),
        CALCULATING,
        *say("Ada, 20 per cent. TERMINATE"),
    )
    team = research_with_a_function(model)

    run = await watch(team.run_stream(task=TASK))

    assert run.trace == [
        ("TextMessage", "user"),
        ("TextMessage", "planner"),
        *calls_tools("searcher"),
        ("TextMessage", "planner"),
        *calls_tools("analyst"),
        ("TextMessage", "planner"),
    ]
    assert len(openai_server.requests) == 7
    again = await goes_on_alike(
        team, research_with_a_function, openai_server, *say("TERMINATE"), task="Thanks."
    )
    assert again.trace == [("TextMessage", "user"), ("TextMessage", "planner")]


def who_comes_next(thread: Thread) -> list[str]:
    match thread[-1].source:
        case "user":
            return ["planner"]
        case "planner" if "analyst" in thread[-1].to_text():
            return ["analyst"]
        case "planner":
            return ["searcher", "analyst"]
        case _:
            return ["planner"]


def research_with_candidates(model) -> SelectorGroupChat:
    return research(model, candidate_func=who_comes_next)


async def test_a_function_narrows_the_choice_down(openai_server, model):
    openai_server.script(
        *say("Look for the results.", "searcher"),
        SEARCHING,
        *say("Now the analyst."),
        CALCULATING,
        *say("Ada, 20 per cent. TERMINATE"),
    )
    team = research_with_candidates(model)

    run = await watch(team.run_stream(task=TASK))

    assert run.trace == [
        ("TextMessage", "user"),
        ("TextMessage", "planner"),
        *calls_tools("searcher"),
        ("TextMessage", "planner"),
        *calls_tools("analyst"),
        ("TextMessage", "planner"),
    ]
    history = f"user: {TASK}\n\nplanner: Look for the results."
    assert conversations(openai_server)[1] == prompt(history, ["searcher", "analyst"])
    assert len(openai_server.requests) == 6
    again = await goes_on_alike(
        team, research_with_candidates, openai_server, *say("TERMINATE"), task="Thanks."
    )
    assert again.trace == [("TextMessage", "user"), ("TextMessage", "planner")]


def reviewed_by_a_human(thread: Thread) -> str | None:
    match thread[-1].source:
        case "planner":
            return "reader"
        case "reader" if "APPROVE" in thread[-1].to_text().upper():
            return None
        case _:
            return "planner"


async def test_a_human_approves_each_plan_before_it_is_carried_out(openai_server, model):
    answers = iter(["Both years, please.", "approve", "approve"])
    reader = UserProxyAgent("reader", description="Approves.", input_func=lambda _: next(answers))
    team = SelectorGroupChat(
        [*participants(model), reader],
        model_client=model,
        termination_condition=finished(),
        selector_prompt=PROMPT,
        selector_func=reviewed_by_a_human,
        allow_repeated_speaker=True,
    )
    openai_server.script(
        *say("searcher: 1998", "searcher: 1997 and 1998", "searcher"),
        SEARCHING,
        *say("It was Ada. TERMINATE"),
    )

    run = await watch(team.run_stream(task=TASK))

    asked = [("UserInputRequestedEvent", "reader"), ("TextMessage", "reader")]
    assert run.trace == [
        ("TextMessage", "user"),
        ("TextMessage", "planner"),
        *asked,
        ("TextMessage", "planner"),
        *asked,
        *calls_tools("searcher"),
        ("TextMessage", "planner"),
    ]
    assert conversations(openai_server)[1] == [
        "system: You are the planner.",
        f"user[user]: {TASK}",
        "assistant: searcher: 1998",
        "user[reader]: Both years, please.",
    ]


async def test_a_reasoning_model_plans_by_itself(openai_server):
    openai_server.models.add("o3-mini")
    openai_server.script(
        *say("searcher"), SEARCHING, *say("analyst"), CALCULATING, *say("searcher", "TERMINATE")
    )
    async with connected(openai_server.url, "o3-mini") as model:
        _, searcher, analyst = participants(model)
        team = SelectorGroupChat(
            [searcher, analyst],
            model_client=model,
            termination_condition=TextMentionTermination("TERMINATE"),
            selector_prompt="Choose one of {participants}:\n{roles}\n{history}",
            allow_repeated_speaker=True,
        )
        run = await watch(team.run_stream(task=TASK))
    assert run.trace == [
        ("TextMessage", "user"),
        *calls_tools("searcher"),
        *calls_tools("analyst"),
        ("TextMessage", "searcher"),
    ]
    assert conversations(openai_server)[0] == [
        'system: Choose one of ["searcher", "analyst"]:\nsearcher: Searches the results.\n'
        f"analyst: Calculates.\nuser: {TASK}"
    ]


async def test_without_repetition_the_last_speaker_is_no_candidate(openai_server, model):
    def pair(model) -> SelectorGroupChat:
        return SelectorGroupChat(
            participants(model)[:2], model_client=model, max_turns=3, selector_prompt=PROMPT
        )

    openai_server.script(*say("planner", "One.", "Two.", "Three."))
    run = await watch(pair(model).run_stream(task=TASK))
    assert [source for _, source in run.trace] == ["user", "planner", "searcher", "planner"]
    assert len(openai_server.requests) == 4


async def test_team_events_tell_who_was_chosen(openai_server, model):
    openai_server.script(*say("planner", "TERMINATE"))
    run = await watch(research(model, emit_team_events=True).run_stream(task=TASK))
    assert run.trace == [
        ("TextMessage", "user"),
        ("SelectSpeakerEvent", "SelectorGroupChatManager"),
        ("TextMessage", "planner"),
    ]
    assert run.items[1].content == ["planner"]
