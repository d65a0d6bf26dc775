"""Reading payloads that anybody may have shaped: a field is what it should be, or empty."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias, cast

from adapters.slack.config import PLATFORM
from gateway.conversation import ConversationKey

Payload: TypeAlias = Mapping[str, Any]

_TS = re.compile(r"\d{1,15}\.\d{1,10}", re.ASCII)
_EMPTY: Payload = {}


def text_at(data: Payload, *path: str) -> str:
    """The text at a path, "" for anything else."""
    value = _at(data, path)
    return value if isinstance(value, str) else ""


def number_at(data: Payload, *path: str) -> int:
    """The whole number at a path, 0 for anything else."""
    value = _at(data, path)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def table_at(data: Payload, *path: str) -> Payload:
    """The table at a path, an empty one for anything else."""
    value = _at(data, path)
    return cast("Payload", value) if isinstance(value, Mapping) else _EMPTY


def tables_at(data: Payload, *path: str) -> list[Payload]:
    """The tables in the list at a path."""
    value = _at(data, path)
    found = cast("list[Any]", value) if isinstance(value, list) else []
    return [cast("Payload", each) for each in found if isinstance(each, Mapping)]


def ts_at(data: Payload, *path: str) -> str:
    """The ts at a path, "" for what is none."""
    text = text_at(data, *path)
    return text if _TS.fullmatch(text) else ""


def team_of(payload: Payload) -> str:
    """The workspace by whose installation an event arrived; "" if it does not say."""
    grants = tables_at(payload, "authorizations")
    granted = text_at(grants[0], "team_id") if grants else ""
    return granted or text_at(payload, "context_team_id") or text_at(payload, "team_id")


def enterprise_of(payload: Payload) -> str:
    """The organisation that a payload is from; "" if it does not say."""
    grants = tables_at(payload, "authorizations")
    granted = text_at(grants[0], "enterprise_id") if grants else ""
    named = text_at(payload, "enterprise_id") or text_at(payload, "enterprise", "id")
    return granted or text_at(payload, "context_enterprise_id") or named


def bot_user_of(payload: Payload) -> str:
    """The bot's own user where an event arrived; "" if it does not say."""
    grants = tables_at(payload, "authorizations")
    return text_at(grants[0], "user_id") if grants and grants[0].get("is_bot") is True else ""


def key_of(team: str, channel: str, root: str) -> ConversationKey:
    """The conversation that hangs on a message: every top-level message roots its own."""
    return ConversationKey(platform=PLATFORM, workspace=team, channel=channel, root=root)


def author_id(team: str, user: str) -> str:
    """A person or a bot as the gateway knows them."""
    return f"{PLATFORM}:{team}:{user}"


def is_direct(channel: str) -> bool:
    """Whether a channel is the conversation of one person with the bot."""
    return channel.startswith("D")


def _at(data: Payload, path: tuple[str, ...]) -> Any:
    value: Any = data
    for name in path:
        if not isinstance(value, Mapping):
            return None
        value = cast("Payload", value).get(name)
    return value
