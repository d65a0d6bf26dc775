"""Methods of auth, apps and oauth: tokens and sockets."""

from __future__ import annotations

from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.simulator.installs import issue
from adapters.slack.testing import SlackSimulator

# The SDK gives the client's secret to aiohttp in the way of older versions.
pytestmark = pytest.mark.filterwarnings("ignore:BasicAuth is deprecated:DeprecationWarning")


def client(slack: SlackSimulator, token: str) -> AsyncWebClient:
    return AsyncWebClient(token, base_url=slack.api_url)


async def test_a_token_tells_who_it_is_until_it_is_given_back(slack: SlackSimulator) -> None:
    web = client(slack, slack.bot_token)
    told = await web.auth_test()
    assert (told["team_id"], told["is_enterprise_install"]) == ("T0HOME", False)
    assert (await web.auth_revoke())["revoked"]
    with pytest.raises(SlackApiError):
        await web.auth_test()


async def test_an_organisations_token_lists_its_workspaces(slack: SlackSimulator) -> None:
    for workspace in slack.world.workspaces.values():
        workspace.enterprise = "E1"
    web = client(slack, issue(slack.world, enterprise="E1").token)
    assert (await web.auth_test())["is_enterprise_install"]
    teams: Any = (await web.auth_teams_list())["teams"]
    assert [each["id"] for each in teams] == [*slack.world.workspaces]


async def test_a_connection_has_an_address_of_its_own(slack: SlackSimulator) -> None:
    web = client(slack, slack.app_token)
    told = await web.apps_connections_open(app_token=slack.app_token)
    assert str(told["url"]).startswith("ws://")


async def test_a_code_is_no_token_for_who_does_not_know_the_secret(slack: SlackSimulator) -> None:
    with pytest.raises(SlackApiError, match="bad_client_secret"):
        await client(slack, "").oauth_v2_access(client_id="1", client_secret="2", code="3")
