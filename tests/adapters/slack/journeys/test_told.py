"""Words for people, and the names in them."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from adapters.slack.testing import SlackSimulator
from tests.adapters.slack.journeys.test_answers import ASK, BUTTON, Outbox, card
from tests.adapters.slack.journeys.test_false_alarms import ASKS
from tests.adapters.slack.serving import served
from tests.fakes.scripted_model import ScriptedModel
from tests.gateway.scripted import calls, solo


async def test_a_new_conversation_is_told_to_the_whole_thread(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        ann, bob = slack.person("ann"), slack.person("bob")
        asked = await ann.asks("general", "one")
        await run.until(lambda: "fine" in str(slack.messages("general", asked)))
        await bob.says("general", "!new", thread=asked)
        await run.until(
            lambda: "A new thread has started." in str(slack.messages("general", asked))
        )
        await run.delivered()
        assert not slack.private(bob)


async def test_grants_name_people(tmp_path: Path) -> None:
    async with (
        SlackSimulator(rates=False) as slack,
        served(slack, tmp_path, Outbox().team, answers=[calls("send"), "done"], rules=ASK) as run,
    ):
        ann, boss = slack.person("ann"), slack.person("boss")
        asked = await ann.asks("general", "send it")
        await boss.clicks(await card(run, "general", BUTTON), BUTTON)
        await run.until(lambda: "done" in str(slack.messages("general", asked)))
        await ann.says("general", "!grants", thread=asked)
        await run.until(lambda: slack.private(ann))
        told = slack.private(ann)[-1].text
        assert "ann" in told
        assert "approved by boss" in told
        assert not {ann.id, boss.id} & {*told.replace(",", " ").replace(";", " ").split()}
        assert "slack:" not in told


async def test_a_modal_shows_markdown_as_text(tmp_path: Path) -> None:
    question = calls("ask_human", ask_human='{"question": "Which **colour**, `red` or [blue](x)?"}')
    async with (
        SlackSimulator(rates=False) as slack,
        served(slack, tmp_path, partial(solo, tools=[ASKS]), answers=[question, "ok"]) as run,
    ):
        ann = slack.person("ann")
        await ann.asks("general", "paint it")
        await ann.clicks(await card(run, "general", "Answer"), "Answer")
        await run.until(lambda: ann.modal)
        assert ann.modal
        (asked, _) = ann.modal.body["blocks"]
        assert asked["text"]["type"] == "plain_text"
        assert asked["text"]["text"].startswith("Which colour, red or blue")


async def test_a_question_of_a_thread_of_several_people_that_is_deleted_offers_stop(
    tmp_path: Path,
) -> None:
    go_on = asyncio.Event()
    words = ScriptedModel(["It is ", go_on, "42."])
    team = partial(solo, words, model_client_stream=True)
    async with (
        SlackSimulator(rates=False) as slack,
        served(slack, tmp_path, lambda _: team()) as run,
    ):
        ann, bob = slack.person("ann"), slack.person("bob")
        asked = await ann.asks("general", "one")
        await words.asked()
        await bob.says("general", "me, too", thread=asked)
        await run.accepted(2)
        await ann.deletes(asked)
        await run.until(
            lambda: any("Stop" in each.buttons for each in slack.messages("general", asked))
        )
        go_on.set()
        await run.delivered()
