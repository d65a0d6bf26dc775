"""The bot's commands, registered once, and again after a change."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from adapters.discord.connection.rest import Rest
from adapters.discord.connection.values import PLATFORM
from gateway.adapter import AdapterHost
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
        (TEXT, "id", "Id of the request; not needed while one alone is open", False),
        (BOOLEAN, "always", "Approve for the rest of this thread", False),
    ),
    "deny": (
        (TEXT, "id", "Id of the request; not needed while one alone is open", False),
        (TEXT, "note", "Reason, for the team", False),
    ),
    "queue": (
        (TEXT, "what", "drop N, first N or mode NAME; without it, you see what waits", False),
    ),
    "again": ((TEXT, "number", "Number of the message", True),),
    "revoke": ((TEXT, "tool", "Name of the tool", True),),
}


def command_payloads(ask: str, infos: Sequence[CommandInfo]) -> list[dict[str, Any]]:
    """All commands, as Discord is told of them."""
    asking = [_option(TEXT, "text", "The question or task", required=True)]
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
    rest: Rest, host: AdapterHost, application: str, wanted: list[dict[str, Any]]
) -> bool:
    """Register the commands if they changed; True if they did.

    Raises the errors of calls.
    """
    text = json.dumps([application, wanted], sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()[:32]
    if (await host.marks(PLATFORM)).get(MARK) == digest:
        return False
    await rest.call("PUT", f"/applications/{application}/commands", json=wanted)
    await host.mark(PLATFORM, MARK, digest)
    LOG.info("registered the commands")
    return True


def _command(name: str, description: str, options: list[dict[str, Any]]) -> dict[str, Any]:
    text = description[:1].upper() + description[1:]
    clipped = text if len(text) <= DESCRIPTION else f"{text[: DESCRIPTION - 1]}\u2026"
    return {**_everywhere(), "type": 1, "name": name, "description": clipped, "options": options}


def _everywhere() -> dict[str, Any]:
    return {
        "contexts": [0, 1],
        "integration_types": [0],
        "default_member_permissions": SEND_MESSAGES,
    }


def _option(kind: int, name: str, description: str, required: bool) -> dict[str, Any]:
    return {"type": kind, "name": name, "description": description, "required": required}
