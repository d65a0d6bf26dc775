"""Law: strangers stay outside, wherever they add the bot."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.discord import check
from adapters.discord.testing import DiscordSimulator
from gateway.access.authority import Access, Admission, Denial
from gateway.app.load import load_config
from gateway.config.problems import ConfigError
from gateway.config.routes import Route
from gateway.conversation import Author, AuthorKind, ConversationKey, InboundMessage
from gateway.gateway import Gateway
from gateway.store.units import counts
from tests.adapters.discord.serving import (
    bot_messages,
    config_of,
    serving,
    thread_of,
    wait_accepted,
    wait_commands,
    wait_delivered,
)
from tests.fakes.discord_wire import simulated
from tests.gateway.scripted import ScriptedTeams, solo

CONFIG = """
[teams.helpdesk]
type = "round_robin"
max_turns = 1
agents.front = {}
[models.default]
provider = "demo"
[adapters.discord]
token = "a.bots.token"
[[routes]]
adapter = "discord"
channels = "*"
dm = true
"""


@pytest.fixture(name="discord")
async def _discord() -> AsyncIterator[DiscordSimulator]:
    async with simulated() as simulator:
        yield simulator


def at_home(discord: DiscordSimulator) -> Route:
    """The route of the page docs/discord.md: every member of one's own server."""
    home = [str(discord.home.id)]
    return Route(adapter="discord", workspace=home, channels=["*"], dm=True, users=["members"])


def team() -> ScriptedTeams:
    return ScriptedTeams(lambda: solo(*["Hello."] * 5, messages=20))


async def unknown_server(gateway: Gateway, discord: DiscordSimulator, guild: int) -> str:
    """The remark to the operator about this server."""

    def told() -> str:
        return next((said for said in gateway.vitals.remarks if str(guild) in said), "")

    return await discord.until(told)


# --- the config ---


