"""Shards change hands, and no event is lost or doubled."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.discord.connection import shards
from adapters.discord.connection.connection import make_intents
from adapters.discord.connection.shard_state import ShardState, find_state
from adapters.discord.testing import DiscordSimulator
from gateway.backfill import work_list
from tests.adapters.discord.nodes import Cluster, Node, cluster
from tests.adapters.discord.serving import EVERYWHERE, config_of, put_state


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "LOOK_SECONDS", 0.02)


async def stored_state(served: Cluster) -> ShardState:
    return find_state(await served.gateway.marks.read("discord"), 0, 1, 0.0, bot_of(served))


def bot_of(served: Cluster) -> str:
    """The name of the bot with its intents, in the stored state."""
    return f"{served.discord.bot.id} {make_intents(config_of(served.discord)).value}"


async def wait_accepted(served: Cluster) -> None:
    """Wait until the stored session is at Discord's last event."""
    [session] = served.discord.gateway.open_sessions

    async def is_there() -> bool:
        kept = (await stored_state(served)).session
        return kept is not None and (kept.id, kept.sequence) == (session.id, session.sequence)

    while not await is_there():
        await served.discord.connected()


async def settle(served: Cluster) -> Node:
    """Start a node, and wait until its session is in the store."""
    node = await served.connect()
    await wait_accepted(served)
    return node


