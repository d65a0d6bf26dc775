"""Pure parsers of interactions: commands, buttons, menus and forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adapters.discord.connection.values import InteractionEvent, Payload
from adapters.discord.custom_ids import FORK, parse_button
from adapters.discord.inbound.parse_messages import (
    as_integer,
    as_mapping,
    object_list,
    parse_sender,
    value_list,
)
from adapters.discord.read_message import read_message
from gateway.conversation import AwaitedFile
from gateway.interactions import Button, Choice, Command, Form, FormOpening, Interaction

PING, COMMAND, COMPONENT, AUTOCOMPLETE, MODAL = 1, 2, 3, 4, 5
"""Discord's types of interactions."""
SLASH, ON_MESSAGE = 1, 3
"""Discord's types of commands."""
FILE = 11
"""The type of a command's option that is a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acted:
    """Somebody's use of a command, a button, a menu or a form.

    `does` is None for ids that mean nothing. `message` is that of the button, `chain` the one that
    it is a reply to; `files` come with a command.
    """

    event: InteractionEvent
    does: Interaction | None
    message: str = ""
    chain: str = ""
    files: tuple[AwaitedFile, ...] = ()

    @property
    def root(self) -> str:
        """The message that its conversation hangs on."""
        return self.chain or self.message


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageCommand:
    """The command in a message's menu; `target` is that message."""

    event: InteractionEvent
    target: Payload


@dataclass(frozen=True, slots=True, kw_only=True)
class Typing:
    """The beginning of a team's name in an option of a command."""

    event: InteractionEvent
    text: str


def parse_interaction(payload: Payload) -> Acted | MessageCommand | Typing | None:
    """The interaction; None if it needs no answer of ours.

    Raises KeyError, TypeError or ValueError if it is malformed.
    """
    kind = as_integer(payload["type"])
    if kind not in (COMMAND, COMPONENT, MODAL, AUTOCOMPLETE):
        return None
    event, data = _parse_event(payload), as_mapping(payload["data"])
    if kind == AUTOCOMPLETE:  # one option alone has it
        typed = next((each for each in object_list(data, "options") if each.get("focused")), {})
        return Typing(event=event, text=str(typed.get("value") or ""))
    message = as_mapping(payload.get("message") or {})
    on = str(message.get("id", ""))
    chain = str(as_mapping(message.get("message_reference") or {}).get("message_id") or "")
    if kind != COMMAND:
        does = _parse_click(data) if kind == COMPONENT else _parse_form(data)
        return Acted(event=event, does=does, message=on, chain=chain)
    if as_integer(data.get("type") or SLASH) == ON_MESSAGE:
        used = _parse_message_command(event, data)
        return _parse_fork(used) if data["name"] == FORK else used
    options = object_list(data, "options")
    given = {
        str(each["name"]): _value(each.get("value")) for each in options if each.get("type") != FILE
    }
    does = Command(text=command_text(str(data["name"]), given))
    chosen = [str(each.get("value")) for each in options if each.get("type") == FILE]
    return Acted(event=event, does=does, files=_parse_files(event, data, chosen))


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


def _parse_files(
    event: InteractionEvent, data: Payload, chosen: Sequence[str]
) -> tuple[AwaitedFile, ...]:
    """The files of a command, read like those of a message."""
    resolved = as_mapping(as_mapping(data.get("resolved") or {}).get("attachments") or {})
    files = [as_mapping(resolved[each]) for each in chosen]
    return read_message({"id": event.id, "channel_id": event.channel, "attachments": files}).files


def _parse_message_command(event: InteractionEvent, data: Payload) -> MessageCommand:
    message = as_mapping(data["resolved"]["messages"][str(data["target_id"])])
    as_mapping(message["author"])
    target = {"channel_id": event.channel, **message, "guild_id": event.guild}
    return MessageCommand(event=event, target=target)


def _parse_fork(used: MessageCommand) -> Acted:
    """A fork from the message in whose menu the command was used."""
    chain = as_mapping(used.target.get("message_reference") or {}).get("message_id")
    message = str(used.target["id"])
    fork = Command(text="/fork")
    return Acted(event=used.event, does=fork, message=message, chain=str(chain or ""))


def _parse_click(data: Payload) -> Interaction | None:
    """The meaning of a click, or of a choice."""
    button = parse_button(str(data.get("custom_id", "")))
    if button is None or "values" not in data:
        return button and button.pressed
    values = [Button.of("choice", button.about, str(each)) for each in value_list(data, "values")]
    numbers = tuple(each.number for each in values if each is not None)
    return Choice(request=button.about, numbers=numbers) if numbers else None


def _parse_form(data: Payload) -> Form | None:
    """The form with its first text."""
    button = parse_button(str(data.get("custom_id", "")))
    opened = button and button.pressed
    return opened.sent(_form_text(data)) if isinstance(opened, FormOpening) else None


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
