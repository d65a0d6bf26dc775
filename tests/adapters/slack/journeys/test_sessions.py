"""Sessions, their titles and the Stop button, through the whole adapter."""

import asyncio
from dataclasses import replace
from pathlib import Path

from adapters.slack.simulator.state import Message
from adapters.slack.testing import SlackSimulator
from gateway.app.operator import owner_status
from gateway.store.units import threads
from tests.adapters.slack.serving import ServedSlack, served
from tests.fakes.scripted_model import ScriptedModel

RENAME = "agents.sessions.rename"


def title(slack: SlackSimulator, asked: Message) -> str:
    session = slack.session("general", asked)
    return session.title if session else ""


async def answered(run: ServedSlack, asked: Message, times: int = 1) -> None:
    def rests() -> bool:
        session = run.slack.session("general", asked)
        told = str([each.text for each in run.slack.messages("general", asked)])
        return session is not None and session.status == "active" and told.count("fine") == times

    await run.until(rests)


async def test_a_threads_title_comes_with_its_first_status(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        asked = await slack.person("ann").asks("general", "about bells")
        await answered(run, asked)
        about = [call for call in slack.calls() if call.arguments.get("thread_ts") == asked.ts]
        methods = [call.method for call in about]
        first = methods.index("agents.sessions.setStatus")
        assert "chat.startStream" not in methods[:first]  # it would make the session untitled
        assert about[first].arguments["title"] == "about bells"
        assert title(slack, asked) == "about bells"
        assert not [call for call in slack.calls() if call.error]


async def test_a_title_given_in_slack_outlives_a_new_conversation(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        ann = slack.person("ann")
        asked = await ann.asks("general", "about bells")
        await answered(run, asked)
        await ann.renames("general", asked, "Mine")
        await run.settled()
        assert [each.title for each in await run.store.run(threads.threads)] == ["Mine"]
        await ann.says("general", "!new", thread=asked)
        await run.accepted(2)
        await ann.asks("general", "about whistles", thread=asked)
        await answered(run, asked, 2)
        assert {each.title for each in await run.store.run(threads.threads)} == {
            "Mine",
            "about whistles",
        }
        assert title(slack, asked) == "Mine"
        assert not slack.calls(RENAME)


async def test_a_title_given_in_parley_replaces_the_one_in_slack(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        asked = await slack.person("ann").asks("general", "about bells")
        await answered(run, asked)
        (thread,) = await run.store.run(threads.threads)
        await run.gateway.client.rename_thread(thread.id, "Plums")
        await run.until(lambda: title(slack, asked) == "Plums")


async def test_a_models_title_replaces_the_first_message_but_not_a_persons(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        go_on = asyncio.Event()
        run.teams.titler = ScriptedModel([go_on, "<!channel> *Bells* of the town"], "Whistles")
        ann = slack.person("ann")
        asked = await ann.asks("general", "about bells")
        await answered(run, asked)  # nobody waits for the title
        assert title(slack, asked) == "about bells"
        go_on.set()
        await run.until(lambda: title(slack, asked) == "Bells of the town")
        assert len(slack.calls(RENAME)) == 1
        await ann.renames("general", asked, "Mine")
        await run.settled()
        await ann.asks("general", "and now?", thread=asked)
        await answered(run, asked, 2)
        assert [each.title for each in await run.store.run(threads.threads)] == ["Mine"]
        assert title(slack, asked) == "Mine"
        assert not [call for call in slack.calls() if call.error]


async def test_status_says_that_people_have_no_stop_button(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack:
        app = slack.world.app
        await slack.use_app(replace(app, events=app.events - {"agent_session_stopped"}))
        async with served(slack, tmp_path) as run:
            asked = await slack.person("ann").asks("general", "hello")
            await answered(run, asked)
            told = (await owner_status(run.store))[1]
            assert "slack: people in T0HOME see no Stop button: subscribe the app to " in told
