"""The two pages of an installation."""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import pytest
from aiohttp.test_utils import make_mocked_request

from adapters.slack.config import Config
from adapters.slack.connection.oauth import COOKIE, INSTALL, REDIRECT, STATE_SECONDS, OAuth, States
from tests.fakes.hand_clock import HandClock


def test_a_state_is_valid_where_it_was_signed_and_for_a_while() -> None:
    clock = HandClock()
    states = States("secret", clock.time)
    state = states.make()
    assert states.is_valid(state)
    assert states.make() != state
    assert not States("another", clock.time).is_valid(state)
    assert not states.is_valid(f"1{state}")
    clock.advance(STATE_SECONDS + 1)
    assert not states.is_valid(state)


@pytest.fixture
def oauth() -> OAuth:
    config = Config.model_validate(
        {
            "client_id": "1.2",
            "client_secret": "secret",
            "signing_secret": "signing",
            "mode": "http",
            "public_url": "https://parley.example/",
            "allowed_workspaces": ["T0123ABCD"],
        }
    )
    return OAuth(config, cast("Any", None), cast("Any", None), groups=lambda: False)


async def test_an_installation_begins_at_slack_and_only_there_ends(oauth: OAuth) -> None:
    pages = oauth.pages()
    assert {*pages} == {INSTALL, REDIRECT}
    began = await pages[INSTALL].answer(make_mocked_request("GET", INSTALL))
    assert began.status == 302
    query = parse_qs(urlsplit(began.headers["Location"]).query)
    assert query["redirect_uri"] == ["https://parley.example/slack/oauth_redirect"]
    assert began.cookies[COOKIE].value == query["state"][0]
    ended = await pages[REDIRECT].answer(make_mocked_request("GET", f"{REDIRECT}?state=x"))
    assert ended.status == 400
