"""Ids of buttons and menus, and parsing a click on one.

`action_id` is `g:KIND:NUMBER`, unique in its message; what the click is about stands in the value,
and is looked up: neither carries anything that would have to be believed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast, get_args

ActionKind: TypeAlias = Literal[
    "approve",
    "same",
    "below",
    "new",
    "always",
    "deny",
    "note",
    "choice",
    "text",
    "command",
    "feedback",
    "missed",
]
"""Effect of a click.

`note` asks for a reason in a modal before it denies, `text` for an answer; `command` runs a
command; `feedback` rates a message; `missed` has missed messages answered.
"""

PREFIX = "g"
ASK_TEAM = "ask_team"
"""The `callback_id` of the entry in a message's menu."""
EVENT_TYPE = "parley_part"
"""The `event_type` of the metadata on every message of ours; its payload is `{"key": ...}`."""

_KINDS = frozenset(get_args(ActionKind))


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """A click on something of ours.

    `value` is the id of the request, for `command` the command and for `feedback` the key of the
    part. `number` is the index of the chosen option, and for `feedback` 1 for praise, 0 for blame.
    """

    kind: ActionKind
    value: str
    number: int = 0


def action_id(kind: ActionKind, number: int = 0) -> str:
    """The `action_id` of an element."""
    return f"{PREFIX}:{kind}:{number}"


def numbered(value: str, number: int) -> str:
    """The value of one element among several with the same `action_id`."""
    return f"{value}:{number}"


def parse_action(payload: Mapping[str, Any]) -> Action | None:
    """Parse an entry of `actions` in a block_actions payload.

    None if it is not an element of ours.
    """
    prefix, kind, number = [*str(payload.get("action_id", "")).split(":"), "", ""][:3]
    if prefix != PREFIX or kind not in _KINDS:
        return None
    option = payload.get("selected_option")
    if isinstance(option, Mapping):
        value, _, number = str(cast("Mapping[str, Any]", option).get("value", "")).rpartition(":")
    elif kind == "feedback":
        value, _, number = str(payload.get("value", "")).rpartition(":")
    else:
        value = str(payload.get("value", ""))
    if not value or not number.isdecimal():
        return None
    return Action(kind=cast("ActionKind", kind), value=value, number=int(number))
