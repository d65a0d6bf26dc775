"""REST: the application itself, its commands, the guilds and people it sees."""

from __future__ import annotations

import base64
import re

from adapters.discord.simulator import payloads
from adapters.discord.simulator.calls import Call, Reply, Routes
from adapters.discord.simulator.errors import (
    ApiError,
    Json,
    invalid,
    known_error,
    required,
    unknown,
    wrong_length,
)
from adapters.discord.simulator.model import Guild
from adapters.discord.simulator.world import World

APPLICATION = "/applications/{application_id}"
COMMANDS = f"{APPLICATION}/commands"
GUILD = "/guilds/{guild_id}"
GUILD_COMMANDS = f"{APPLICATION}{GUILD}/commands"
CHAT_INPUT = 1
NAME = 32
DESCRIPTION = 100
OPTIONS = 25
EMOJI_NAME, EMOJI_BYTES, EMOJIS = range(2, 33), 262_144, 2_000


def _show_own_user(world: World, call: Call) -> Reply:
    return Reply(200, payloads.own_user(world.bot))


def _show_user(world: World, call: Call) -> Reply:
    return Reply(200, payloads.user(world.find_user(call.id("user_id"))))


def _list_own_guilds(world: World, call: Call) -> Reply:
    found = [each for each in world.guilds.values() if world.bot.id in each.members]
    return Reply(200, [payloads.own_guild(each, world.bot) for each in found])


def _leave_guild(world: World, call: Call) -> Reply:
    """Leave a guild: docs.discord.com, resources/user, "Leave Guild"."""
    guild = world.find_guild(call.id("guild_id"))
    if world.bot.id not in guild.members:
        raise unknown("Guild")
    world.remove_member(guild, world.bot)
    return Reply(204)


def _open_direct(world: World, call: Call) -> Reply:
    other = world.find_user(int(call.body.get("recipient_id") or 0))
    return Reply(200, payloads.channel(world.direct(world.bot, other), world.bot))


def _show_guild(world: World, call: Call) -> Reply:
    found = _guild(world, call)
    shown = payloads.guild(found)
    if call.query.get("with_counts") in ("1", "true", "True"):
        count = len(found.members)
        shown |= {"approximate_member_count": count, "approximate_presence_count": count}
    return Reply(200, shown)


def _list_channels(world: World, call: Call) -> Reply:
    found = _guild(world, call)
    seen = [each for each in world.channels.values() if each.guild is found and not each.is_thread]
    return Reply(200, [payloads.channel(each) for each in seen])


def _list_roles(world: World, call: Call) -> Reply:
    return Reply(200, [payloads.role(each) for each in _guild(world, call).roles.values()])


def _show_member(world: World, call: Call) -> Reply:
    found = _guild(world, call).members.get(call.id("user_id"))
    if found is None:
        raise unknown("Member")
    return Reply(200, payloads.member(found))


def _list_members(world: World, call: Call) -> Reply:
    after = int(call.query.get("after") or 0)
    limit = int(call.query.get("limit") or 1)
    found = sorted(_guild(world, call).members.values(), key=lambda each: each.user.id)
    page = [each for each in found if each.user.id > after][:limit]
    return Reply(200, [payloads.member(each) for each in page])


def _search_members(world: World, call: Call) -> Reply:
    """Search by name: docs.discord.com, resources/guild, "Search Guild Members"."""
    wanted = call.query.get("query", "").lower()
    if not wanted:
        raise required("query")
    found = [
        each
        for each in _guild(world, call).members.values()
        if each.user.name.lower().startswith(wanted) or (each.nick or "").lower().startswith(wanted)
    ]
    limit = int(call.query.get("limit") or 1)
    return Reply(200, [payloads.member(each) for each in found[:limit]])


def _list_emojis(world: World, call: Call) -> Reply:
    _scope(world, call)
    return Reply(200, {"items": [*world.application_emojis.values()]})


