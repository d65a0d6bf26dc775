"""Settings of the simulated app: scopes, events and request URLs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

BOT_SCOPES = frozenset(
    {
        "app_mentions:read",
        "assistant:write",
        "channels:history",
        "channels:read",
        "chat:write",
        "chat:write.customize",
        "commands",
        "files:read",
        "files:write",
        "groups:history",
        "groups:read",
        "im:history",
        "im:read",
        "im:write",
        "mpim:history",
        "mpim:read",
        "reactions:read",
        "reactions:write",
        "team:read",
        "usergroups:read",
        "users:read",
    }
)
BOT_EVENTS = frozenset(
    {
        "agent_session_stopped",
        "agent_session_title_changed",
        "app_context_changed",
        "app_home_opened",
        "app_mention",
        "app_uninstalled",
        "channel_archive",
        "member_joined_channel",
        "member_left_channel",
        "message.channels",
        "message.groups",
        "message.im",
        "message.mpim",
        "reaction_added",
        "reaction_removed",
        "team_access_granted",
        "tokens_revoked",
    }
)


@dataclass(frozen=True, kw_only=True)
class AppSettings:
    """An app as Slack knows it.

    `agent` says that it is declared as an agent (features.agent_view). `url` is where an app
    without Socket Mode takes its deliveries. `rotation`: its tokens expire after 12 hours.
    """

    name: str = "parley"
    id: str = "A0PARLEY"
    client_id: str = "100.200"
    client_secret: str = "simulated-client-secret"
    signing_secret: str = "simulated-signing-secret"
    scopes: frozenset[str] = BOT_SCOPES
    events: frozenset[str] = BOT_EVENTS
    agent: bool = True
    home: bool = True
    """People see its Home tab."""
    interactive: bool = True
    socket_mode: bool = True
    url: str = ""
    redirects: tuple[str, ...] = ()
    rotation: bool = False
    outside_marketplace: bool = False
    """True without Slack's review: threads may be read once a minute."""
    commands: frozenset[str] = field(default=frozenset({"/parley"}))
    shortcuts: Mapping[str, str] = field(
        default_factory=lambda: {"Ask the team": "ask_team", "Fork from here": "fork"}
    )
    """Callback ids of the messages' shortcuts, by name."""

    def with_manifest(self, manifest: dict[str, Any]) -> AppSettings:
        """The app with the settings of a manifest."""
        features = manifest.get("features", {})
        oauth = manifest.get("oauth_config", {})
        settings = manifest.get("settings", {})
        events = settings.get("event_subscriptions", {})
        return replace(
            self,
            name=features.get("bot_user", {}).get("display_name", self.name),
            scopes=frozenset(oauth.get("scopes", {}).get("bot", ())),
            events=frozenset(events.get("bot_events", ())),
            agent="agent_view" in features,
            home=bool(features.get("app_home", {}).get("home_tab_enabled")),
            interactive=bool(settings.get("interactivity", {}).get("is_enabled")),
            socket_mode=bool(settings.get("socket_mode_enabled")),
            url=events.get("request_url", ""),
            redirects=tuple(oauth.get("redirect_urls", ())),
            rotation=bool(settings.get("token_rotation_enabled")),
            commands=frozenset(each["command"] for each in features.get("slash_commands", ())),
            shortcuts={each["name"]: each["callback_id"] for each in features.get("shortcuts", ())},
        )
