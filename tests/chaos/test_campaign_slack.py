"""Slack in a campaign, as its people see it."""

from __future__ import annotations

from aiohttp import ClientSession

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


async def test_only_what_was_told_while_its_deletion_may_be_unheard_may_be_worked_on() -> None:
    clock = MovedClock()
    async with SlackSimulator(clock=clock, rates=False) as slack, ClientSession() as session:
        platform = SlackPlatform(slack, clock)
        for n in (1, 2):
            assert await platform.say(Say(n, "ann", "direct", n), f"m{n:04}v1", patience=0)
            await platform.delete(n)
        first, first_gone, second, second_gone = slack.deliveries
        assert not platform.told_first(1)  # nobody was told

        async def connect() -> None:
            slack.sockets.abort()
            await session.ws_connect(f"{slack.url}/link/?ticket={slack.sockets.ticket()}")
            await slack.until(lambda: slack.sockets.live)

        deliveries = slack.world.deliveries
        await connect()
        for delivery in (first_gone, second_gone, first):
            deliveries.retry(delivery)
        assert not platform.told_first(1)  # after its deletion, through one connection
        await connect()
        deliveries.ack(first_gone.id, None, "")
        for delivery in (first, second):
            deliveries.retry(delivery)
        assert not platform.told_first(1)  # after its deletion was acknowledged
        assert platform.told_first(2)  # through another connection than its deletion
