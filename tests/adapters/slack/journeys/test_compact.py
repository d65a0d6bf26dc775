"""`!compact` on Slack."""

from pathlib import Path

from adapters.slack.testing import SlackSimulator
from gateway.sessions.compaction import NOTHING
from tests.adapters.slack.desk import advancing
from tests.adapters.slack.running import running
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.summarising import SUMMARY, summarising

MARK = "2 earlier messages are summarised in what solo reads."


async def test_a_person_lets_the_agent_summarise(tmp_path: Path) -> None:
    model = ScriptedModel("Nice.", "Hm.", SUMMARY, "Reinhard.")
    async with (
        SlackSimulator() as slack,
        running(slack, tmp_path, lambda: summarising(model)) as run,
        advancing(slack),
    ):
        asked = await run.ask("alice", "The fox is called Reinhard.")
        await slack.until(lambda: len(run.messages(asked)) == 1 and run.finished(asked))
        await run.say("alice", "!compact", asked)
        await slack.until(lambda: NOTHING in run.messages(asked)[-1].text)
        await run.say("alice", "And?", asked)
        await slack.until(lambda: "Hm." in run.messages(asked)[-1].text and run.finished(asked))
        await run.say("alice", "!compact names of foxes", asked)
        await slack.until(lambda: MARK in run.messages(asked)[-1].text and run.finished(asked))
        await run.say("alice", "Its name?", asked)
        await slack.until(lambda: "Reinhard." in run.messages(asked)[-1].text)
        await slack.until(lambda: run.finished(asked))
    assert "names of foxes" in str(model.requests[2]["messages"])
    assert SUMMARY in str(model.messages())
