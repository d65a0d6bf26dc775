"""The mark below answers that were cut at the token limit."""

from pathlib import Path

import pytest

from adapters.slack.testing import SlackSimulator
from gateway.events import MARKS
from tests.adapters.slack.desk import advancing
from tests.adapters.slack.running import SlowModel, running
from tests.fakes.cut_answers import HALF, cut, writing
from tests.fakes.scripted_model import ScriptedModel

# On PostgreSQL simulated time overtakes the store, and the whole answer is posted at once.
NATIVE = pytest.param(True, marks=pytest.mark.sqlite, id="native stream")


@pytest.mark.parametrize("stream", [NATIVE, pytest.param(False, id="blocks")])
async def test_a_cut_answer_has_its_mark_below_the_text(tmp_path: Path, stream: bool) -> None:
    text = " ".join([HALF.strip()] * 40)
    async with (
        SlackSimulator() as slack,
        running(
            slack,
            tmp_path,
            lambda: writing(SlowModel(slack.clock, cut(text)), stream=stream),
        ) as run,
        advancing(slack),
    ):
        asked = await run.ask("alice", "Tell.")
        await slack.until(lambda: MARKS["cut"] in str(run.messages(asked)) and run.finished(asked))
        answer = run.messages(asked)[0]
    assert answer.text.index(text) < answer.text.index(MARKS["cut"])
    assert (answer.stream == "stopped") is stream
    (mark,) = [block for block in answer.blocks if MARKS["cut"] in str(block)]
    assert mark["type"] == "context"
    assert "feedback_buttons" not in str(answer.blocks)


async def test_its_button_lets_the_agent_go_on_in_a_new_message_below(tmp_path: Path) -> None:
    model = ScriptedModel(cut(), "queen.", cut(), "The end.")
    async with (
        SlackSimulator() as slack,
        running(slack, tmp_path, lambda: writing(model, stream=False)) as run,
        advancing(slack),
    ):
        asked = await run.ask("alice", "Tell.")
        await slack.until(lambda: len(run.messages(asked)) == 2 and run.finished(asked))
        half, offer = run.messages(asked)
        await run.say("alice", "!continue", asked)
        await slack.until(lambda: len(run.messages(asked)) == 3 and run.finished(asked))
        await slack.until(lambda: run.messages(asked)[1].buttons == ())
        again = run.messages(asked)
        await run.say("alice", "Tell.", asked)
        await slack.until(lambda: len(run.messages(asked)) == 5 and run.finished(asked))
        other = run.messages(asked)
        await run.say("alice", "And?", asked)
        await slack.until(lambda: len(run.messages(asked)) == 6 and run.finished(asked))
        await slack.until(lambda: run.messages(asked)[4].buttons == ())
    assert offer.buttons == ("Continue",)
    assert again[0] == half
    assert again[2].text.endswith("queen.")
    assert other[4].buttons == ("Continue",)
