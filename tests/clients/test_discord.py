"""The simulator serves discord.js, an independent client."""

from collections.abc import AsyncIterator

import pytest

from adapters.discord.testing import DiscordSimulator
from tests.clients.node_program import NodeProgram, node_program


@pytest.fixture
async def discord() -> AsyncIterator[DiscordSimulator]:
    async with DiscordSimulator() as simulator:
        yield simulator


@pytest.fixture
async def discord_js(discord: DiscordSimulator) -> AsyncIterator[NodeProgram]:
    environment = {"TOKEN": discord.token, "API": discord.api_url.removesuffix("/v10")}
    async with node_program("discord.cjs", environment) as program:
        started = await program.reports("started")
        assert started["user"] == str(discord.bot.id)
        assert started["commands"] == ["Explain", "ask"]
        yield program


async def test_discord_js_answers_a_mention_in_a_thread_and_asks_in_a_form(
    discord: DiscordSimulator, discord_js: NodeProgram
) -> None:
    alice, general = discord.person("alice"), discord.channel("general")
    first = await alice.says(general, "hello")
    assert (await discord_js.reports("message"))["text"] == "hello"
    asked = await alice.mentions(
        general, "what is it?", reply_to=first, files=[("a.txt", b"x", "text/plain")]
    )
    heard = await discord_js.reports("message")
    assert (heard["author"], heard["thread"], heard["direct"]) == ("Alice", False, False)
    assert (heard["answers"], heard["files"]) == ("hello", ["a.txt"])
    answered = await discord_js.reports("answered")
    assert asked.thread is not None
    assert answered == {
        "what": "answered",
        "thread": str(asked.thread.id),
        "archived": False,
        "locked": False,
    }
    answer = discord.messages(asked.thread)[-1]
    assert (answer.content, asked.thread.name) == ("Looked.", "An answer")
    reply = discord.messages(general)[-1]
    assert (reply.referenced, reply.pings) == (asked, [])
    assert [each.content for each in reply.attachments] == [b"found"]
    opened = await alice.clicks(answer, "Why?")
    await discord_js.reports("opened")
    await alice.submits(opened, reason="it is so")
    assert (await discord_js.reports("submitted"))["reason"] == "it is so"
    assert (answer.content, answer.components) == ("Because it is so.", [])
    assert discord.missed_interactions == []


async def test_discord_js_takes_commands_and_reads_what_they_point_at(
    discord: DiscordSimulator, discord_js: NodeProgram
) -> None:
    alice, bob, general = (
        discord.person("alice"),
        discord.person("bob"),
        discord.channel("general"),
    )
    used = await alice.slash(general, "ask", text="what is it?")
    assert (await discord_js.reports("command"))["guild"] == "home"
    assert used.response is not None
    assert used.response.content == "You asked what is it?"
    assert used.response.visible_to is alice.user
    assert [each.content for each in used.followups] == ["And more."]
    assert bob.sees(general) == []
    claim = await bob.says(
        general, f"ask {alice.user.mention}", files=[("a.txt", b"x", "text/plain")]
    )
    pointed = await alice.menu(claim, "Explain")
    found = await discord_js.reports("menu")
    assert (found["files"], found["mentions"]) == (["a.txt"], ["alice"])
    assert pointed.response is not None
    assert found["response"] == str(pointed.response.id)
    assert (await discord_js.does("commands"))["names"] == ["Explain", "ask"]
    await alice.says(alice.direct, "and here?")
    assert (await discord_js.reports("message"))["direct"]


async def test_discord_js_sees_threads_that_are_private_locked_and_renamed(
    discord: DiscordSimulator, discord_js: NodeProgram
) -> None:
    alice, bob, general = (
        discord.person("alice"),
        discord.person("bob"),
        discord.channel("general"),
    )
    made = await discord_js.does("private", channel=str(general.id), guest=str(alice.id))
    (thread,) = discord.threads(general)
    assert (made["thread"], made["invitable"]) == (str(thread.id), True)
    assert (bob.sees(thread), alice.id in thread.members) == ([], True)
    await alice.says(thread, "here?")
    assert (await discord_js.reports("message"))["thread"]
    where = {"channel": str(thread.id)}
    said = await discord_js.does("says", **where, text="Yes.")
    discord.lock(thread)
    assert (await discord_js.reports("thread"))["locked"]
    refused = await discord_js.does("says", **where, text="Still?")
    assert (refused["error"], refused["status"]) == (50083, 403)
    refused = await discord_js.does("edits", **where, message=said["message"], text="No.")
    assert refused["error"] == 50083
    discord.lock(thread, locked=False)
    assert not (await discord_js.reports("thread"))["locked"]
    for name in ("one", "two"):
        assert (await discord_js.does("renames", **where, name=name))["name"] == name
    texts = (await discord_js.does("history", **where))["texts"]
    assert {"here?", "Yes."} <= set(texts)
    discord.delete(discord.messages(thread)[0])
    await discord_js.reports("deleted")


async def test_discord_js_waits_out_limits_and_comes_back_after_a_lost_connection(
    discord: DiscordSimulator, discord_js: NodeProgram
) -> None:
    alice, general = discord.person("alice"), discord.channel("general")
    where = {"channel": str(general.id)}
    for n in range(7):  # five in five seconds are taken
        await discord_js.does("says", **where, text=f"number {n}")
    assert discord.texts(general) == [f"number {n}" for n in range(7)]
    assert discord.avoidable_429s == []
    discord.gateway.abort()
    await alice.says(general, "still there?")
    assert (await discord_js.reports("message"))["text"] == "still there?"
    assert discord.invalid_requests.recent == 0
