"""Slack's answers that are no success: for now, or for good."""

from __future__ import annotations

import pytest

from adapters.slack.connection.socket_mode import socket_address
from adapters.slack.connection.web_api import SlackClients
from adapters.slack.simulator.installs import issue
from adapters.slack.testing import (
    ConnectionReset,
    MalformedAnswer,
    Refusal,
    ServerError,
    SlackSimulator,
    TooManyRequests,
)
from adapters.slack.testing.faults import Fault
from gateway.adapter import AuthError
from gateway.errors import GatewayError
from gateway.surface import PlatformUnreachable, RateLimited
from tests.adapters.slack.serving import config_of

NOT_NOW: list[Fault] = [
    *(ServerError(503), ConnectionReset(), TooManyRequests(bare=True), TooManyRequests()),
    *map(Refusal, ("internal_error", "service_unavailable", "fatal_error", "request_timeout")),
]


@pytest.mark.parametrize("code", ["access_denied", "missing_scope", "enterprise_is_restricted"])
async def test_a_refused_list_of_an_organisations_workspaces_is_told_and_not_asked_for_again(
    code: str,
) -> None:
    async with SlackSimulator(rates=False, installed=False) as slack:
        token = issue(slack.world, enterprise="E0ORG").token
        slack.fail("auth.teams.list", Refusal(code), times=-1)
        with pytest.raises(AuthError, match=f"auth.teams.list \\({code}\\): install the app again"):
            async with SlackClients(config_of(slack, bot_token=token)):
                pass
        assert len(slack.calls("auth.teams.list")) == 1


@pytest.mark.parametrize("fault", [*NOT_NOW, MalformedAnswer()], ids=str)
@pytest.mark.parametrize("method", ["auth.test", "auth.teams.list", "apps.connections.open"])
async def test_a_sign_in_that_fails_just_now_is_no_refusal_and_waits_as_slack_says(
    method: str, fault: Fault
) -> None:
    async with SlackSimulator(rates=False, installed=False) as slack:
        token = issue(slack.world, enterprise="E0ORG").token
        config = config_of(slack, bot_token=token)
        slack.fail(method, fault)
        with pytest.raises(GatewayError) as failed:
            async with SlackClients(config) as clients:
                await socket_address(clients, config)
        limited = isinstance(fault, TooManyRequests)
        assert isinstance(failed.value, RateLimited if limited else PlatformUnreachable)
        if isinstance(failed.value, RateLimited):
            assert failed.value.retry_after == 30
