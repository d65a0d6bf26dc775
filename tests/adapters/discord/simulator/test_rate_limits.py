"""Rates: what the headers tell, whom the simulator blames for a refusal."""

from __future__ import annotations

import asyncio
import time

import discord as sdk
import pytest

from adapters.discord.testing import DiscordSimulator, TooManyRequests
from tests.adapters.discord.simulator.bot import Bot
from tests.adapters.discord.simulator.rest import Rest
from tests.fakes.discord_wire import Connect

EDIT = "PATCH /channels/{channel_id}/messages/{message_id}"
POST = "POST /channels/{channel_id}/messages"


async def test_the_headers_tell_what_is_left(discord: DiscordSimulator, rest: Rest) -> None:
    general = discord.channel("general")
    await rest.call("POST", f"/channels/{general.id}/messages", {"content": "x"})
    assert rest.headers["X-RateLimit-Limit"] == "5"
    assert rest.headers["X-RateLimit-Remaining"] == "4"
    assert 4.9 < float(rest.headers["X-RateLimit-Reset-After"]) <= 5.0


async def test_who_ignores_the_headers_is_refused_and_blamed(
    discord: DiscordSimulator, rest: Rest
) -> None:
    general, other = discord.channel("general"), discord.channel("other")
    for _ in range(5):
        await rest.call("POST", f"/channels/{general.id}/messages", {"content": "x"})

    status, answer = await rest.call("POST", f"/channels/{general.id}/messages", {"content": "x"})

    assert (status, answer["global"]) == (429, False)
    assert 0 < answer["retry_after"] <= 5
    assert rest.headers["X-RateLimit-Scope"] == "user"
    assert "Via" in rest.headers
    assert len(discord.avoidable_429s) == 1
    status, _ = await rest.call("POST", f"/channels/{other.id}/messages", {"content": "x"})
    assert status == 200
    discord.advance(answer["retry_after"])
    status, _ = await rest.call("POST", f"/channels/{general.id}/messages", {"content": "x"})
    assert status == 200


async def test_who_was_not_told_is_not_blamed(discord: DiscordSimulator, rest: Rest) -> None:
    general = discord.channel("general")
    discord.limits.set(POST, 1, 60.0, disclosed=False)
    path = f"/channels/{general.id}/messages"
    await rest.call("POST", path, {"content": "x"})
    assert "X-RateLimit-Limit" not in rest.headers

    assert (await rest.call("POST", path, {"content": "x"}))[0] == 429
    assert discord.avoidable_429s == []
    assert (await rest.call("POST", path, {"content": "x"}))[0] == 429
    assert len(discord.avoidable_429s) == 1


async def test_who_knew_a_larger_limit_is_not_blamed(discord: DiscordSimulator, rest: Rest) -> None:
    path = f"/channels/{discord.channel('general').id}/messages"
    await rest.call("POST", path, {"content": "x"})
    bucket = rest.headers["X-RateLimit-Bucket"]
    discord.limits.set(POST, 1, 60.0)

    assert (await rest.call("POST", path, {"content": "x"}))[0] == 429

    assert rest.headers["X-RateLimit-Bucket"] != bucket
    assert discord.avoidable_429s == []


