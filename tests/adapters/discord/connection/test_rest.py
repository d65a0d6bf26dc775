"""Calls of a cut-off node, and answers beside slow calls."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import ExitStack

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from pydantic import SecretStr

from adapters.discord.connection.rest import ApiError, Rest
from adapters.discord.testing import DiscordSimulator, TooManyRequests
from gateway.errors import NodeCutOff
from gateway.pacing.limits import Caller
from gateway.surface import LONGEST_WAIT, RateLimited

CONNECTIONS = 100
"""As many as a session of aiohttp opens at a time."""


class Speaking:
    """A node that may speak, or not."""

    def __init__(self) -> None:
        self.allowed = True

    def check(self) -> None:
        if not self.allowed:
            raise NodeCutOff


@pytest.fixture
def speaking() -> Speaking:
    return Speaking()


@pytest.fixture
async def client(discord: DiscordSimulator, speaking: Speaking) -> AsyncIterator[Rest]:
    token = SecretStr(discord.token)
    async with Rest(token, discord.api_url, check_speaking=speaking.check) as client:
        yield client


async def test_what_changes_something_is_not_sent_while_cut_off(
    discord: DiscordSimulator, client: Rest, speaking: Speaking
) -> None:
    path = f"/channels/{discord.channel('general').id}"
    posted = await client.call("POST", f"{path}/messages", json={"content": "one"})
    speaking.allowed = False
    before = len(discord.calls())
    for method, what in (("POST", "/typing"), ("PATCH", f"/messages/{posted['id']}")):
        with pytest.raises(NodeCutOff):
            await client.call(method, path + what, json={"content": "two"})
    with pytest.raises(NodeCutOff):
        await client.call("DELETE", f"{path}/messages/{posted['id']}")
    with pytest.raises(NodeCutOff):
        await client.respond("/interactions/1/a-token/callback", {"type": 5})
    assert len(discord.calls()) == before
    assert (await client.call("GET", f"{path}/messages"))[0]["content"] == "one"
    speaking.allowed = True
    await client.call("PATCH", f"{path}/messages/{posted['id']}", json={"content": "two"})


async def test_a_call_that_waits_for_its_turn_is_checked_when_it_is_sent(
    discord: DiscordSimulator, client: Rest, speaking: Speaking
) -> None:
    path = f"/channels/{discord.channel('general').id}/messages"
    client.buckets.all.close(0.05, everywhere=False)
    waiting = asyncio.get_running_loop().create_task(
        client.call("POST", path, json={"content": "late"})
    )
    await asyncio.sleep(0)
    assert not waiting.done()
    speaking.allowed = False
    with pytest.raises(NodeCutOff):
        await waiting
    assert discord.calls("POST") == []


async def test_an_interaction_is_answered_while_all_connections_are_taken(
    discord: DiscordSimulator, client: Rest
) -> None:
    loop = asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0), backlog=CONNECTIONS) as slow, ExitStack() as opened:
        slow.setblocking(False)
        url = f"http://127.0.0.1:{slow.getsockname()[1]}/file"
        async with asyncio.TaskGroup() as group:
            files = [group.create_task(client.fetch(url, 10)) for _ in range(CONNECTIONS)]
            for _ in files:
                opened.enter_context((await loop.sock_accept(slow))[0])
            with pytest.raises(ApiError, match="Unknown interaction"):
                await client.respond("/interactions/1/a-token/callback", {"type": 5})
            for each in files:
                each.cancel()


@pytest.mark.parametrize("text", ["[" * 200_000, "<html>", ""])
async def test_an_answer_of_a_proxy_may_be_anything(text: str) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=text)

    app = web.Application()
    app.router.add_get("/users/@me", answer)
    async with TestServer(app) as server, Rest(SecretStr("t"), str(server.make_url(""))) as rest:
        assert await rest.call("GET", "/users/@me") is None


@pytest.mark.parametrize(
    ("fault", "caller", "posts"),
    [
        (TooManyRequests(retry_after=0.01), None, 1),
        (TooManyRequests(retry_after=0.01, scope="global"), None, 1),
        (TooManyRequests(retry_after=0.01, via=False), None, 1),
        (TooManyRequests(retry_after=60.0), None, 0),
        (TooManyRequests(retry_after=0.01), Caller(person="ann", thread="t"), 0),
    ],
    ids=["a bucket", "all calls", "this address", "a minute", "a thread's message"],
)
async def test_a_refusal_for_a_moment_is_waited_for_once(
    discord: DiscordSimulator,
    client: Rest,
    fault: TooManyRequests,
    caller: Caller | None,
    posts: int,
) -> None:
    discord.faults.plan(fault, method="POST")
    path = f"/channels/{discord.channel('general').id}/messages"
    calling = client.call("POST", path, json={"content": "one"}, caller=caller)
    if posts:
        await calling
    else:
        with pytest.raises(RateLimited):
            await calling
    assert len(discord.calls("POST")) == 1 + posts


@pytest.mark.parametrize("told", [1e300, "9" * 400, "Infinity"], ids=["1e300", "digits", "inf"])
async def test_no_answer_silences_the_bot_for_more_than_an_hour(told: object) -> None:
    async def answer(_: web.Request) -> web.Response:
        body = json.dumps({"retry_after": told, "global": True, "message": "wait"})
        return web.Response(status=429, text=body, content_type="application/json")

    app = web.Application()
    app.router.add_post("/channels/1/messages", answer)
    async with TestServer(app) as server, Rest(SecretStr("t"), str(server.make_url(""))) as rest:
        for _ in range(2):  # the second is held by what the first was told
            with pytest.raises(RateLimited) as limited:
                await rest.call("POST", "/channels/1/messages", json={"content": "one"})
            assert 0 < limited.value.retry_after <= LONGEST_WAIT + 1


async def test_a_second_refusal_is_told(discord: DiscordSimulator, client: Rest) -> None:
    discord.faults.plan(TooManyRequests(retry_after=0.01), method="POST", times=2)
    path = f"/channels/{discord.channel('general').id}/messages"
    with pytest.raises(RateLimited):
        await client.call("POST", path, json={"content": "one"})
    assert len(discord.calls("POST")) == 2
