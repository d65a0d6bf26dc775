"""Messages as they reach the team, with names for ids."""

from __future__ import annotations

import pytest

from adapters.slack.simulator.settings import AppSettings
from adapters.slack.testing import SlackSimulator
from tests.adapters.slack.hosting import hosted


async def told(text: str, app: AppSettings | None = None) -> str:
    async with SlackSimulator(app, rates=False) as slack, hosted(slack) as run:
        slack.user_group("crew", slack.person("bob"))
        slack.add_channel("layoffs", "group", members=[slack.person("bob")])
        await slack.person("ann").asks("general", text)
        [taken] = await run.taken(1)
        return taken.given


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<#C0GENERAL> and <#C0GENERAL|>", "#general and #general"),
        ("<!subteam^S0CREW> and @bob", "@crew and @bob"),
        ("<#C0NOWHERE> <!subteam^S0NONE>", "#C0NOWHERE @S0NONE"),
        ("&lt;#C0GENERAL&gt;", "<#C0GENERAL>"),
        ("<#C0LAYOFFS> <#C0LAYOFFS|>", "#C0LAYOFFS #C0LAYOFFS"),
    ],
)
async def test_names_stand_for_ids(text: str, shown: str) -> None:
    assert await told(text) == shown


async def test_a_name_that_the_app_may_not_know_stays_an_id() -> None:
    scopes = AppSettings().scopes - {"usergroups:read", "channels:read"}
    app = AppSettings(scopes=scopes)
    text = "<#C0GENERAL> <!subteam^S0CREW>"
    assert await told(text, app) == "#C0GENERAL @S0CREW"
