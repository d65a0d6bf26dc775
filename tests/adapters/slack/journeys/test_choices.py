"""Questions with several answers, as menus."""

from functools import partial
from pathlib import Path

import pytest

from adapters.slack.testing import SlackSimulator
from gateway.inbound.answers import EMPTY, NOT_YOURS
from gateway.store.units import threads
from tests.adapters.slack.journeys.test_answers import card
from tests.adapters.slack.journeys.test_false_alarms import ASKS
from tests.adapters.slack.serving import EVERYWHERE, served
from tests.gateway.scripted import calls, solo

QUESTION = '{"question": "Which days?", "options": ["Mon", "Tue", "Wed"], "several": true}'


@pytest.mark.parametrize("words", ["", "3, mon"])
async def test_several_options_are_chosen_once_and_by_who_may(tmp_path: Path, words: str) -> None:
    answers = [calls("ask_human", ask_human=QUESTION), "Noted."]
    async with (
        SlackSimulator(rates=False) as slack,
        served(slack, tmp_path, partial(solo, tools=[ASKS]), answers=answers) as run,
    ):
        ann, bob = slack.person("ann"), slack.person("bob")
        asked = await ann.asks("general", "when?")
        shown = await card(run, "general", "Send")
        await bob.chooses(shown, "Mon", button="Send")
        await run.until(lambda: NOT_YOURS in str(slack.private(bob)))
        await ann.clicks(shown, "Send")
        await run.until(lambda: EMPTY in str(slack.private(ann)))
        if words:
            await ann.says("general", words, thread=asked)
        else:
            await ann.chooses(shown, "Wed", "Mon", button="Send")
        await run.until(lambda: "Noted." in str(slack.messages("general", asked)))
        await run.until(lambda: not any(each.buttons for each in slack.messages("general", asked)))
        assert "ann answered: Mon, Wed" in str(slack.messages("general", asked))
        await run.delivered()


@pytest.mark.parametrize("place", ["channel", "direct"])
async def test_a_team_is_chosen_from_a_menu(tmp_path: Path, place: str) -> None:
    route = {**EVERYWHERE, "team": "demo", "teams": ["other", "x" * 200]}
    async with (
        SlackSimulator(rates=False) as slack,
        served(slack, tmp_path, routes=[route]) as run,
    ):
        ann = slack.person("ann")
        if place == "direct":
            asked = await ann.tells("hello")
            await run.until(lambda: "fine" in str(slack.messages(ann.direct, asked)))
            await ann.tells("!team", thread=asked)
            await run.until(lambda: "begins a new thread" in str(slack.messages(ann.direct, asked)))
            shown = slack.messages(ann.direct, asked)[-1]
        else:
            asked = await ann.asks("general", "hello")
            await run.until(lambda: "fine" in str(slack.messages("general", asked)))
            await ann.says("general", "!team", thread=asked)
            await run.until(lambda: "begins a new thread" in str(slack.private(ann)))
            shown = slack.private(ann)[-1]
        assert "!team NAME" in str(shown)
        await ann.clicks(shown.ts, "other")
        where = ann.direct if place == "direct" else "general"
        await run.until(lambda: "the team 'other'" in str(slack.messages(where, asked)))
        await run.delivered()
        newest, *_ = await run.store.run(threads.threads)
        assert newest.team == "other"


async def test_above_the_threads_of_a_channel_there_is_no_menu(tmp_path: Path) -> None:
    route = EVERYWHERE | {"teams": ["demo", "other"]}
    async with (
        SlackSimulator(rates=False) as slack,
        served(slack, tmp_path, routes=[route]) as run,
    ):
        ann = slack.person("ann")
        await ann.asks("general", "!team")
        await run.until(lambda: "!team NAME" in str(slack.private(ann)))
        assert "static_select" not in str(slack.private(ann)[-1].blocks)
