"""Ids of buttons and menus, and parsing a click on one.

`action_id` is `g:KIND:NUMBER`, unique in its message; what the click is about stands in the value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from gateway.interactions import Button, ButtonKind

PREFIX = "g"
ASK_TEAM = "ask_team"
"""The `callback_id` of the entry in a message's menu."""
EVENT_TYPE = "parley_part"
"""The `event_type` of the metadata on every message of ours; its payload is `{"key": ...}`."""


def action_id(kind: ButtonKind, number: int = 0) -> str:
    """The `action_id` of an element."""
    return f"{PREFIX}:{kind}:{number}"


def numbered(value: str, number: int) -> str:
    """The value of one element among several with the same `action_id`."""
    return f"{value}:{number}"


def parse_action(payload: Mapping[str, Any]) -> Button | None:
    """Parse an entry of `actions` in a block_actions payload.

    None if it is not an element of ours.
    """
    prefix, kind, number = [*str(payload.get("action_id", "")).split(":"), "", ""][:3]
    if prefix != PREFIX:
        return None
    value, option = str(payload.get("value", "")), payload.get("selected_option")
    if isinstance(option, Mapping):
        value = str(cast("Mapping[str, Any]", option).get("value", ""))
    if isinstance(option, Mapping) or kind == "feedback":
        value, _, number = value.rpartition(":")
    return Button.of(kind, value, number)
