"""Pure parsers of interactions: commands, buttons, menus and forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from adapters.discord.connection.values import InteractionEvent, Payload
from adapters.discord.custom_ids import Action, parse_action
from adapters.discord.inbound.parse_messages import (
    as_integer,
    as_mapping,
    object_list,
    parse_sender,
    value_list,
)

PING, COMMAND, COMPONENT, AUTOCOMPLETE, MODAL = 1, 2, 3, 4, 5
"""Discord's types of interactions."""
SLASH, ON_MESSAGE = 1, 3
"""Discord's types of commands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlashCommand:
    """A slash command, with its options as text."""

    event: InteractionEvent
    name: str
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageCommand:
    """The command in a message's menu; `target` is that message."""

    event: InteractionEvent
    target: Payload


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentClick:
    """A clicked button or menu option; `action` is None for unknown ids."""

    event: InteractionEvent
    action: Action | None
    message: str
    chain: str = ""
    """The message that the clicked one is a reply to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModalSubmit:
    """A form that was sent."""

    event: InteractionEvent
    action: Action | None
    text: str
    message: str = ""
    chain: str = ""


Interaction: TypeAlias = SlashCommand | MessageCommand | ComponentClick | ModalSubmit


def parse_interaction(payload: Payload) -> Interaction | None:
    """The interaction; None if it needs no answer of ours.

    Raises KeyError, TypeError or ValueError if it is malformed.
    """
    kind = as_integer(payload["type"])
    if kind not in (COMMAND, COMPONENT, MODAL):
        return None
    event, data = _parse_event(payload), as_mapping(payload["data"])
    message = as_mapping(payload.get("message") or {})
    on = str(message.get("id", ""))
    chain = str(as_mapping(message.get("message_reference") or {}).get("message_id") or "")
    if kind == COMPONENT:
        return ComponentClick(event=event, action=_parse_click(data), message=on, chain=chain)
    if kind == MODAL:
        action = parse_action(str(data.get("custom_id", "")))
        return ModalSubmit(
            event=event, action=action, text=_form_text(data), message=on, chain=chain
        )
    if as_integer(data.get("type") or SLASH) == ON_MESSAGE:
        return _parse_message_command(event, data)
    options = object_list(data, "options")
    given = {str(each["name"]): _value(each.get("value")) for each in options}
    return SlashCommand(event=event, name=str(data["name"]), options=given)


def _parse_event(payload: Payload) -> InteractionEvent:
    member = as_mapping(payload["member"]) if payload.get("member") else None
    user = as_mapping(member["user"] if member else payload["user"])
    return InteractionEvent(
        id=str(as_integer(payload["id"])),
        token=str(payload["token"]),
        application=str(payload["application_id"]),
        channel=str(payload["channel_id"]),
        guild=str(payload.get("guild_id") or ""),
        sender=parse_sender(user, member),
    )


def _parse_message_command(event: InteractionEvent, data: Payload) -> MessageCommand:
    message = as_mapping(data["resolved"]["messages"][str(data["target_id"])])
    as_mapping(message["author"])
    target = {"channel_id": event.channel, **message, "guild_id": event.guild}
    return MessageCommand(event=event, target=target)


def _parse_click(data: Payload) -> Action | None:
    """The action of a click; a menu's id gives its first option."""
    action = parse_action(str(data.get("custom_id", "")))
    if action is None or action.kind != "menu":
        return action
    values = value_list(data, "values")
    chosen = str(values[0]) if values else ""
    if not (chosen.isascii() and chosen.isdigit()):
        return None
    return Action(kind="menu", what=action.what, number=int(chosen))


def _form_text(data: Payload) -> str:
    """The first text of a form."""
    for row in object_list(data, "components"):
        inner = object_list(row, "components") or [as_mapping(row.get("component") or {})]
        for component in inner:
            if "value" in component:
                return str(component["value"])
    return ""


def _value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def command_text(name: str, options: Mapping[str, str]) -> str:
    """A slash command as the text that stands for it."""
    match name:
        case "approve":
            return _line(name, options.get("id", ""), options.get("scope", ""))
        case "deny":
            return _line(name, options.get("id", ""), options.get("note", ""))
        case _:
            return _line(name, *options.values())


def _line(name: str, *words: str) -> str:
    return " ".join(filter(None, (f"/{name}", *(word.strip() for word in words))))