@pytest.mark.parametrize("users", ['"members"', '["members"]', '["1", "members"]'])
def test_a_route_for_all_members_has_to_name_the_servers(tmp_path: Path, users: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f"{CONFIG}users = {users}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as refused:
        load_config(path)
    assert "routes[0].users" in str(refused.value)
    assert 'guild = "ID of your server"' in str(refused.value)


@pytest.mark.parametrize("guild", ['"1"', '["1", "2"]'])
def test_one_server_or_a_list_is_taken(tmp_path: Path, guild: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f'{CONFIG}users = "members"\nguild = {guild}\n', encoding="utf-8")
    (route,) = load_config(path).config.routes
    assert route.workspace == (["1", "2"] if "," in guild else ["1"])


# --- a server of a stranger's own ---


@pytest.mark.chaos
async def test_nobody_of_a_strangers_server_is_heard_there_or_in_private(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice, general = discord.person("alice"), discord.channel("general")
    lair = discord.guild("lair")
    eve = discord.person("eve", guild=lair)
    den = discord.channel("den", guild=lair)
    async with serving(discord, tmp_path, team(), routes=[at_home(discord)]) as gateway:
        await wait_commands(discord)
        await eve.mentions(den, "who are you?")
        refused = await discord.answered(await eve.slash(den, "ask", text="who are you?"))
        await eve.says(eve.direct, "who are you?")
        asked = await alice.mentions(general, "hello")
        await discord.until(lambda: asked.thread and bot_messages(discord, asked.thread))
        await wait_accepted(gateway, 3)  # Alice's question, and two refusals
        await wait_delivered(gateway)
        assert (await gateway.store.run(counts.counts)).inbox["refused"] == 2
        assert bot_messages(discord, thread_of(asked))
        assert refused.response is not None
        assert "may not write" in refused.response.content
        assert len(await gateway.client.threads()) == 1
    assert [each for each in bot_messages(discord, den) if each is not refused.response] == []


async def test_many_strangers_servers_push_nobody_out_of_the_private_messages(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    lairs = [discord.guild(f"lair {n}") for n in range(30)]
    own = discord.guild("own")
    alice = discord.person("alice", guild=own)
    route = at_home(discord).model_copy(update={"workspace": [str(own.id)]})
    async with serving(discord, tmp_path, team(), routes=[route]):
        said = await alice.says(alice.direct, "hello")
        await discord.until(lambda: bot_messages(discord, said.channel))
    looked_into = [call.path for call in discord.calls("GET", f"/members/{alice.id}")]
    assert looked_into[0] == f"/guilds/{own.id}/members/{alice.id}"
    assert len(lairs) > len(looked_into)


async def test_an_unknown_server_is_announced_and_not_read(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    async with serving(discord, tmp_path, team(), routes=[at_home(discord)]) as gateway:
        lair = discord.guild("lair")
        told = await unknown_server(gateway, discord, lair.id)
        assert "no route names" in told
        assert "leave_unknown_servers = true" in told
        assert "lair" not in told  # a name is the stranger's own text
        assert discord.bot.id in lair.members
        assert not discord.calls(route=str(lair.id))


async def test_an_unknown_server_is_left_if_so_set(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    before = discord.guild("lair before")
    config = config_of(discord, leave_unknown_servers=True)
    async with serving(
        discord, tmp_path, team(), routes=[at_home(discord)], config=config
    ) as gateway:
        lair = discord.guild("lair")
        for each in (before, lair):
            assert "left the server" in await unknown_server(gateway, discord, each.id)
            assert discord.bot.id not in each.members
        assert discord.bot.id in discord.home.members


@pytest.mark.parametrize(
    "known", ["named", "by its channel", "for approvals", "open to named people"]
)
async def test_a_server_that_the_config_means_is_never_left(
    known: str, discord: DiscordSimulator, tmp_path: Path
) -> None:
    club = discord.guild("club")
    room = discord.channel("room", guild=club)
    approvals = [f"discord:{club.id}:{room.id}"] if known == "for approvals" else []
    more = {
        "named": {"workspace": [str(club.id)], "users": ["members"], "channels": ["*"]},
        "by its channel": {"channels": [str(room.id)], "users": ["members"]},
        "for approvals": {"channels": ["1"], "users": ["1"]},
        "open to named people": {"channels": ["*"], "users": ["1"]},
    }[known]
    route = Route.model_validate({"adapter": "discord", **more})
    config = config_of(discord, leave_unknown_servers=True)
    async with serving(
        discord,
        tmp_path,
        team(),
        routes=[at_home(discord), route],
        approvals=approvals,
        config=config,
    ) as gateway:
        lair = discord.guild("lair")
        if known != "open to named people":
            await unknown_server(gateway, discord, lair.id)
        await wait_commands(discord)
        assert discord.bot.id in club.members


# --- private messages have no server ---

HOME, CLUB, LAIR = "1", "2", "3"


@pytest.mark.parametrize("kind", ["member", "guest", "external"])
@pytest.mark.parametrize("where", [(), (HOME,), (LAIR,), (HOME, LAIR), (CLUB, LAIR)])
@pytest.mark.parametrize("guests", [False, True])
def test_in_private_one_counts_only_by_the_routes_own_servers(
    kind, where: tuple[str, ...], guests: bool
) -> None:
    route = Route.model_validate(
        {"adapter": "discord", "guild": [HOME, CLUB], "dm": True, "users": "members"}
        | {"guests": guests}
    )
    author = Author(id="discord:7", kind=kind, workspaces=frozenset(where))
    key = ConversationKey(platform="discord", channel="9")
    verdict = Access(routes=[route]).judge(InboundMessage(key=key, author=author, direct=True))
    inside = bool({HOME, CLUB} & {*where})
    allowed = inside and (kind == "member" or (kind == "guest" and guests))
    assert isinstance(verdict, Admission) == allowed


SERVERS = st.lists(st.sampled_from([HOME, CLUB]), unique=True)
OWN_CHANNEL = "33"


@st.composite
def routes(draw: st.DrawFn) -> Route:
    """Routes for named people, role holders or members of servers."""
    servers = draw(SERVERS)
    users = draw(st.lists(st.sampled_from(["1", "2", "members"] if servers else ["1", "2"])))
    roles = draw(st.lists(st.sampled_from(["11", "12"]), min_size=0 if users else 1))
    widened = bool(roles) or "members" in users  # guests alone lets in nobody, so it is refused
    return Route(
        adapter="discord",
        workspace=servers,
        channels=draw(st.sampled_from([["*"], ["11"], ["11", "22"]])),
        dm=draw(st.booleans()),
        users=users,
        roles=roles,
        guests=widened and draw(st.booleans()),
    )


@given(st.lists(routes(), max_size=4), st.sampled_from(get_args(AuthorKind)), st.booleans())
def test_no_config_lets_a_stranger_in_by_a_server_of_their_own(
    given_routes: list[Route], kind: AuthorKind, direct: bool
) -> None:
    access = Access(routes=given_routes)
    server = "" if direct else LAIR
    key = ConversationKey(platform="discord", workspace=server, channel=OWN_CHANNEL)
    stranger = Author(
        id="discord:7", kind=kind, groups=frozenset({"99"}), workspaces=frozenset({LAIR})
    )
    verdict = access.judge(InboundMessage(key=key, author=stranger, direct=direct))
    assert verdict == Denial()


# --- the portal's switch ---


async def test_check_warns_of_a_bot_that_anybody_may_add(discord: DiscordSimulator) -> None:
    warned = await check(config_of(discord), [])
    assert warned.problems == ()
    assert "Public Bot" in warned.warnings[0]
    discord.world.public_bot = False
    assert (await check(config_of(discord), [])).warnings == ()