@pytest.mark.chaos
async def test_discord_py_stays_below_a_limit_that_shrinks(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    general = discord.channel("general")
    discord.limits.set(EDIT, 4, 0.4)
    bot = await discord_client(Bot())
    message = await bot.get_channel(general.id).send("0")

    for number in range(1, 7):
        await message.edit(content=str(number))
    discord.limits.set(EDIT, 2, 0.4)
    for number in range(7, 12):
        await message.edit(content=str(number))

    assert discord.texts(general) == ["11"]
    assert discord.avoidable_429s == []
    assert discord.edits_per_minute(general) == 11 + len(
        [call for call in discord.calls("PATCH") if call.status == 429]
    )


async def test_all_routes_together_have_a_limit(discord: DiscordSimulator, rest: Rest) -> None:
    discord.limits.set_global(3)
    statuses = [(await rest.call("GET", "/users/@me"))[0] for _ in range(4)]
    assert statuses == [200, 200, 200, 429]
    assert rest.headers["X-RateLimit-Global"] == "true"
    assert rest.headers["X-RateLimit-Scope"] == "global"


async def test_discord_py_waits_out_a_global_limit(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    general = discord.channel("general")
    bot = await discord_client(Bot())
    channel = bot.get_channel(general.id)
    discord.faults.plan(TooManyRequests(0.3, scope="global"), method="POST", path="/messages")

    began = time.monotonic()
    await asyncio.gather(channel.send("one"), channel.send("two"))

    assert time.monotonic() - began >= 0.3
    assert sorted(discord.texts(general)) == ["one", "two"]
    assert discord.avoidable_429s == []


async def test_requests_on_their_way_are_not_blamed(discord: DiscordSimulator, rest: Rest) -> None:
    path = f"/channels/{discord.channel('general').id}/messages"
    answers = await asyncio.gather(*(rest.call("POST", path, {"content": "x"}) for _ in range(8)))
    assert sorted(status for status, _ in answers) == [200] * 5 + [429] * 3
    assert discord.avoidable_429s == []
    discord.advance(0.3)
    assert (await rest.call("POST", path, {"content": "x"}))[0] == 429
    assert len(discord.avoidable_429s) == 1


async def test_the_header_may_name_another_time_than_the_body(
    discord: DiscordSimulator, rest: Rest
) -> None:
    discord.faults.plan(TooManyRequests(90, header=1))
    _, answer = await rest.call("GET", "/users/@me")
    assert (answer["retry_after"], rest.headers["Retry-After"]) == (90, "1")


@pytest.mark.parametrize("html", [False, True])
async def test_a_refusal_without_via_is_not_retried(
    html: bool, discord: DiscordSimulator, discord_client: Connect
) -> None:
    general = discord.channel("general")
    bot = await discord_client(Bot())
    channel = bot.get_channel(general.id)
    discord.faults.plan(TooManyRequests(0.1, via=False, html=html), path="/messages")
    with pytest.raises(sdk.HTTPException) as refused:
        await channel.send("one")
    assert refused.value.status == 429
    assert discord.texts(general) == []


async def test_a_channel_is_renamed_twice_in_ten_minutes_whatever_the_headers_say(
    discord: DiscordSimulator, rest: Rest
) -> None:
    thread = await discord.person("alice").starts_thread(
        await discord.person("alice").says(discord.channel("general"), "hi"), "talk"
    )
    discord.give(discord.bot, discord.role("keeper", "manage_threads"))
    path = f"/channels/{thread.id}"
    for name in ("one", "two"):
        assert (await rest.call("PATCH", path, {"name": name}))[0] == 200

    status, answer = await rest.call("PATCH", path, {"name": "three"})

    assert (status, thread.name) == (429, "two")
    assert 590 < answer["retry_after"] <= 600
    assert int(rest.headers["X-RateLimit-Remaining"]) > 0
    assert (await rest.call("PATCH", path, {"archived": True}))[0] == 200
    discord.advance(answer["retry_after"])
    assert (await rest.call("PATCH", path, {"archived": False}))[0] == 200
    assert (await rest.call("PATCH", path, {"name": "three"}))[0] == 200


async def test_who_makes_too_many_invalid_requests_is_banned_for_a_while(
    discord: DiscordSimulator, rest: Rest
) -> None:
    assert discord.invalid_requests.limit.count == 10_000
    discord.invalid_requests.limit.count = 3
    general, secret = discord.channel("general"), discord.channel("secret", hidden=True)
    path = f"/channels/{secret.id}/messages"
    shared = TooManyRequests(0.0, scope="shared")
    discord.faults.plan(shared, path=f"/channels/{general.id}")
    assert (await rest.call("GET", f"/channels/{general.id}"))[0] == 429
    assert (await rest.call("GET", f"/channels/{general.id}1"))[0] == 404
    assert discord.invalid_requests.recent == 0
    for _ in range(3):
        assert (await rest.call("POST", path, {"content": "x"}))[0] == 403

    status, answer = await rest.call("GET", f"/channels/{general.id}")

    assert status == 429
    assert "html" in answer
    assert "Via" not in rest.headers
    assert int(rest.headers["Retry-After"]) == 600
    discord.advance(600)
    assert (await rest.call("GET", f"/channels/{general.id}"))[0] == 200
