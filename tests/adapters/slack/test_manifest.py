"""Scopes and events that the config needs, and the app's manifest."""

from __future__ import annotations

import json
from urllib.parse import unquote

import pytest

from adapters.slack.config import Config
from adapters.slack.manifest import (
    NEW_APP,
    Reach,
    events_of,
    has_organisations,
    link_of,
    manifest_of,
    manifest_text,
    reach_of,
    scopes_of,
)
from gateway.config.routes import Route

TOKENS = {"app_token": "xapp-1-A1-1-ab", "bot_token": "xoxb-1-2-ab"}
CONFIG = Config.model_validate(TOKENS)
NOWHERE = Reach(channels=False, group_messages=False, direct=False, groups=False)


def route(**more: object) -> Route:
    return Route.model_validate({"adapter": "slack", "users": "members", **more})


@pytest.mark.parametrize(
    ("routes", "reach"),
    [
        ([], Reach(groups=False)),
        ([route(channels=["C1"])], Reach(group_messages=False, direct=False, groups=False)),
        ([route(channels="*"), route(dm=True)], Reach(groups=False)),
    ],
)
def test_routes_say_what_is_reached(routes: list[Route], reach: Reach) -> None:
    assert reach_of(CONFIG, routes) == reach


def test_scopes_and_events_are_those_of_the_reach() -> None:
    assert "im:history" in scopes_of(CONFIG, Reach())
    assert "im:history" not in scopes_of(CONFIG, NOWHERE)
    assert "message.im" in events_of(CONFIG, Reach())
    assert events_of(CONFIG, NOWHERE) == [
        "agent_session_stopped",
        "agent_session_title_changed",
        "app_home_opened",
    ]


def test_organisations_are_known_by_their_ids() -> None:
    assert not has_organisations(CONFIG)
    assert has_organisations(CONFIG.model_copy(update={"allowed_workspaces": ["E1"]}))


def test_a_manifest_is_what_slack_makes_an_app_of() -> None:
    manifest = manifest_of(CONFIG, Reach(), name="Nightingale", description="Sings.")
    assert manifest["display_information"] == {"name": "Nightingale", "description": "Sings."}
    assert manifest["oauth_config"]["scopes"]["bot"] == scopes_of(CONFIG, Reach())
    assert json.loads(manifest_text(manifest)) == manifest
    link = link_of(manifest)
    assert link.startswith(NEW_APP)
    assert json.loads(unquote(link.removeprefix(NEW_APP))) == manifest


def test_the_home_tab_is_asked_for_where_people_have_pages() -> None:
    homes = CONFIG.model_copy(update={"home": True})
    plain, with_tab = manifest_of(CONFIG, Reach()), manifest_of(homes, Reach())
    assert "home_tab_enabled" not in plain["features"]["app_home"]
    assert with_tab["features"]["app_home"]["home_tab_enabled"] is True
    assert "app_home_opened" in with_tab["settings"]["event_subscriptions"]["bot_events"]
    assert plain["oauth_config"] == with_tab["oauth_config"]  # views.publish needs no scope
