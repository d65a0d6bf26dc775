"""The bot's commands, compared with those that Discord has."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from adapters.discord.connection.rest import Rest
from adapters.discord.custom_ids import FORK
from gateway.client import CommandInfo

LOG = logging.getLogger("adapters.discord")

ON_MESSAGE = "Ask the team"
"""The entry in a message's menu, beside FORK."""

SEND_MESSAGES = 1 << 11
"""The permission that a member needs for a command, unless a server's admins say otherwise."""

_EVERYWHERE: Mapping[str, Any] = {
    "contexts": [0, 1],
    "integration_types": [0],
    "default_member_permissions": SEND_MESSAGES,
}
DESCRIPTION = 100
TEXT, FILE = 3, 11

_ID = {"id": "Id of the request; not needed while one alone is open"}
_TEAM = "Name of a team; without it, you see them"
_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "approve": {**_ID, "scope": "What else is approved, in the rest of this thread"},
    "deny": {**_ID, "note": "Reason, for the team"},
    "queue": {"what": "drop N, first N or mode NAME; without it, you see what waits"},
    "model": {"name": "Name of a model, or default; without it, you see them"},
    "team": {"name": _TEAM},
    "memory": {"what": "forget N or forget all; without it, you see what is remembered"},
    "aside": {"what": "summarise, attach, or drop"},
    "fork": {"turns": "Number of the last turns to leave out"},
    "compact": {"about": "What the summaries should keep; without it, the models decide"},
    "again": {"number": "Number of the message"},
    "revoke": {"tool": "Name of the tool"},
}
"""Names and descriptions of commands' options; others have one with the name "words"."""
_REQUIRED = frozenset({"text", "number", "tool"})
_SCOPES = {
    "same": "exactly these arguments",
    "below": "arguments below this folder",
    "always": "any arguments",
    "new": "this call, and the tool's new description",
}
"""Words that the option "scope" takes."""


def command_payloads(ask: str, infos: Sequence[CommandInfo]) -> list[dict[str, Any]]:
    """All commands, as Discord is told of them."""
    slashes = [
        _command(ask, "Ask the team", {"text": "The question or task", "file": "A file for it"})
    ]
    words = {info.name: {"words": info.argument} for info in infos if info.takes}
    options = {**words, **_OPTIONS}
    slashes += [
        _command(info.name, info.description, options.get(info.name, {}))
        for info in infos
        if info.name != ask
    ]
    menu = [{**_EVERYWHERE, "type": 3, "name": name} for name in (ON_MESSAGE, FORK)]
    return [*slashes, *menu]


async def sync_commands(rest: Rest, application: str, wanted: Sequence[Mapping[str, Any]]) -> str:
    """Let Discord have these commands; what was different, "" for nothing.

    It is asked for those that it has, and written to only where they differ. Raises the errors of
    calls.
    """
    path = f"/applications/{application}/commands"
    had, have = _by_name(await rest.call("GET", path)), _by_name(wanted)
    kinds = {
        "added": [each for each in have if each not in had],
        "changed": [each for each in have if each in had and had[each] != have[each]],
        "removed": [each for each in had if each not in have],
    }
    changes = "; ".join(
        f"{kind} {', '.join(name for _, name in found)}" for kind, found in kinds.items() if found
    )
    if changes:
        await rest.call("PUT", path, json=wanted)
        LOG.info("registered the commands: %s", changes)
    return changes


def _by_name(commands: Iterable[Mapping[str, Any]]) -> dict[tuple[int, str], dict[str, Any]]:
    found = [_comparable(each) for each in commands]
    return {(each["type"], each["name"]): each for each in found}


def _comparable(command: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a command that an application sets, without those left empty.

    Discord adds ids and versions, and writes permissions as text.
    """
    permissions = command.get("default_member_permissions")
    shown = {
        "type": command.get("type") or 1,
        "name": command["name"],
        "description": command.get("description"),
        "default_member_permissions": None if permissions is None else str(permissions),
        "contexts": sorted(command.get("contexts") or ()),
        "integration_types": sorted(command.get("integration_types") or ()),
        "options": [
            _without_empty({**each, "choices": [*map(_without_empty, each.get("choices") or ())]})
            for each in command.get("options") or ()
        ],
        "nsfw": command.get("nsfw"),
    }
    return _without_empty(shown)


def _without_empty(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value not in (None, False, "", [])}


def _command(name: str, description: str, options: Mapping[str, str]) -> dict[str, Any]:
    text = description[:1].upper() + description[1:]
    clipped = text if len(text) <= DESCRIPTION else f"{text[: DESCRIPTION - 1]}\u2026"
    taken = [_option(*each) for each in options.items()]
    return {**_EVERYWHERE, "type": 1, "name": name, "description": clipped, "options": taken}


def _option(name: str, description: str) -> dict[str, Any]:
    choices = [{"name": meaning, "value": word} for word, meaning in _SCOPES.items()]
    return {
        "type": FILE if name == "file" else TEXT,
        "name": name,
        "description": description,
        "required": name in _REQUIRED,
        **({"choices": choices} if name == "scope" else {}),
        **({"autocomplete": True} if description == _TEAM else {}),
    }
