"""Slack in a campaign, as its people see it."""

from __future__ import annotations

from adapters.slack.testing import SlackSimulator
from tests.chaos.campaign.clock import MovedClock
from tests.chaos.campaign.plan import Say
from tests.chaos.campaign.slack import SlackPlatform


async def test_people_write_on_below_a_message_that_slack_has_given_up_to_deliver() -> None:
    clock = MovedClock()
    async with SlackSimulator(clock=clock, rates=False) as slack:
        platform = SlackPlatform(slack, clock)
        assert await platform.say(Say(1, "ann", "general", 1), "m0001v1", patience=0)
        for seconds in (61.0, 301.0, 1.0):  # when Slack tries again
            platform.advance(seconds)
        assert await platform.say(Say(2, "ann", "general", 1), "m0002v1", patience=0.1)
