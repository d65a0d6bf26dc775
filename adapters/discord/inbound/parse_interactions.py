"""What people do other than write: commands, buttons, menus and forms. Pure parsers of payloads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from adapters.discord.connection.values import Event, Payload
from adapters.discord.custom_ids import Action, parse_action
from adapters.discord.inbound.parse_messages import (
    Foreign,
    listed,
    mapping,
    objects,
    parse_sender,
    whole,
)

PING, COMMAND, COMPONENT, AUTOCOMPLETE, MODAL = 1, 2, 3, 4, 5
"""Discord's types of interactions."""
SLASH, ON_MESSAGE = 1, 3
"""Discord's types of commands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """A slash command, with its options as text."""

    event: Event
    name: str
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointed:
    """The command in a message's menu; `foreign` is what that message says."""

    event: Event
    message: str
    foreign: Foreign


@dataclass(frozen=True, slots=True, kw_only=True)
class Clicked:
    """A button, or an option of a menu; `action` is None for what is not ours (any more)."""

    event: Event
    action: Action | None
    message: str
    chain: str = ""
    """The message that the clicked one is a reply to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """A form that was sent."""

    event: Event
    action: Action | None
    text: str
    message: str = ""
    chain: str = ""


Interaction: TypeAlias = Typed | Pointed | Clicked | Filled


def parse_interaction(payload: Payload) -> Interaction | None:
    """What somebody did; None for what needs no answer of ours.

    Raises KeyError, TypeError or ValueError for what is no interaction.
    """
    kind = whole(payload["type"])
    if kind not in (COMMAND, COMPONENT, MODAL):
        return None
    event, data = _event(payload), mapping(payload["data"])
    message = mapping(payload.get("message") or {})
    on = str(message.get("id", ""))
    chain = str(mapping(message.get("message_reference") or {}).get("message_id") or "")
    if kind == COMPONENT:
        return Clicked(event=event, action=_action(data), message=on, chain=chain)
    if kind == MODAL:
        action = parse_action(str(data.get("custom_id", "")))
        return Filled(event=event, action=action, text=_text(data), message=on, chain=chain)
    if whole(data.get("type") or SLASH) == ON_MESSAGE:
        return _pointed(event, data)
    options = objects(data, "options")
    given = {str(each["name"]): _value(each.get("value")) for each in options}
    return Typed(event=event, name=str(data["name"]), options=given)


def _event(payload: Payload) -> Event:
    member = mapping(payload["member"]) if payload.get("member") else None
    user = mapping(member["user"] if member else payload["user"])
    return Event(
        id=str(whole(payload["id"])),
        token=str(payload["token"]),
        application=str(payload["application_id"]),
        channel=str(payload["channel_id"]),
        guild=str(payload.get("guild_id") or ""),
        sender=parse_sender(user, member),
    )


def _pointed(event: Event, data: Payload) -> Pointed:
    target = str(data["target_id"])
    message = mapping(data["resolved"]["messages"][target])
    sender = parse_sender(mapping(message["author"]), webhook="webhook_id" in message)
    foreign = Foreign(text=str(message.get("content") or ""), sender=sender)
    return Pointed(event=event, message=target, foreign=foreign)


def _action(data: Payload) -> Action | None:
    """What the click means; a menu's id says only where its options begin."""
    action = parse_action(str(data.get("custom_id", "")))
    if action is None or action.kind != "menu":
        return action
    values = listed(data, "values")
    chosen = str(values[0]) if values else ""
    if not (chosen.isascii() and chosen.isdigit()):
        return None
    return Action(kind="menu", what=action.what, number=int(chosen))


def _text(data: Payload) -> str:
    """The first text of a form."""
    for row in objects(data, "components"):
        inner = objects(row, "components") or [mapping(row.get("component") or {})]
        for component in inner:
            if "value" in component:
                return str(component["value"])
    return ""


def _value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def as_typed(name: str, options: Mapping[str, str]) -> str:
    """A slash command as the text that stands for it."""
    match name:
        case "approve":
            always = "always" if options.get("always") == "true" else ""
            return _line(name, options.get("id", ""), always)
        case "deny":
            return _line(name, options.get("id", ""), options.get("note", ""))
        case _:
            return _line(name, *options.values())


def _line(name: str, *words: str) -> str:
    return " ".join(filter(None, (f"/{name}", *(word.strip() for word in words))))
