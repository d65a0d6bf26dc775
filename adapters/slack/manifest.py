"""Scopes and events that the config needs, and the app's manifest.

`parley check` compares the scopes with those of the token.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urljoin

from adapters.slack.action_ids import ASK_TEAM
from adapters.slack.config import Config

REASONS: dict[str, str] = {
    "app_mentions:read": "to receive mentions",
    "assistant:write": "to answer as an agent, with a status and a stop button",
    "channels:history": "to receive replies in its threads in public channels",
    "channels:read": "to find what was missed in public channels after a pause",
    "chat:write": "to write messages",
    "chat:write.customize": "to write under each agent's name",
    "commands": "for the slash command and the message shortcut",
    "files:read": "to receive attached files",
    "files:write": "to upload agents' files and long texts",
    "groups:history": "to receive replies in its threads in private channels",
    "groups:read": "to find what was missed in private channels after a pause",
    "im:history": "to receive direct messages",
    "im:read": "to find what was missed in direct messages after a pause",
    "mpim:history": "to receive replies in its threads in group messages",
    "mpim:read": "to find what was missed in group messages after a pause",
    "reactions:read": "to receive emoji reactions",
    "usergroups:read": "to know the members of user groups in routes",
    "users:read": "to know people's names and time zones, and who is a guest",
}
"""The purpose of each scope."""

_ALWAYS = tuple(scope for scope in REASONS if scope not in ("reactions:read", "usergroups:read"))


def scopes_of(config: Config, *, groups: bool) -> list[str]:
    """The bot's scopes. `groups`: routes name user groups."""
    wanted = {*_ALWAYS}
    if config.reactions:
        wanted.add("reactions:read")
    if groups:
        wanted.add("usergroups:read")
    return sorted(wanted)


def events_of(config: Config) -> list[str]:
    """The events that it subscribes to."""
    events = [
        "agent_session_stopped",
        "agent_session_title_changed",
        "app_home_opened",
        "app_mention",
        "message.channels",
        "message.groups",
        "message.im",
        "message.mpim",
    ]
    if config.reactions:
        events.append("reaction_added")
    if config.client_id:
        events += ["app_uninstalled", "tokens_revoked"]
    return sorted(events)


def manifest_of(
    config: Config, *, name: str = "Parley", description: str = "", groups: bool = True
) -> dict[str, Any]:
    """The app's manifest. `description` is what people read about the agent."""
    description = description or "A team of agents that answers in threads."
    address = urljoin(config.public_url or "https://YOUR.HOST/", "slack/events")
    over_http = config.mode == "http"
    request_url = {"request_url": address} if over_http else {}
    url = {"url": address} if over_http else {}
    oauth: dict[str, Any] = {"scopes": {"bot": scopes_of(config, groups=groups)}}
    if config.client_id:
        oauth["redirect_urls"] = [
            urljoin(config.public_url or "https://YOUR.HOST/", "slack/oauth_redirect")
        ]
    prompts = [{"title": text, "message": text} for text in config.suggested_prompts]
    return {
        "display_information": {"name": name, "description": description},
        "features": {
            "app_home": {"messages_tab_enabled": True, "messages_tab_read_only_enabled": False},
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
                }
            ],
        },
        "oauth_config": oauth,
        "settings": {
            "event_subscriptions": {**request_url, "bot_events": events_of(config)},
            "interactivity": {"is_enabled": True, **request_url},
            "org_deploy_enabled": any(each.startswith("E") for each in config.allowed_workspaces),
            "socket_mode_enabled": not over_http,
            "token_rotation_enabled": bool(config.client_id),
        },
    }


def manifest_text(manifest: dict[str, Any]) -> str:
    """As Slack takes it."""
    return json.dumps(manifest, indent=2, ensure_ascii=False)