async def test_one_node_connects_a_shard_and_the_other_waits(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    async with cluster(discord, tmp_path) as served:
        first = await served.connect()
        second = await served.connect()
        assert (first.shards, second.shards) == (["discord shard 0 of 1"], [])
        assert discord.gateway.identifies == 1


async def test_what_was_said_between_two_holders_comes_by_a_resume_at_its_address(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice = discord.person("alice")
    async with cluster(discord, tmp_path) as served:
        first, second = await served.connect(), served.start()
        await alice.says(alice.direct, "before")
        await served.stored(1)
        await wait_accepted(served)
        served.kill(first)
        await alice.says(alice.direct, "between")
        await served.stored(2)
        await alice.says(alice.direct, "after")
        await served.stored(3)
        assert second.came == ["between", "after"]
        assert (discord.gateway.identifies, discord.gateway.resumes) == (1, 1)
        assert (await stored_state(served)).session is not None
    assert discord.calls("GET", "/channels/{channel_id}/messages") == []


async def test_what_was_received_but_not_stored_is_sent_again(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice = discord.person("alice")
    async with cluster(discord, tmp_path) as served:
        first, second = await served.connect(), served.start()
        await wait_accepted(served)
        first.door.clear()
        await alice.says(alice.direct, "one")
        await served.until(lambda: first.came == ["one"])
        served.kill(first)
        await served.stored(1)
        assert second.came == ["one"]
        assert served.messages() == ["one"]


async def test_what_is_sent_again_although_it_was_stored_is_taken_once(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice = discord.person("alice")
    async with cluster(discord, tmp_path) as served:
        first = await settle(served)
        stored = await stored_state(served)
        await alice.says(alice.direct, "once")
        await served.stored(1)
        served.kill(first)
        await put_state(served.gateway, stored, bot_of(served))  # not yet written
        second = await served.connect()
        await served.until(lambda: second.came == ["once"])
        await wait_accepted(served)
        assert served.messages() == ["once"]


async def test_a_drain_leaves_the_session_to_the_next_node(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice = discord.person("alice")
    async with cluster(discord, tmp_path) as served:
        first = await served.connect()
        await alice.says(alice.direct, "before")
        await served.stored(1)
        await wait_accepted(served)
        await alice.says(alice.direct, "at the end")
        await served.drain(first)
        assert served.leases == {}
        await alice.says(alice.direct, "between")
        second = await served.connect()
        await served.stored(3)
        assert served.messages() == ["before", "at the end", "between"]
        assert second.came[-1] == "between"
        assert (discord.gateway.identifies, discord.gateway.resumes) == (1, 1)


async def test_where_discord_has_lost_the_session_a_new_one_begins_and_the_history_is_read(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    async with cluster(discord, tmp_path) as served:
        first = await served.connect()
        await alice.mentions(general, "before")
        await served.stored(1)
        await wait_accepted(served)
        served.kill(first)
        discord.gateway.forget()
        await alice.mentions(general, "between")
        second = await served.connect()
        await served.stored(2)
        assert discord.gateway.identifies == 2
        await wait_accepted(served)
        served.kill(second)
        await alice.mentions(general, "again")
        third = await served.connect()
        await served.stored(3)
        assert served.messages() == ["before", "between", "again"]
        assert (third.shards, discord.gateway.identifies) == (["discord shard 0 of 1"], 2)


async def test_a_session_whose_events_discord_does_not_know_is_given_up(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    async with cluster(discord, tmp_path) as served:
        first = await settle(served)
        served.kill(first)
        state = await stored_state(served)
        assert state.session is not None
        unknown = replace(state.session, sequence=900 + state.session.sequence)
        await put_state(served.gateway, replace(state, session=unknown), bot_of(served))
        await served.connect()
        assert (discord.gateway.identifies, discord.gateway.resumes) == (2, 0)


@pytest.mark.parametrize("how", ["lost", "cut off", "cut off in the midst of a question"])
async def test_a_node_without_its_lease_leaves_at_once(
    how: str, discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice = discord.person("alice")
    async with cluster(discord, tmp_path) as served:
        first, second = await served.connect(), served.start()
        await wait_accepted(served)
        if how == "lost":
            served.leases["discord shard 0 of 1"] = second
        else:
            if how != "cut off":
                first.answers.clear()
                await served.until(lambda: first.asked)
            first.cut_off = True
            await served.until(lambda: not discord.gateway.open_sessions)
            await first.release("discord shard 0 of 1")
        await served.until(lambda: second.is_open and discord.gateway.resumes)
        await alice.says(alice.direct, "who hears me?")
        await served.stored(1)
        assert (first.came, second.came) == ([], ["who hears me?"])


async def test_the_shards_of_a_node_that_dies_go_to_the_others(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    discord.gateway.shards = 4
    alice = discord.person("alice")
    places = [discord.guild(f"guild {n}") for n in range(6)]
    channels = [discord.channel(f"far {n}", guild=guild) for n, guild in enumerate(places)]
    for guild in places:
        discord.person("alice", guild=guild)
    async with cluster(discord, tmp_path) as served:
        first = await served.connect(sessions=4)
        second = served.start()
        assert len(first.shards) == 4
        served.kill(first)
        for n, channel in enumerate(channels):
            await alice.mentions(channel, f"question {n}")
        await served.stored(6)
        await served.until(lambda: len(second.shards) == 4)
        assert sorted(served.messages()) == [f"question {n}" for n in range(6)]


async def test_shards_are_dealt_out_among_nodes_that_start_together(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    discord.gateway.shards = 4
    async with cluster(discord, tmp_path) as served:
        nodes = [served.start(), served.start()]
        await served.until(lambda: len(discord.gateway.open_sessions) == 4)
        assert all(each.shards for each in nodes)


async def test_a_node_whose_connection_fails_takes_no_more_shards_for_seconds(
    discord: DiscordSimulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "CONNECT_SECONDS", 0.5)
    discord.gateway.shards = 3
    discord.gateway.down = True
    async with cluster(discord, tmp_path) as served:
        node = served.start()
        await served.until(lambda: discord.gateway.turned_away)
        assert len(node.shards) == 1
        await served.until(lambda: len(node.shards) == 3)


async def test_a_server_that_no_route_names_is_left_after_a_resume_too(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    stranger = discord.guild("stranger")
    route = EVERYWHERE.model_copy(update={"workspace": [str(discord.home.id)]})
    async with cluster(discord, tmp_path, routes=[route]) as served:
        first = await settle(served)
        await served.drain(first)
        served.start(leave_unknown_servers=True)
        await served.until(lambda: discord.bot.id not in stranger.members)
        assert discord.bot.id in discord.home.members
        assert (discord.gateway.identifies, discord.gateway.resumes) == (1, 1)


async def test_servers_are_looked_at_once_after_a_take_over(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    route = EVERYWHERE.model_copy(update={"channels": [str(general.id)], "dm": False})
    async with cluster(discord, tmp_path, routes=[route]) as served:
        await served.drain(await settle(served))
        await served.connect()
        looks = lambda: len(discord.calls("GET", "/guilds/{guild_id}/channels"))  # noqa: E731
        await served.until(lambda: looks() == 1)
        discord.gateway.close()
        await served.until(lambda: discord.gateway.resumes == 2)
        await alice.mentions(general, "hello")
        await served.stored(1)
        assert looks() == 1


async def test_other_intents_begin_a_new_session(discord: DiscordSimulator, tmp_path: Path) -> None:
    alice = discord.person("alice")
    async with cluster(discord, tmp_path) as served:
        first = await settle(served)
        await served.drain(first)
        second = served.start(message_content=False)
        await served.until(lambda: second.is_open and discord.gateway.open_sessions)
        assert (discord.gateway.identifies, discord.gateway.resumes) == (2, 0)
        await alice.says(alice.direct, "hello")
        await served.stored(1)


async def test_what_a_message_mentions_is_known_after_a_resume_too(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, other = discord.channel("general"), discord.channel("plans")
    alice, role = discord.person("alice"), discord.role("reviewers")
    async with cluster(discord, tmp_path) as served:
        first = await settle(served)
        served.kill(first)
        await served.connect()
        for n in range(2):
            await alice.mentions(general, f"{n}: tell {role.mention} about <#{other.id}>")
            await served.stored(n + 1)
        assert served.messages() == [f"{n}: tell @reviewers about #plans" for n in range(2)]
        assert len(discord.calls("GET", "/guilds/{guild_id}/channels")) == 1
    assert discord.gateway.identifies == 1


async def test_what_each_node_has_missed_is_read_by_the_holder_of_the_first_shard(
    discord: DiscordSimulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_list, "LOOK_SECONDS", 0.05)
    discord.gateway.shards = 2
    away = discord.guild("away")
    while (away.id >> 22) % 2 == 0:
        away = discord.guild("away")
    far, alice = discord.channel("far", guild=away), discord.person("alice", guild=away)
    async with cluster(discord, tmp_path) as served:
        before = await served.connect(sessions=2)
        await served.drain(before)
        discord.gateway.forget()
        await alice.mentions(far, "anybody there?")
        second = served.start("discord shard 1 of 2")
        await served.until(lambda: second.is_open)
        first = served.start("discord shard 0 of 2")
        await served.stored(1)
        assert (len(first.shards), len(second.shards)) == (1, 1)
        assert served.messages() == ["anybody there?"]


@pytest.mark.chaos
@pytest.mark.parametrize("seed", range(3))
async def test_a_burst_over_several_holders_is_stored_whole_and_once(
    seed: int, discord: DiscordSimulator, tmp_path: Path
) -> None:
    chance = random.Random(seed)
    general = discord.channel("general")
    people = [discord.person(f"person{n}") for n in range(4)]
    async with cluster(discord, tmp_path) as served:
        holder = await served.connect()
        for n in range(30):
            await chance.choice(people).mentions(general, f"question {n}")
            if n % 10 < 5:
                await served.stored(chance.randrange(n + 1))
            if n % 10 == 5:
                holder.door.clear()
            if n % 10 == 9:
                served.kill(holder)
                holder = await served.connect()
        await served.stored(30)
        assert sorted(served.messages()) == sorted(f"question {n}" for n in range(30))
        assert discord.gateway.identifies == 1
