"""`/memory` on Discord: its sender alone sees it, wherever it is typed."""

from pathlib import Path

from adapters.discord.testing import DiscordSimulator
from gateway.inbound.replies import NO_MEMORY
from tests.adapters.discord.serving import (
    bot_texts,
    response_of,
    serving,
    thread_of,
    wait_commands,
    wait_delivered,
)
from tests.fakes.remembering_team import remembering_teams


async def test_a_person_alone_sees_and_deletes_what_is_remembered_of_them(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general = discord.channel("general")
    alice, bob = discord.person("alice"), discord.person("bob")
    async with serving(discord, tmp_path, remembering_teams()) as gateway:
        await wait_commands(discord)
        asked = await alice.mentions(general, "remember I like tea @everyone")
        await discord.until(lambda: asked.thread)
        thread = thread_of(asked)
        await discord.until(lambda: "number 1" in str(bot_texts(discord, thread)))
        await wait_delivered(gateway)
        shown = len(bot_texts(discord, thread))

        used = await alice.slash(thread, "memory")
        await discord.until(lambda: used.response and used.response.content)
        assert "`I like tea" in response_of(used).content
        assert used.response not in bob.sees(thread)
        of_bob = await bob.slash(thread, "memory")
        await discord.until(lambda: of_bob.response and of_bob.response.content)
        assert response_of(of_bob).content == NO_MEMORY

        said = await alice.says(thread, "!memory")
        await discord.until(lambda: "I like tea" in str(bot_texts(discord, alice.direct)))
        [told] = discord.calls("POST", f"/channels/{alice.direct.id}/messages")
        assert told.body["nonce"] == f"r{said.id}"  # Discord makes it once
        assert told.body["enforce_nonce"] is True
        assert len(bot_texts(discord, thread)) == shown

        gone = await alice.slash(thread, "memory", what="forget all")
        await discord.until(lambda: gone.response and gone.response.content)
        assert "deleted: 1." in response_of(gone).content
        again = await alice.slash(general, "memory")
        await discord.until(lambda: again.response and again.response.content)
        assert response_of(again).content == NO_MEMORY
    assert discord.pings == []
