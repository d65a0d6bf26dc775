"""Inputs to commands, selects and forms, as the application receives them."""

from __future__ import annotations

from typing import Any, TypeAlias

from adapters.discord.simulator import components, message_actions, payloads
from adapters.discord.simulator.errors import Json
from adapters.discord.simulator.message_drafts import Draft, Upload
from adapters.discord.simulator.model import Channel, Role, User
from adapters.discord.simulator.world import World

File: TypeAlias = tuple[str, bytes, str]
"""A file's name, content and MIME type."""

STRING, ATTACHMENT = 3, 11
NUMBERS = {4: int, 10: float}
LONGEST_OPTION = 6000
LONGEST_FIELD = 4000


class ImpossibleAction(Exception):
    """An action that Discord's client would not let a person do."""


def command_data(command: Json) -> Json:
    """The command that was used."""
    data: Json = {"id": command["id"], "name": command["name"], "type": command["type"]}
    return {**data, "guild_id": command["guild_id"]} if "guild_id" in command else data


def component_data(component: Json) -> Json:
    """The component that was used."""
    kind = component["type"]
    return {"custom_id": component["custom_id"], "component_type": kind, "id": component["id"]}


def find_option(command: Json, option: str) -> Json:
    """An option or sub-command of a command."""
    for known in command.get("options") or []:
        if known["name"] == option:
            return known
    raise ImpossibleAction(f"{command['name']!r} has no option {option!r}.")


def check_all_given(command: Json, given: Json) -> None:
    """Refuse a command of which a required option is missing."""
    for known in command.get("options") or []:
        if known.get("required") and known["name"] not in given:
            raise ImpossibleAction(f"The option {known['name']!r} is required.")


def option_data(world: World, channel: Channel, data: Json, known: Json, value: Any) -> Json:
    """An option with its value; resolved objects are added to `data`."""
    kind = known["type"]
    if isinstance(value, User | Role | Channel):
        value = resolve_value(data, channel, value)
    elif kind == ATTACHMENT:
        value = _attach_file(world, channel, data, value)
    elif kind in NUMBERS:
        value = NUMBERS[kind](value)
    if kind == STRING and len(value) > known.get("max_length", LONGEST_OPTION):
        raise ImpossibleAction(f"The option {known['name']!r} is too long.")
    return {"name": known["name"], "type": kind, "value": value}


def chosen_value(
    channel: Channel, data: Json, select: Json, value: str | User | Role | Channel
) -> str:
    """A chosen value: by label, value, user, role or channel."""
    if not isinstance(value, str):
        return resolve_value(data, channel, value)
    for each in select.get("options") or []:
        if value in (each["value"], each["label"]):
            return str(each["value"])
    raise ImpossibleAction(f"The select has no {value!r}.")


def resolve_value(data: Json, channel: Channel, value: User | Role | Channel) -> str:
    """The id of what was given; `data` tells more of it."""
    key, places = str(value.id), data.setdefault("resolved", {})
    match value:
        case User():
            places.setdefault("users", {})[key] = payloads.user(value)
            if channel.guild and value.id in channel.guild.members:
                member = payloads.member_of(channel.guild.members[value.id])
                places.setdefault("members", {})[key] = {**member, "permissions": "0"}
        case Role():
            places.setdefault("roles", {})[key] = payloads.role(value)
        case Channel():
            shown = {**payloads.channel(value), "permissions": "0"}
            places.setdefault("channels", {})[key] = shown
    return key


def _attach_file(world: World, channel: Channel, data: Json, file: File) -> str:
    draft = Draft(uploads={"0": Upload(*file)})
    (attachment,) = message_actions.attachments(world, channel, draft)
    shown = world.cdn.payload(channel, attachment, ephemeral=True)
    data.setdefault("resolved", {}).setdefault("attachments", {})[shown["id"]] = shown
    return str(shown["id"])


def fill_form(fields: list[Json], values: dict[str, str]) -> list[Json]:
    """A form's fields with what was filled in, by custom id."""
    return [_fill_field(number, each, values) for number, each in enumerate(fields, 1)]


def _fill_field(number: int, field: Json, values: dict[str, str]) -> Json:
    shown: Json = {"type": field["type"], "id": field.get("id") or number}
    if "custom_id" in field:
        given = values.get(field["custom_id"], field.get("value") or "")
        shown["custom_id"] = field["custom_id"]
        if field["type"] == components.INPUT:
            _check_fits(field, given)
            shown["value"] = given
        else:
            shown["values"] = [given] if given else []
    if "components" in field:
        shown["components"] = fill_form(field["components"], values)
    if "component" in field:
        (shown["component"],) = fill_form([field["component"]], values)
    return shown


def _check_fits(field: Json, value: str) -> None:
    if not value and field.get("required", True):
        raise ImpossibleAction(f"The field {field['custom_id']!r} is required.")
    if len(value) > (field.get("max_length") or LONGEST_FIELD):
        raise ImpossibleAction(f"The field {field['custom_id']!r} takes no more text.")
