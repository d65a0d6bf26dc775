"""Turns end as they say: silent, or with a hidden word."""

from functools import partial

import pytest

from gateway.client import Answer
from gateway.events import InputRequested, MessageFinished, Notice, TextDelta
from gateway.registry import ToolRule
from gateway.sessions.turn import SILENT
from gateway.transcript import markdown
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.conditions import MaxMessageTermination, TextMentionTermination
from tests.gateway.scripted import ScriptedTeams, calls, ends, model, of, opened, turn, until


def once(client, **more):
    """A team of one agent that answers once."""
    return RoundRobinGroupChat([AssistantAgent("solo", client, **more)], max_turns=1)


@pytest.mark.parametrize("nothing", ["", " \n", "\u200b", "\x1b[0m", "\u2060"])
async def test_a_turn_without_a_word_says_so_and_can_be_tried_again(tmp_path, nothing):
    client = model(nothing, "fine", "", "better")
    async with opened(tmp_path, lambda: once(client)) as gateway:
        thread = (await gateway.client.create_thread()).id
        events = await turn(gateway, thread, "well?")
        assert [(each.text, each.command) for each in of(Notice, events)] == [(SILENT, "/retry")]
        assert (events[-1].outcome, events[-1].reason) == ("failed", SILENT)
        events = await turn(gateway, thread, "/retry")
        assert [each.text for each in of(MessageFinished, events)] == ["fine"]
        assert events[-1].outcome == "done"


async def test_a_turn_that_shows_a_tool_line_alone_is_not_silent(tmp_path):
    async def look() -> str:
        return ""

    client = model(calls("look"), calls("look"))
    agent = partial(once, client, tools=[look], reflect_on_tool_use=False)
    async with opened(tmp_path, agent) as gateway:
        thread = (await gateway.client.create_thread()).id
        for _ in range(2):
            events = await turn(gateway, thread, "look")
            assert (events[-1].outcome, of(Notice, events)) == ("done", [])


async def test_what_an_earlier_attempt_has_shown_is_no_silence(tmp_path):
    async def send() -> str:
        return "sent"

    client = model(calls("send"), "", "fine")
    team = partial(once, client, tools=[send], max_tool_iterations=2)
    teams = ScriptedTeams(team, rules={"send": ToolRule(action="ask")})
    async with opened(tmp_path, teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        [asked] = of(InputRequested, await turn(gateway, thread, "send it"))
        after = (await gateway.client.thread(thread)).last_seq
        await gateway.client.answer(asked.request, Answer(kind="approve"))
        events = await until(gateway, thread, ends, after)
        assert (events[-1].outcome, of(Notice, events)) == ("done", [])


@pytest.mark.parametrize("streams", [False, True])
async def test_the_word_for_the_team_is_not_shown_and_still_ends_it(tmp_path, streams):
    client = model("All is done.\n\nTERMINATE", "never")
    ending = TextMentionTermination("TERMINATE") | MaxMessageTermination(9)

    def team():
        agent = AssistantAgent("solo", client, model_client_stream=streams)
        return RoundRobinGroupChat([agent], termination_condition=ending)

    async with opened(tmp_path, team) as gateway:
        thread = (await gateway.client.create_thread()).id
        events = await turn(gateway, thread, "go")
        [said] = of(MessageFinished, events)
        assert (said.text, said.hidden) == ("All is done.", "\n\nTERMINATE")
        assert said.text.startswith("".join(each.text for each in of(TextDelta, events)))
        assert events[-1].outcome == "done"
        assert "All is done.\n\nTERMINATE" in markdown(await gateway.client.thread(thread), events)
        [listed] = await gateway.client.threads()
        assert "TERMINATE" not in listed.preview
    assert len(client.create_calls) == 1
