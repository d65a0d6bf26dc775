"""Elements of blocks, their ids, and parsing a click on one.

`action_id` is `g:KIND:NUMBER`, unique in its message; what the click is about stands in the value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

from gateway.interactions import Button, ButtonKind
from gateway.render.sanitize import label

Block: TypeAlias = dict[str, Any]

PREFIX = "g"
ASK_TEAM, FORK = "ask_team", "fork"
"""The `callback_id`s of the entries in a message's menu."""
HOME = f"{PREFIX}:home"
"""The `callback_id` of people's own pages, whose buttons say in their block where they belong."""
EVENT_TYPE = "parley_part"
"""The `event_type` of the metadata on every message of ours; its payload is `{"key": ...}`."""
OPTION, VALUE, SECTION = 75, 150, 2900
CHOICES = "choices"
"""The block with a card's menu of several options; its element's id is MENU."""
MENU = f"{PREFIX}:options:0"
_STYLES: dict[ButtonKind, str] = {"approve": "primary", "deny": "danger"}


def plain(text: str) -> Block:
    """A text without marks."""
    return {"type": "plain_text", "text": text, "emoji": False}


def option(text: str) -> Block:
    """The text of a button or of an option."""
    return plain(label(text, OPTION) or "\u2026")


def section(text: str) -> Block:
    """A paragraph of mrkdwn."""
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def actions(*elements: Block) -> Block:
    """A row of buttons or menus."""
    return {"type": "actions", "elements": list(elements)}


def button_element(button: Button) -> Block:
    """A button."""
    shown: Block = {
        "type": "button",
        "text": option(button.label),
        "action_id": action_id(button.kind, button.number),
        "value": button.about[:2000],
    }
    style = _STYLES.get(button.kind)
    return shown | {"style": style} if style else shown


def choices_input(options: Sequence[Button]) -> Block:
    """A menu from which several may be chosen.

    In an input block it tells nothing by itself: the button beside it comes with what is chosen.
    """
    menu: Block = {
        "type": "multi_static_select",
        "action_id": MENU,
        "placeholder": plain("Choose"),
        "options": [{"text": option(each.label), "value": str(each.number)} for each in options],
    }
    return {"type": "input", "block_id": CHOICES, "label": plain("Your choices"), "element": menu}


def command_menu(commands: Sequence[tuple[str, str]]) -> list[Block]:
    """A row with a menu of commands; none if there are none.

    A value has at most 150 characters
    (https://docs.slack.dev/reference/block-kit/composition-objects/option-object).
    """
    valued = [(numbered(each, n), option(name)) for n, (each, name) in enumerate(commands)]
    options = [{"text": text, "value": value} for value, text in valued if len(value) <= VALUE]
    menu: Block = {"type": "static_select", "action_id": action_id("command"), "options": options}
    return [actions(menu | {"placeholder": plain("Choose")})] if options else []


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
