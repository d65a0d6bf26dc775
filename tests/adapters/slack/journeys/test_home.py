"""People's own pages, Slack's Home tab, through the whole adapter."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from adapters.slack.outbound.home import OFF
from adapters.slack.testing import HOME, AppSettings, Person, Refusal, ServerError, SlackSimulator
from gateway.adapter import NOT_ALLOWED
from gateway.app.operator import owner_status
from gateway.delivery import home_pages
from gateway.registry import ToolRule
from gateway.store.units import deletion
from tests.adapters.slack.journeys.test_answers import card
from tests.adapters.slack.journeys.test_false_alarms import ASKS
from tests.adapters.slack.serving import ServedSlack, served
from tests.fakes.slack_calls import sdk_complaints
from tests.gateway.scripted import calls, solo

ON: dict[str, Any] = {"home": True}
QUESTION = '{"question": "Which *day* <!channel>?", "options": ["Mon", "Tue"]}'
BOSS = "boss"


def refund(amount: int) -> str:
    """Pay money back."""
    return f"paid {amount}"


def page(person: Person) -> str:
    """All that stands on a person's page."""
    return str(person.home.body["blocks"]) if person.home else ""


def approving(*answers: Any) -> dict[str, Any]:
    return {
        "make": partial(solo, tools=[refund]),
        "answers": [calls("refund", refund='{"amount": 4711}'), *answers],
        "rules": {"refund": ToolRule(action="ask")},
        "settings": ON,
    }


async def opened(run: ServedSlack, person: Person, words: str = "Ask the team") -> None:
    await person.opens_app("home")
    await run.until(lambda: words in page(person))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages may be shown again soon."""
    monkeypatch.setattr(home_pages, "EVERY", 0.2)
    monkeypatch.setattr(home_pages, "LOOK_EVERY", 0.02)


async def test_a_button_at_home_decides_and_the_card_in_the_thread_says_so(
    tmp_path: Path, quick: None
) -> None:
    async with (
        SlackSimulator(rates=False) as slack,
        served(slack, tmp_path, **approving("Refunded.")) as run,
    ):
        ann, boss = slack.person("ann"), slack.person(BOSS)
        asked = await ann.asks("general", "refund it")
        await card(run, "general", "Approve")
        await opened(run, boss, "4711")
        await opened(run, ann)
        assert "4711" not in page(ann)  # operators decide, and she is none
        assert "refund it" not in page(boss)  # he has not asked there
        await boss.clicks_at_home("Approve")
        await run.until(lambda: "Refunded." in str(slack.messages("general", asked)))
        assert "Approved by boss" in str(slack.messages("general", asked))
        await run.until(lambda: "4711" not in page(boss))
        assert "No request waits for you." in page(boss)
        await opened(run, ann, "refund it")
        assert sdk_complaints(slack.calls()) == []
        assert not [call for call in slack.calls() if call.error]


async def test_each_sees_their_own_questions_threads_and_usage_alone(
    tmp_path: Path, quick: None
) -> None:
    answers = [calls("ask_human", ask_human=QUESTION), "fine", "Noted."]
    async with (
        SlackSimulator(rates=False) as slack,
        served(slack, tmp_path, partial(solo, tools=[ASKS]), answers=answers, settings=ON) as run,
    ):
        ann, bob, boss = slack.person("ann"), slack.person("bob"), slack.person(BOSS)
        await ann.tells("my <secret> *plan*")
        await run.until(lambda: "Tue" in str(slack.messages(ann.direct)))
        await bob.asks("general", "about bells")
        await run.until(lambda: "fine" in str(slack.messages("general")))
        for each in (ann, bob, boss):
            await opened(run, each)
        await run.until(lambda: "Tue" in page(ann))
        assert "&lt;!channel&gt;" in page(ann)
        assert "my secret \u2217plan\u2217" in page(ann)
        assert "waits for an answer" in page(ann)
        for other in (bob, boss):
            assert "secret" not in page(other)
            assert "Tue" not in page(other)
        assert "about bells" in page(bob)
        assert "about bells" not in page(ann) + page(boss)
        assert "in 1 turn" in page(ann)
        assert "Everybody" not in page(boss)
        await ann.clicks_at_home("Tue")
        await run.until(lambda: "Noted." in str(slack.messages(ann.direct)))
        await run.until(lambda: "Tue" not in page(ann))


async def test_whoever_may_not_write_sees_that_and_nothing_else(tmp_path: Path) -> None:
    route = {"adapter": "slack", "channels": ["*"], "dm": True, "users": ["U0ANN"]}
    async with (
        SlackSimulator(rates=False) as slack,
        served(slack, tmp_path, **approving(), routes=[route]) as run,
    ):
        ann, eve = slack.person("ann"), slack.person("eve")
        await ann.asks("general", "refund it")
        await card(run, "general", "Approve")
        await opened(run, eve, NOT_ALLOWED)
        assert "Approve" not in page(eve)
        assert "solo" not in page(eve)
        boss = slack.person(BOSS)
        await opened(run, boss, "4711")
        assert boss.home is not None
        slack.world.workspaces[HOME].homes[eve.id] = boss.home
        await eve.clicks_at_home("Approve")  # as if she were shown his page
        await run.until(lambda: NOT_ALLOWED in str(slack.messages(eve.direct)))
        assert "Approve" in str(slack.messages("general"))


async def test_a_page_is_shown_once_in_half_a_minute_and_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with SlackSimulator(rates=False) as slack:
        boss, ann = slack.person(BOSS), slack.person("ann")
        async with served(slack, tmp_path, **approving()) as run:
            await opened(run, boss)
            for _ in range(5):
                await boss.opens_app("home")
            await run.settled()
            await ann.asks("general", "refund it")
            await card(run, "general", "Approve")
            assert len(slack.calls("views.publish")) == 1
        monkeypatch.setattr(home_pages, "EVERY", 0.2)
        async with served(slack, tmp_path, **approving()) as run:
            await run.until(lambda: "4711" in page(boss))
            assert {call.arguments["user_id"] for call in slack.calls("views.publish")} == {boss.id}
            await run.store.run(deletion.delete_person, f"slack:T0HOME:{boss.id}")
            marks = await run.gateway.marks.read("slack")
            assert not [name for name in marks if boss.id in name]


@pytest.mark.parametrize("fault", [Refusal("not_enabled"), ServerError(503), Refusal("fatal")])
async def test_a_page_that_is_refused_fails_no_turn(
    tmp_path: Path, quick: None, fault: Any
) -> None:
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path, settings=ON) as run:
        ann = slack.person("ann")
        slack.fail("views.publish", fault)
        await ann.opens_app("home")
        await run.until(lambda: slack.calls("views.publish"))
        asked = await ann.asks("general", "hello")
        await run.until(lambda: "fine" in str(slack.messages("general", asked)))
        await opened(run, ann)
        if fault == Refusal("not_enabled"):
            assert OFF in str(await owner_status(run.store))


async def test_without_the_setting_there_is_no_page(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        ann = slack.person("ann")
        await ann.opens_app("home")
        await run.settled()
        asked = await ann.asks("general", "hello")
        await run.until(lambda: "fine" in str(slack.messages("general", asked)))
        assert ann.home is None


async def test_an_app_without_the_tab_has_none_to_open() -> None:
    async with SlackSimulator(AppSettings(home=False)) as slack:
        with pytest.raises(LookupError):
            await slack.person("ann").opens_app("home")
