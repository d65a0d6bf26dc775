"""The parser of everything that Slack sends, by the kind of its payload."""

from __future__ import annotations

from adapters.slack.config import Config
from adapters.slack.connection.payload import Payload, text_at
from adapters.slack.connection.workspace import Workspace
from adapters.slack.inbound.parse_events import RATE_LIMITED, parse_event
from adapters.slack.inbound.parse_interactions import parse_command, parse_interaction
from adapters.slack.inbound.parsed import Inbound


def parse_payload(body: Payload, config: Config, me: Workspace) -> Inbound:
    """What a payload means to the bot `me`, whatever it is."""
    if text_at(body, "type") in ("event_callback", RATE_LIMITED):
        return parse_event(body, me, reactions=config.reactions)
    if text_at(body, "command"):
        return parse_command(body, me, config.command)
    return parse_interaction(body, me)
