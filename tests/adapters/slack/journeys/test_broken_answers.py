"""Answers that broke off, and the next ones below them."""

from pathlib import Path

from adapters.slack.testing import SlackSimulator
from gateway.conversation import Attachment
from gateway.errors import SET_ASIDE
from gateway.events import BROKE_OFF
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.agents._set_aside import NO_FILES
from teams.base import Team
from teams.conditions import MaxMessageTermination
from teams.models import ContentRefused, ModelUnreachable
from tests.adapters.slack.desk import advancing
from tests.adapters.slack.running import running
from tests.fakes.scripted_model import ScriptedModel
from tests.gateway.content.test_attachments import png

HALF = "Half an answer that people saw "


def breaking(model: ScriptedModel) -> Team:
    agent = AssistantAgent("solo", model, model_client_stream=True)
    return RoundRobinGroupChat([agent], termination_condition=MaxMessageTermination(2))


async def test_the_next_answer_is_a_post_below_the_error(tmp_path: Path) -> None:
    breaks, whole = [HALF, "and ", ModelUnreachable("cut")], ["The whole answer."]
    model = ScriptedModel(breaks, whole, breaks, whole)
    async with (
        SlackSimulator() as slack,
        running(slack, tmp_path, lambda: breaking(model)) as run,
        advancing(slack),
    ):
        asked = await run.ask("alice", "first")
        await slack.until(lambda: len(run.messages(asked)) == 2 and run.finished(asked))
        half, error = run.messages(asked)
        await run.say("alice", "second", asked)
        await slack.until(lambda: len(run.messages(asked)) == 3 and run.finished(asked))
        again = run.messages(asked)
        await run.say("alice", "third", asked)
        await slack.until(lambda: len(run.messages(asked)) == 5 and run.finished(asked))
        broken = run.messages(asked)[3]
        await run.say("alice", "/retry", asked)
        await slack.until(lambda: BROKE_OFF not in run.messages(asked)[3].text)
        retried = run.messages(asked)[3]
    assert BROKE_OFF in broken.text
    assert retried.ts == broken.ts
    assert "The whole answer." in retried.text
    assert "Half an answer" in half.text
    assert BROKE_OFF in half.text
    assert [each.text for each in again[:2]] == [half.text, error.text]
    assert "The whole answer." in again[2].text
    assert BROKE_OFF not in again[2].text


async def test_a_refused_picture_is_left_out_when_people_try_again(tmp_path: Path) -> None:
    refused = ContentRefused("The image does not represent a valid image.")
    model = ScriptedModel(refused, ["I read it."], vision=True)
    async with (
        SlackSimulator() as slack,
        running(slack, tmp_path, lambda: breaking(model)) as run,
        advancing(slack),
    ):
        asked = await slack.person("alice").asks("general", "look")
        picture = Attachment(name="a.png", media_type="image/png", data=png())
        await run.say("alice", "look", asked, attachments=[picture])
        await slack.until(lambda: bool(run.messages(asked)))
        (error,) = run.messages(asked)
        await run.say("alice", "/retry", asked)
        await slack.until(lambda: "I read it." in str(run.messages(asked)[-1].text))
    assert SET_ASIDE in error.text
    assert error.buttons == ("Try again",)
    assert model.texts()[-1].endswith(f"look\n{NO_FILES}")
