"""The bot's commands, registered once, and again after a change."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from adapters.discord.connection.rest import Rest
from adapters.discord.state import PLATFORM, MarkStore
from gateway.client import CommandInfo

LOG = logging.getLogger("adapters.discord")

ON_MESSAGE = "Ask the team"
"""The entry in a message's menu."""

SEND_MESSAGES = 1 << 11
"""The permission that a member needs for a command, unless a server's admins say otherwise."""

DESCRIPTION = 100
TEXT, BOOLEAN = 3, 5

MARK = "commands"

_OPTIONS: Mapping[str, Sequence[tuple[int, str, str, bool]]] = {
    "approve": (
        (TEXT, "id", "Which request; without, those that you may answer are listed", False),
        (BOOLEAN, "always", "For the rest of this thread", False),
    ),
    "deny": (
        (TEXT, "id", "Which request; without, those that you may answer are listed", False),
        (TEXT, "note", "Why, for the team", False),
    ),
    "queue": ((TEXT, "what", "drop N, first N or mode NAME; what waits is shown without", False),),
    "again": ((TEXT, "number", "Which message", True),),
    "revoke": ((TEXT, "tool", "Which tool", True),),
}


def command_payloads(ask: str, infos: Sequence[CommandInfo]) -> list[dict[str, Any]]:
    """All commands, as Discord is told of them."""
    asking = [_option(TEXT, "text", "What the team is to do", required=True)]
    slashes = [_command(ask, "Ask the team", asking)]
    slashes += [
        _command(
            info.name, info.description, [_option(*each) for each in _OPTIONS.get(info.name, ())]
        )
        for info in infos
        if info.name != ask
    ]
    return [*slashes, {**_everywhere(), "type": 3, "name": ON_MESSAGE}]


async def sync_commands(
    rest: Rest, marks: MarkStore, application: str, wanted: list[dict[str, Any]]
) -> bool:
    """Register the commands if they changed; True if they did.

    Raises the errors of calls.

    Raises what a call raises.
    """
    text = json.dumps([application, wanted], sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()[:32]
    if (await marks.marks(PLATFORM)).get(MARK) == digest:
        return False
    await rest.call("PUT", f"/applications/{application}/commands", json=wanted)
    await marks.mark(PLATFORM, MARK, digest)
    LOG.info("Discord knows the commands now")
    return True


def _command(name: str, description: str, options: list[dict[str, Any]]) -> dict[str, Any]:
    text = description[:1].upper() + description[1:]
    told = text if len(text) <= DESCRIPTION else f"{text[: DESCRIPTION - 1]}\u2026"
    return {**_everywhere(), "type": 1, "name": name, "description": told, "options": options}


def _everywhere() -> dict[str, Any]:
    return {
        "contexts": [0, 1],
        "integration_types": [0],
        "default_member_permissions": SEND_MESSAGES,
    }


def _option(kind: int, name: str, description: str, required: bool) -> dict[str, Any]:
    return {"type": kind, "name": name, "description": description, "required": required}
