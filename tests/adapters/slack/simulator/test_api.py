"""The Web API reads every form of call, and refuses forbidden ones."""

import json
from dataclasses import replace

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.testing import AppSettings, SlackSimulator

POST = {"channel": "C0GENERAL", "text": "hello"}


def bearer(slack: SlackSimulator) -> dict[str, str]:
    return {"Authorization": f"Bearer {slack.bot_token}"}


@pytest.mark.parametrize("form", ["query", "form", "json", "multipart", "field", "get"])
async def test_a_call_is_read_in_every_form(slack: SlackSimulator, form: str) -> None:
    url, headers = f"{slack.api_url}chat.postMessage", bearer(slack)
    block = [{"type": "divider"}]
    fields = POST | {"blocks": json.dumps(block)}
    async with aiohttp.ClientSession() as session:
        match form:
            case "query":
                request = session.post(url, params=fields, headers=headers)
            case "form":
                request = session.post(url, data=fields, headers=headers)
            case "json":
                request = session.post(url, json=POST | {"blocks": block}, headers=headers)
            case "multipart":
                data = aiohttp.FormData(fields, default_to_multipart=True)
                request = session.post(url, data=data, headers=headers)
            case "field":
                request = session.post(url, data=fields | {"token": slack.bot_token})
            case _:
                request = session.get(url, params=fields, headers=headers)
        async with request as response:
            body = await response.json()
    assert body["ok"], body
    assert body["message"]["text"] == "hello"
    assert body["message"]["blocks"][0]["type"] == "divider"
    (call,) = slack.calls("chat.postMessage")
    assert call.applied
    assert call.text("text") == "hello"


@pytest.mark.parametrize(
    ("method", "token", "error"),
    [
        ("no.such", "bot", "unknown_method"),
        ("auth.test", "", "not_authed"),
        ("auth.test", "wrong", "invalid_auth"),
        ("auth.test", "app", "not_allowed_token_type"),
        ("apps.connections.open", "bot", "not_allowed_token_type"),
        ("conversations.join", "bot", "missing_scope"),
        ("chat.postMessage", "bot", "channel_not_found"),
    ],
    ids=lambda value: str(value) or "none",
)
async def test_what_may_not_be_called_is_refused(
    slack: SlackSimulator, method: str, token: str, error: str
) -> None:
    tokens = {"bot": slack.bot_token, "app": slack.app_token}
    client = AsyncWebClient(token=tokens.get(token, token), base_url=slack.api_url)
    with pytest.raises(SlackApiError) as caught:
        await client.api_call(method)
    assert caught.value.response["error"] == error
    assert slack.calls()[-1].error == error


async def test_a_missing_scope_is_named_with_those_that_are_there(slack: SlackSimulator) -> None:
    await slack.use_app(AppSettings(scopes=frozenset({"chat:write"})))
    client = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
    with pytest.raises(SlackApiError) as caught:
        await client.users_info(user=slack.bot.id)
    assert caught.value.response["needed"] == "users:read"
    assert caught.value.response["provided"] == "chat:write"
    answer = await client.auth_test()
    assert answer.headers["X-OAuth-Scopes"] == "chat:write"


async def test_the_app_can_be_made_from_a_manifest(slack: SlackSimulator) -> None:
    manifest = {
        "display_information": {"name": "Parley"},
        "features": {"bot_user": {"display_name": "helper"}, "slash_commands": []},
        "oauth_config": {"scopes": {"bot": ["chat:write", "channels:history"]}},
        "settings": {
            "event_subscriptions": {"bot_events": ["app_mention"]},
            "interactivity": {"is_enabled": True},
            "socket_mode_enabled": True,
        },
    }
    await slack.use_app(slack.world.app.with_manifest(manifest))
    await slack.person("alice").asks("general", "hello")
    assert [each.event["type"] for each in slack.deliveries] == ["app_mention"]
    assert not slack.world.app.agent


async def test_an_agents_session_is_refused_to_an_app_that_is_none(
    slack: SlackSimulator, client: AsyncWebClient
) -> None:
    asked = await slack.person("alice").asks("general", "hello")
    await slack.use_app(replace(slack.world.app, agent=False))
    with pytest.raises(SlackApiError, match="not_authorized"):
        await client.agents_sessions_setStatus(
            channel_id=asked.channel, status="processing", thread_ts=asked.ts
        )