def _create_emoji(world: World, call: Call) -> Reply:
    """Create one: docs.discord.com, resources/emoji, "Create Application Emoji".

    That page has the limits; clients such as discord.js meet APPLICATION_EMOJI_NAME_ALREADY_TAKEN.
    """
    _scope(world, call)
    name, image = str(call.body.get("name") or ""), str(call.body.get("image") or "")
    if len(name) not in EMOJI_NAME:
        raise wrong_length("name", EMOJI_NAME[0], EMOJI_NAME[-1])
    if not re.fullmatch(r"\w+", name, re.ASCII):
        raise invalid("name", "STRING_TYPE_REGEX", "String value did not match validation regex.")
    if name in world.application_emojis:
        raise invalid(
            "name",
            "APPLICATION_EMOJI_NAME_ALREADY_TAKEN",
            "An emoji with this name already exists for this application.",
        )
    found = re.fullmatch(r"data:image/(?:png|jpeg|gif|webp);base64,([A-Za-z0-9+/]+=*)", image)
    data = base64.b64decode(found[1]) if found else b""
    if not data:
        raise invalid("image", "IMAGE_INVALID", "Unsupported image type given")
    if len(data) > EMOJI_BYTES:
        raise ApiError(400, 50138, "Failed to resize asset below the maximum size: 262144")
    if len(world.application_emojis) >= EMOJIS:
        raise ApiError(400, 30008, f"Maximum number of emojis reached ({EMOJIS})")
    emoji: Json = {
        "id": str(world.ids.new()),
        "name": name,
        "roles": [],
        "user": payloads.user(world.bot),
        "require_colons": True,
        "managed": False,
        "animated": False,
        "available": True,
    }
    world.application_emojis[name] = emoji
    return Reply(201, emoji)


def _list_commands(world: World, call: Call) -> Reply:
    return Reply(200, world.commands.get(_scope(world, call), []))


def _set_commands(world: World, call: Call) -> Reply:
    scope = _scope(world, call)
    known = {(each["name"], each["type"]): each["id"] for each in world.commands.get(scope, [])}
    shown: list[Json] = []
    for index, each in enumerate(call.body or []):
        _check_command(index, each)
        kind = each.get("type") or CHAT_INPUT
        number = known.get((each["name"], kind)) or str(world.ids.new())
        shown.append(_command(world, scope, kind, number, each))
    if len({(each["name"], each["type"]) for each in shown}) < len(shown):
        raise invalid(
            "name",
            "APPLICATION_COMMANDS_DUPLICATE_NAME",
            "Application command names must be unique",
        )
    world.commands[scope] = shown
    return Reply(200, shown)


def _check_command(index: int, command: Json) -> None:
    name = command.get("name")
    if not name:
        raise required(f"{index}.name")
    if not 1 <= len(name) <= NAME:
        raise wrong_length(f"{index}.name", 1, NAME)
    if (command.get("type") or CHAT_INPUT) != CHAT_INPUT:
        return
    if name != name.lower() or " " in name:
        raise invalid(
            f"{index}.name", "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid"
        )
    if not 1 <= len(command.get("description") or "") <= DESCRIPTION:
        raise wrong_length(f"{index}.description", 1, DESCRIPTION)
    if len(command.get("options") or []) > OPTIONS:
        raise wrong_length(f"{index}.options", 0, OPTIONS)


def _command(world: World, scope: int, kind: int, number: str, command: Json) -> Json:
    given = {key: value for key, value in command.items() if value is not None}
    permissions = command.get("default_member_permissions")
    shown: Json = {
        "description": "",
        **given,
        "id": number,
        "application_id": str(world.bot.id),
        "version": str(world.ids.new()),
        "type": kind,
        "default_member_permissions": None if permissions is None else str(permissions),
    }
    return {**shown, "guild_id": str(scope)} if scope else shown


def _scope(world: World, call: Call) -> int:
    if call.id("application_id") != world.bot.id:
        raise known_error("missing access")
    return _guild(world, call).id if "guild_id" in call.parameters else 0


def _guild(world: World, call: Call) -> Guild:
    guild = world.find_guild(call.id("guild_id"))
    if world.bot.id not in guild.members:
        raise known_error("missing access")
    return guild


ROUTES: Routes = {
    ("GET", "/users/@me"): _show_own_user,
    ("GET", "/users/@me/guilds"): _list_own_guilds,
    ("DELETE", "/users/@me/guilds/{guild_id}"): _leave_guild,
    ("POST", "/users/@me/channels"): _open_direct,
    ("GET", "/users/{user_id}"): _show_user,
    ("GET", GUILD): _show_guild,
    ("GET", f"{GUILD}/channels"): _list_channels,
    ("GET", f"{GUILD}/roles"): _list_roles,
    ("GET", f"{GUILD}/members"): _list_members,
    ("GET", f"{GUILD}/members/search"): _search_members,
    ("GET", f"{GUILD}/members/{{user_id}}"): _show_member,
    ("GET", f"{APPLICATION}/emojis"): _list_emojis,
    ("POST", f"{APPLICATION}/emojis"): _create_emoji,
    ("GET", COMMANDS): _list_commands,
    ("PUT", COMMANDS): _set_commands,
    ("GET", GUILD_COMMANDS): _list_commands,
    ("PUT", GUILD_COMMANDS): _set_commands,
}
