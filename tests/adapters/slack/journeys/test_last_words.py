"""Turns without a word, and last words for the team alone."""

import asyncio
from pathlib import Path

import pytest

from adapters.slack.testing import SlackSimulator
from gateway.sessions.turn import SILENT
from tests.adapters.slack.desk import advancing
from tests.adapters.slack.journeys.test_cut_answers import NATIVE
from tests.adapters.slack.journeys.test_too_long import answers, narrow
from tests.adapters.slack.running import running
from tests.adapters.slack.serving import served
from tests.fakes.cut_answers import writing
from tests.fakes.narrow_model import NarrowModel
from tests.fakes.scripted_model import ScriptedModel

TEXT = " ".join(["All is done."] * 40)


async def test_a_turn_without_a_word_says_so_and_its_button_asks_again(tmp_path: Path) -> None:
    model = NarrowModel("", "Fine.", most=7_000)
    async with (
        SlackSimulator() as slack,
        served(slack, tmp_path, lambda _: narrow(model)) as run,
    ):
        ann = slack.person("ann")
        asked = await ann.asks("general", "Well?")
        await run.until(lambda: bool(answers(slack, asked)))
        await run.delivered()
        (offer,) = answers(slack, asked)
        await ann.clicks(offer.ts, "Try again")
        await run.until(lambda: "Fine." in str(answers(slack, asked)))
        await run.delivered()
        shown = answers(slack, asked)
    assert SILENT in offer.text
    assert offer.buttons == ("Try again",)
    assert shown[0].buttons == ()
    assert len(shown) == 2


@pytest.mark.parametrize("stream", [NATIVE, pytest.param(False, id="blocks")])
async def test_the_word_that_ends_the_work_never_reaches_slack(
    tmp_path: Path, stream: bool
) -> None:
    go = asyncio.Event()
    model = ScriptedModel([TEXT, "\n\nTERMINATE\n", go])
    async with (
        SlackSimulator() as slack,
        running(slack, tmp_path, lambda: writing(model, stream=stream)) as run,
        advancing(slack),
    ):
        asked = await run.ask("alice", "Do it.")
        if stream:
            await slack.until(lambda: "All is done." in str(run.messages(asked)))
        held = slack.clock.time()
        await slack.until(lambda: slack.clock.time() > held + 5)
        go.set()
        await slack.until(lambda: run.finished(asked))
        (answer,) = run.messages(asked)
        sent = slack.calls()
    assert answer.text.count("All is done.") == 40
    assert (answer.stream == "stopped") is stream
    assert "TERM" not in str(sent)
