"""Scopes and events that the config needs, and the app's manifest.

`parley check` compares the scopes with those of the token.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urljoin

from adapters.slack.action_ids import ASK_TEAM, FORK
from adapters.slack.config import Config
from gateway.config.routes import ANYWHERE, Route
from gateway.values import value

REASONS: dict[str, str] = {
    "app_mentions:read": "to receive mentions",
    "assistant:write": "to answer as an agent, with a status and a stop button",
    "channels:history": "to receive replies in its threads in public channels",
    "channels:read": "to check public channels of routes, and find what was missed there",
    "chat:write": "to write messages",
    "chat:write.customize": "to write under each agent's name",
    "commands": "for the slash command and the message shortcuts",
    "files:read": "to receive attached files",
    "files:write": "to upload agents' files and long texts",
    "groups:history": "to receive replies in its threads in private channels",
    "groups:read": "to check private channels of routes, and find what was missed there",
    "im:history": "to receive direct messages",
    "im:read": "to find what was missed in direct messages after a pause",
    "mpim:history": "to receive replies in its threads in group messages",
    "mpim:read": "to find what was missed in group messages after a pause",
    "reactions:read": "to receive emoji reactions",
    "reactions:write": "to show with a reaction that a message is worked on",
    "usergroups:read": "to know the members of user groups in routes",
    "users:read": "to know people's names and time zones, and who is a guest",
}
"""The purpose of each scope."""

DIRECT = frozenset({"im:history", "im:read"})
GROUP_MESSAGES = frozenset({"mpim:history", "mpim:read"})
CHANNELS = frozenset(
    {"app_mentions:read", "channels:history", "channels:read", "groups:history", "groups:read"}
)

NAME = 35
DESCRIPTION = 140
"""Characters of the app's name and description.

Slack, "App manifest reference": display_information. The bot's display name may have 80
characters, an agent's description 300, a command's name 32, its description 2,000.
"""
NEW_APP = "https://api.slack.com/apps?new_app=1&manifest_json="
"""The page that makes an app of a manifest: Slack, "Configuring apps with app manifests"."""


@value
class Reach:
    """Parts of Slack that the routes are for."""

    channels: bool = True
    group_messages: bool = True
    direct: bool = True
    groups: bool = True
    """User groups are named."""


def reach_of(config: Config, routes: Sequence[Route]) -> Reach:
    """The reach of Slack's routes.

    Without routes, and where others install the app, it is everything but user groups.
    """
    groups = any(route.groups for route in routes)
    if not routes or config.client_id:
        return Reach(groups=groups)
    return Reach(
        channels=any(route.channels for route in routes),
        group_messages=any(ANYWHERE in route.channels for route in routes),
        direct=any(route.dm for route in routes),
        groups=groups,
    )


def scopes_of(config: Config, reach: Reach) -> list[str]:
    """The bot's scopes."""
    left_out: set[str] = set()
    left_out |= {*CHANNELS} if not reach.channels else set()
    left_out |= {*GROUP_MESSAGES} if not reach.group_messages else set()
    left_out |= {*DIRECT} if not reach.direct else set()
    left_out |= {"reactions:read"} if not config.reactions else set()
    left_out |= {"reactions:write"} if not config.show_progress else set()
    left_out |= {"usergroups:read"} if not reach.groups else set()
    return sorted({*REASONS} - left_out)


def events_of(config: Config, reach: Reach) -> list[str]:
    """The events that it subscribes to."""
    events = ["agent_session_stopped", "agent_session_title_changed", "app_home_opened"]
    if reach.channels:
        events += ["app_mention", "message.channels", "message.groups"]
    if reach.group_messages:
        events.append("message.mpim")
    if reach.direct:
        events.append("message.im")
    if config.reactions:
        events.append("reaction_added")
    if config.client_id:
        events += ["app_uninstalled", "tokens_revoked"]
    if has_organisations(config):
        events.append("team_access_granted")
    return sorted(events)


def has_organisations(config: Config) -> bool:
    """True if organisations may install the app for their workspaces."""
    return any(each.startswith("E") for each in config.allowed_workspaces)


def manifest_of(
    config: Config, reach: Reach, *, name: str = "Parley", description: str = ""
) -> dict[str, Any]:
    """The app's manifest. `description` is what people read about the agent."""
    description = description or "A team of agents that answers in threads."
    address = urljoin(config.public_url or "https://YOUR.HOST/", "slack/events")
    over_http = config.mode == "http"
    request_url = {"request_url": address} if over_http else {}
    url = {"url": address} if over_http else {}
    oauth: dict[str, Any] = {"scopes": {"bot": scopes_of(config, reach)}}
    if config.client_id:
        oauth["redirect_urls"] = [
            urljoin(config.public_url or "https://YOUR.HOST/", "slack/oauth_redirect")
        ]
    prompts = [{"title": text, "message": text} for text in config.suggested_prompts]
    return {
        "display_information": {"name": name, "description": description},
        "features": {
            "app_home": {
                **({"home_tab_enabled": True} if config.home else {}),
                "messages_tab_enabled": True,
                "messages_tab_read_only_enabled": not reach.direct,
            },
            "bot_user": {"display_name": name, "always_online": True},
            "agent_view": {"agent_description": description, "suggested_prompts": prompts},
            "slash_commands": [
                {
                    "command": config.command,
                    "description": "Ask the team a question, or type `help`",
                    "usage_hint": "[your question]",
                    "should_escape": True,
                    **url,
                }
            ],
            "shortcuts": [
                {
                    "name": "Ask the team",
                    "type": "message",
                    "callback_id": ASK_TEAM,
                    "description": "Pass this message on to the team",
                },
                {
                    "name": "Fork from here",
                    "type": "message",
                    "callback_id": FORK,
                    "description": "Go on in a copy of this thread, up to this message",
                },
            ],
        },
        "oauth_config": oauth,
        "settings": {
            "event_subscriptions": {**request_url, "bot_events": events_of(config, reach)},
            "interactivity": {"is_enabled": True, **request_url},
            "org_deploy_enabled": has_organisations(config),
            "socket_mode_enabled": not over_http,
            "token_rotation_enabled": bool(config.client_id),
        },
    }


def manifest_text(manifest: dict[str, Any]) -> str:
    """As Slack takes it."""
    return json.dumps(manifest, indent=2, ensure_ascii=False)


def link_of(manifest: dict[str, Any]) -> str:
    """The address at which Slack makes an app of a manifest."""
    return NEW_APP + quote(json.dumps(manifest, separators=(",", ":"), ensure_ascii=False), safe="")
