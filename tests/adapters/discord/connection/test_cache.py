"""Servers, channels and roles, told by connections or asked for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import discord
import pytest
from discord.enums import ChannelType
from discord.permissions import PermissionOverwrite, Permissions

from adapters.discord.connection.cache import Cache
from adapters.discord.connection.values import BotIdentity, Channel

ANN = discord.Object(50)
ME = BotIdentity(user="100", application="100")
READS = Permissions(view_channel=True, read_message_history=True)
NOTHING = Permissions.none()


class Rest:
    """Discord, asked for one server."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def call(self, method: str, path: str, **more: Any) -> Any:
        self.asked.append(path)
        role = {"id": "7", "name": "Bots", "tags": {"bot_id": "100"}}
        return {
            "/users/@me/guilds": [{"id": "1"}],
            "/guilds/1": {"roles": [role]},
            "/guilds/1/channels": [{"id": "5", "type": 0, "name": "general"}],
            "/channels/6": {"id": "6", "type": 0, "name": "random", "guild_id": "1"},
        }[path]


class Client:
    """A connection that tells of a server with a channel."""

    def __init__(self, permissions: Permissions = READS, **overwrites: Any) -> None:
        me, everybody = SimpleNamespace(id=100), SimpleNamespace(id=2)
        self.guild = SimpleNamespace(
            id=2,
            unavailable=False,
            self_role=SimpleNamespace(id=9),
            me=me,
            default_role=everybody,
            get_role=lambda role: SimpleNamespace(name="Staff") if role == 9 else None,
        )
        self.guilds = [self.guild]
        self.channel = SimpleNamespace(
            type=ChannelType.text,
            guild=self.guild,
            name="general",
            overwrites=overwrites.get("overwrites", {}),
            permissions_for=lambda who: permissions,
        )

    def get_guild(self, guild: int) -> Any:
        return self.guild if guild == 2 else None

    def get_channel(self, channel: int) -> Any:
        return self.channel if channel == 20 else None


def cache(*clients: Client, tells_all: bool = False) -> tuple[Cache, Rest]:
    rest, shards = Rest(), SimpleNamespace(clients=clients, tells_all=tells_all)
    return Cache(lambda: cast("Any", shards), cast("Any", rest), ME), rest


async def test_a_server_that_no_connection_tells_of_is_asked_for_once() -> None:
    found, rest = cache()
    assert found.me_in("1") == ME
    assert (await found.me_known("1")).roles == {"7"}
    await found.learn("1")
    assert rest.asked == ["/guilds/1", "/guilds/1/channels"]
    assert found.channel_name("5") == "general"
    assert (found.role("7"), found.role("8")) == ("Bots", "")
    assert list(await found.guilds()) == ["1"]


async def test_what_a_connection_tells_is_not_asked_for() -> None:
    found, rest = cache(Client(), tells_all=True)
    assert list(await found.guilds()) == ["2"]
    assert (await found.me_known("2")).roles == {"9"}
    channel = await found.channel("20")
    assert (channel.name, channel.guild) == ("general", "2")
    assert found.role("9") == "Staff"
    assert rest.asked == []


async def test_a_channel_is_asked_for_unless_an_event_has_told_of_it() -> None:
    found, rest = cache()
    assert (await found.channel("6")).name == "random"
    found.learn_channel(Channel(id="8", type=0, name="here"))
    assert (await found.channel("8")).name == "here"
    assert rest.asked == ["/channels/6"]


@pytest.mark.parametrize(
    ("client", "reads", "sees"),
    [
        (Client(), True, True),
        (Client(NOTHING), False, False),
        (Client(overwrites={ANN: PermissionOverwrite(view_channel=False)}), True, False),
    ],
)
def test_a_channel_may_be_read_and_seen(client: Client, reads: bool, sees: bool) -> None:
    found, _ = cache(client)
    assert found.may_read("20") is reads
    assert found.sees("20", "50", ()) is sees
    assert (found.may_read("21"), found.sees("21", "50", ())) == (True, False)


def test_a_refused_call_is_told_with_what_the_bot_lacks() -> None:
    found, _ = cache(Client(NOTHING))
    assert found.refusal("20", {"Send Messages": 1 << 11}) == (
        " in #general, where the bot lacks Send Messages"
    )
    assert found.refusal("21", {}) == " in channel 21"
