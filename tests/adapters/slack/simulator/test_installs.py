"""Tokens: the OAuth dance, rotation, organisations, revoked and removed apps."""

from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.oauth import AuthorizeUrlGenerator
from slack_sdk.oauth.installation_store import Installation
from slack_sdk.oauth.token_rotation.async_rotator import AsyncTokenRotator
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.testing import AppSettings, SlackSimulator

# The SDK gives the client's secret to aiohttp in the way of older versions.
pytestmark = pytest.mark.filterwarnings("ignore:BasicAuth is deprecated:DeprecationWarning")

BACK = "https://parley.example/slack/oauth"


async def consent(slack: SlackSimulator, **query: str) -> dict[str, str]:
    """The redirect to the app after a person's consent."""
    url = AuthorizeUrlGenerator(
        client_id=slack.world.app.client_id,
        scopes=["chat:write"],
        redirect_uri=BACK,
        authorization_url=f"{slack.url}/oauth/v2/authorize",
    ).generate("the-state")
    async with (
        aiohttp.ClientSession() as session,
        session.get(url, params=query, allow_redirects=False) as answer,
    ):
        assert answer.status == 302, await answer.text()
        location = answer.headers["Location"]
    assert location.startswith(BACK)
    return {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}


async def exchange(slack: SlackSimulator, code: str) -> Any:
    return await AsyncWebClient(base_url=slack.api_url).oauth_v2_access(
        client_id=slack.world.app.client_id,
        client_secret=slack.world.app.client_secret,
        code=code,
        redirect_uri=BACK,
    )


async def test_a_workspace_installs_the_app() -> None:
    async with SlackSimulator(installed=False) as slack:
        slack.add_workspace("T0OTHER", "Other")
        slack.person("mallory", workspace="T0OTHER")
        back = await consent(slack, team="T0OTHER")
        assert back["state"] == "the-state"
        granted = await exchange(slack, back["code"])
        assert granted["team"] == {"id": "T0OTHER", "name": "Other"}
        client = AsyncWebClient(token=granted["access_token"], base_url=slack.api_url)
        who = await client.auth_test()
        assert who["user_id"] == granted["bot_user_id"] == "U0PARLEY0OTHER"
        with pytest.raises(SlackApiError, match="invalid_code"):
            await exchange(slack, back["code"])


async def test_a_whole_organisation_installs_the_app() -> None:
    async with SlackSimulator(installed=False) as slack:
        for team in ("T0EAST", "T0WEST"):
            slack.add_workspace(team, team, enterprise="E0CORP")
            slack.person(f"of-{team.lower()}", workspace=team)
        slack.add_channel("west", workspace="T0WEST")
        back = await consent(slack, team="T0EAST", org_wide="1")
        granted = await exchange(slack, back["code"])
        assert granted["is_enterprise_install"]
        assert granted["team"] is None
        assert granted["enterprise"]["id"] == "E0CORP"
        client = AsyncWebClient(token=granted["access_token"], base_url=slack.api_url)
        channel = slack.channel("west").id
        sent = await client.chat_postMessage(channel=channel, text="hello west")
        assert sent["ok"]
        await slack.person("of-t0west", workspace="T0WEST").says("west", "hello")
        payload = slack.deliveries[-1].payload
        assert payload["team_id"] == "T0WEST"
        (authorization,) = payload["authorizations"]
        assert authorization["is_enterprise_install"]
        assert authorization["team_id"] is None


async def test_a_token_that_rotates_expires_and_is_renewed_once(slack: SlackSimulator) -> None:
    await slack.use_app(AppSettings(rotation=True))
    grant = slack.install()
    client = AsyncWebClient(token=grant.token, base_url=slack.api_url)
    await client.auth_test()
    slack.clock.advance(12 * 3600)
    with pytest.raises(SlackApiError, match="token_expired"):
        await client.auth_test()
    rotator = AsyncTokenRotator(
        client=AsyncWebClient(base_url=slack.api_url),
        client_id=slack.world.app.client_id,
        client_secret=slack.world.app.client_secret,
    )
    installation = Installation(
        user_id="U0ALICE",
        team_id="T0HOME",
        bot_token=grant.token,
        bot_refresh_token=grant.refresh,
        bot_token_expires_at=0,
    )
    renewed = await rotator.perform_token_rotation(installation=installation)
    assert renewed is not None
    assert renewed.bot_token != grant.token
    await AsyncWebClient(token=renewed.bot_token, base_url=slack.api_url).auth_test()
    with pytest.raises(SlackApiError, match="invalid_refresh_token"):
        await AsyncWebClient(base_url=slack.api_url).oauth_v2_access(
            client_id=slack.world.app.client_id,
            client_secret=slack.world.app.client_secret,
            grant_type="refresh_token",
            refresh_token=str(installation.bot_refresh_token),
        )


@pytest.mark.parametrize(
    ("how", "event", "error"),
    [
        ("revoke", "tokens_revoked", "token_revoked"),
        ("uninstall", "app_uninstalled", "account_inactive"),
    ],
)
async def test_the_app_is_told_that_it_was_let_go(
    slack: SlackSimulator, client: AsyncWebClient, how: str, event: str, error: str
) -> None:
    getattr(slack, how)()
    assert [each.event["type"] for each in slack.deliveries] == [event]
    with pytest.raises(SlackApiError, match=error):
        await client.auth_test()


async def test_the_wrong_secret_gets_no_token(slack: SlackSimulator) -> None:
    slack.person("alice")
    back = await consent(slack)
    slack.world.app = replace(slack.world.app, client_secret="another")
    with pytest.raises(SlackApiError, match="bad_client_secret"):
        await AsyncWebClient(base_url=slack.api_url).oauth_v2_access(
            client_id=slack.world.app.client_id, client_secret="guessed", code=back["code"]
        )
