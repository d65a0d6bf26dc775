"""Refusals have the same status and code as Discord's."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.discord.testing import DiscordSimulator
from tests.adapters.discord.simulator.rest import Rest

FORM, EMPTY, NO_ACCESS, NO_PERMISSION = (400, 50035), (400, 50006), (403, 50001), (403, 50013)
BUTTON = {"type": 2, "style": 1, "label": "Go", "custom_id": "go"}
TEXT = {"type": 10, "content": "x"}
V2 = 1 << 15


def row(*inside: dict[str, Any]) -> dict[str, Any]:
    return {"type": 1, "components": list(inside)}


def buttons(count: int) -> list[dict[str, Any]]:
    return [{**BUTTON, "custom_id": f"go:{number}"} for number in range(count)]


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        pytest.param({}, EMPTY, id="nothing"),
        pytest.param({"content": " \n "}, EMPTY, id="only space"),
        pytest.param({"content": "x" * 2001}, FORM, id="2001 characters"),
        pytest.param({"content": "x", "nonce": "n" * 26}, FORM, id="long nonce"),
        pytest.param({"content": "x", "contents": "y"}, FORM, id="unknown field"),
        pytest.param(
            {"content": "x", "allowed_mentions": {"parse": ["users"], "users": ["1"]}},
            FORM,
            id="mentions allowed twice",
        ),
        pytest.param({"embeds": [{"title": "t"}] * 11}, FORM, id="11 embeds"),
        pytest.param({"embeds": [{"title": "t" * 257}]}, FORM, id="long title"),
        pytest.param({"embeds": [{"description": "d" * 3001}] * 2}, FORM, id="6002 in embeds"),
        pytest.param({"content": "x", "components": [BUTTON]}, FORM, id="button without row"),
        pytest.param({"content": "x", "components": [row(*buttons(6))]}, FORM, id="6 in a row"),
        pytest.param(
            {"content": "x", "components": [row(*buttons(5))] * 6}, FORM, id="6 rows, same ids"
        ),
        pytest.param(
            {"content": "x", "components": [row(BUTTON), row(BUTTON)]}, FORM, id="same custom ids"
        ),
        pytest.param(
            {"content": "x", "components": [row({**BUTTON, "custom_id": "c" * 101})]},
            FORM,
            id="long custom id",
        ),
        pytest.param(
            {"content": "x", "components": [row({**BUTTON, "label": "l" * 81})]},
            FORM,
            id="long label",
        ),
        pytest.param(
            {"content": "x", "components": [row({"type": 2, "style": 1, "custom_id": "c"})]},
            FORM,
            id="button that says nothing",
        ),
        pytest.param(
            {"content": "x", "components": [row({"type": 2, "style": 5, "label": "Docs"})]},
            FORM,
            id="link to nowhere",
        ),
        pytest.param(
            {"content": "x", "components": [row({"type": 2, "style": 1, "label": "Go"})]},
            FORM,
            id="button without custom id",
        ),
        pytest.param(
            {"content": "x", "components": [row({"type": 3, "custom_id": "s", "options": []})]},
            FORM,
            id="list without choices",
        ),
        pytest.param({"content": "x", "components": [row()]}, FORM, id="empty row"),
        pytest.param({"content": 1}, FORM, id="number as text"),
        pytest.param(["x"], FORM, id="list as message"),
        pytest.param({"content": "x", "components": [TEXT]}, FORM, id="new components unasked"),
        pytest.param(
            {"content": "x", "components": [TEXT], "flags": V2}, FORM, id="both kinds of content"
        ),
        pytest.param(
            {"components": [{"type": 10, "content": "x" * 4001}], "flags": V2},
            FORM,
            id="4001 in components",
        ),
        pytest.param(
            {"components": [{"type": 13, "file": {"url": "attachment://a.txt"}}], "flags": V2},
            FORM,
            id="file that is not there",
        ),
        pytest.param({"components": [TEXT] * 41, "flags": V2}, FORM, id="41 components"),
        pytest.param(
            {"content": "x", "message_reference": {"message_id": "1"}}, FORM, id="reply to nothing"
        ),
    ],
)
async def test_a_message_that_is_not_right(
    body: dict[str, Any], refusal: tuple[int, int], discord: DiscordSimulator, rest: Rest
) -> None:
    general = discord.channel("general")
    assert await rest.code("POST", f"/channels/{general.id}/messages", body) == refusal
    assert discord.messages(general) == []


@pytest.mark.parametrize(
    ("application", "command", "refusal"),
    [
        ("{bot}", {"description": "d"}, FORM),
        ("{bot}", {"name": "Ask Us", "description": "d"}, FORM),
        ("{bot}", {"name": "n" * 33, "description": "d"}, FORM),
        ("{bot}", {"name": "ask", "description": ""}, FORM),
        ("1", {"name": "ask", "description": "d"}, NO_ACCESS),
    ],
)
async def test_a_command_that_is_not_right(
    application: str,
    command: dict[str, Any],
    refusal: tuple[int, int],
    discord: DiscordSimulator,
    rest: Rest,
) -> None:
    path = f"/applications/{application.format(bot=discord.bot.id)}/commands"
    assert await rest.code("PUT", path, [command]) == refusal
    assert discord.commands == {}


async def test_the_longest_messages_are_taken(discord: DiscordSimulator, rest: Rest) -> None:
    path = f"/channels/{discord.channel('general').id}/messages"
    embed = {"description": "d" * 4096, "title": "t" * 256, "footer": {"text": "f" * 1648}}
    texts = [{"type": 10, "content": "x" * 1000}] * 4
    for body in (
        {"content": "😀" * 2000},
        {"content": "x", "embeds": [embed]},
        {"content": "x", "components": [row(*buttons(5))]},
        {"components": [*texts, {"type": 17, "components": [row(BUTTON)]}], "flags": V2},
    ):
        status, _ = await rest.call("POST", path, body)
        assert status == 200


async def test_a_message_can_not_be_edited_to_nothing(
    discord: DiscordSimulator, rest: Rest
) -> None:
    path = f"/channels/{discord.channel('general').id}/messages"
    _, message = await rest.call("POST", path, {"content": "x"})
    assert await rest.code("PATCH", f"{path}/{message['id']}", {"content": ""}) == EMPTY


async def test_new_components_stay_new_components(discord: DiscordSimulator, rest: Rest) -> None:
    path = f"/channels/{discord.channel('general').id}/messages"
    _, message = await rest.call("POST", path, {"components": [TEXT], "flags": V2})
    one = f"{path}/{message['id']}"
    assert await rest.code("PATCH", one, {"content": "x"}) == FORM
    assert await rest.code("PATCH", one, {"flags": 0}) == FORM
    status, _ = await rest.call("PATCH", one, {"components": [{**TEXT, "content": "y"}]})
    assert status == 200


async def test_somebody_elses_message_can_not_be_edited(
    discord: DiscordSimulator, rest: Rest
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    written = await alice.says(general, "mine")
    path = f"/channels/{general.id}/messages/{written.id}"
    assert await rest.code("PATCH", path, {"content": "yours"}) == (403, 50005)
    assert await rest.code("DELETE", path) == NO_PERMISSION


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/channels/1", 10003),
        ("POST", "/channels/1/typing", 10003),
        ("GET", "/channels/{general}/messages/1", 10008),
        ("GET", "/guilds/1", 10004),
        ("GET", "/guilds/{home}/members/1", 10007),
        ("GET", "/users/1", 10013),
        ("GET", "/webhooks/1", 10015),
        ("POST", "/interactions/1/token/callback", 10062),
        ("GET", "/webhooks/{bot}/token/messages/@original", 10015),
        ("GET", "/nothing/here", 0),
    ],
)
async def test_what_is_not_there(
    method: str, path: str, code: int, discord: DiscordSimulator, rest: Rest
) -> None:
    general = discord.channel("general")
    path = path.format(general=general.id, home=discord.home.id, bot=discord.bot.id)
    body = {"type": 6} if method == "POST" and "interactions" in path else None
    assert await rest.code(method, path, body) == (404, code)


async def test_a_hidden_channel_and_one_where_nobody_may_write(
    discord: DiscordSimulator, rest: Rest
) -> None:
    hidden = discord.channel("hidden", hidden=True)
    assert await rest.code("GET", f"/channels/{hidden.id}") == NO_ACCESS
    body = {"content": "x"}
    assert await rest.code("POST", f"/channels/{hidden.id}/messages", body) == NO_ACCESS

    quiet = discord.channel("quiet")
    discord.deny(quiet, discord.home.everyone, "send_messages create_public_threads")
    messages = f"/channels/{quiet.id}/messages"
    assert await rest.code("POST", messages, body) == NO_PERMISSION
    written = await discord.person("boss", roles=[discord.role("boss", "administrator")]).says(
        quiet, "hear, hear"
    )
    thread = {"name": "thread"}
    assert await rest.code("POST", f"{messages}/{written.id}/threads", thread) == NO_PERMISSION

    discord.allow(quiet, discord.bot, "send_messages")
    status, _ = await rest.call("POST", messages, body)
    assert status == 200


async def test_without_its_token_the_application_is_nobody(discord: DiscordSimulator) -> None:
    discord.token = "another"
    async with Rest(discord) as rest:
        assert await rest.call("GET", "/users/@me") == (
            401,
            {"message": "401: Unauthorized", "code": 0},
        )
        status, _ = await rest.call("GET", "/gateway")
        assert status == 200


async def test_a_message_older_than_an_hour_takes_few_edits(
    discord: DiscordSimulator, rest: Rest
) -> None:
    path = f"/channels/{discord.channel('general').id}/messages"
    _, message = await rest.call("POST", path, {"content": "x"})
    discord.advance(3601)
    answers = [
        await rest.call("PATCH", f"{path}/{message['id']}", {"content": str(number)})
        for number in range(4)
    ]
    assert [status for status, _ in answers] == [200, 200, 200, 429]
    refused = answers[-1][1]
    assert refused["code"] == 30046
    assert 59 < refused["retry_after"] <= 60


async def test_the_simulator_that_is_asked_nonsense_says_so(
    discord: DiscordSimulator, rest: Rest
) -> None:
    path = f"/channels/{discord.channel('general').id}/messages"
    assert await rest.code("GET", path, limit="101") == FORM
    name = {"name": "n" * 101}
    assert (
        await rest.code("POST", f"/channels/{discord.channel('general').id}/threads", name) == FORM
    )
    thread = {"name": "n", "auto_archive_duration": 61}
    assert (
        await rest.code("POST", f"/channels/{discord.channel('general').id}/threads", thread)
        == FORM
    )
