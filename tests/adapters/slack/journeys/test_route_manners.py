"""Instructions, hidden thoughts and resets of a route, on Slack."""

from pathlib import Path

from adapters.slack.testing import SlackSimulator
from gateway.store.units import threads
from tests.adapters.discord.journeys.test_reasoning import thinking
from tests.adapters.slack.serving import EVERYWHERE, served
from tests.fakes.scripted_model import ScriptedModel, says

ROUTE = {
    **EVERYWHERE,
    "instructions": "Speak of cats.",
    "reasoning": "hide",
    "reset": {"idle_hours": 1e-9},
}


async def test_a_route_instructs_hides_thoughts_and_begins_anew(tmp_path: Path) -> None:
    model = ScriptedModel(says("One.", thought="Hm."), says("Two.", thought="Well."))
    async with (
        SlackSimulator(rates=False) as slack,
        served(slack, tmp_path, lambda _: thinking(model), routes=[ROUTE]) as run,
    ):
        ann = slack.person("ann")
        asked = await ann.asks("general", "first")
        await run.until(lambda: "One." in str(slack.messages("general", asked)))
        await run.delivered()
        await ann.says("general", "again", thread=asked)
        await run.until(lambda: "Two." in str(slack.messages("general", asked)))
        await run.delivered()
        first, second = await run.store.run(threads.threads)
        said = [each.text for each in slack.messages("general", asked)]
    assert first.id != second.id
    assert sum("does not remember the old one" in each for each in said) == 1
    assert "Hm." not in str(said)
    assert [str(each["messages"][0]["content"])[:14] for each in model.requests] == [
        "Speak of cats.",
        "Speak of cats.",
    ]
    assert "first" not in str(model.requests[1]["messages"])
