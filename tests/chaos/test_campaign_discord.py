"""Discord in a campaign, as its people see it."""

from __future__ import annotations

from adapters.discord.testing import DiscordSimulator
from tests.adapters.discord.simulator.sockets import Socket
from tests.chaos.campaign.clock import MovedClock
from tests.chaos.campaign.discord import DiscordPlatform
from tests.chaos.campaign.plan import Say


async def test_only_what_a_session_was_told_before_its_deletion_may_be_worked_on() -> None:
    async with DiscordSimulator() as discord:
        platform = DiscordPlatform(discord, MovedClock())

        async def says_and_deletes(n: int) -> None:
            assert await platform.say(Say(n, "ann", "general", n), f"m{n:04}v1", patience=0)
            await platform.delete(n)

        await says_and_deletes(1)
        async with Socket(discord) as killed:
            session = (await killed.identify())["session_id"]
            await says_and_deletes(2)
        await discord.until(lambda: platform.gone)
        await says_and_deletes(3)
        assert [platform.told_first(n) for n in (1, 2, 3)] == [False, True, False]
        async with Socket(discord) as fresh:
            await fresh.identify()
        await discord.until(lambda: platform.gone)
        assert not platform.told_first(3)  # a new session is told nothing of before
        async with Socket(discord, discord.gateway.resume_url) as again:
            await again.resume(session, 2)
            await discord.until(lambda: discord.gateway.resumes)
            assert [platform.told_first(n) for n in (1, 2, 3)] == [False, True, True]
