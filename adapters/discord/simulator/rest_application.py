"""REST: the application itself, its commands, the guilds and people it sees."""

from __future__ import annotations

from adapters.discord.simulator import payloads
from adapters.discord.simulator.calls import Call, Reply, Routes
from adapters.discord.simulator.errors import (
    Json,
    invalid,
    missing_access,
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


def me(world: World, call: Call) -> Reply:
    """The application's user."""
    return Reply(200, payloads.own_user(world.bot))


def user(world: World, call: Call) -> Reply:
    """Somebody."""
    return Reply(200, payloads.user(world.find_user(call.id("user_id"))))


def own_guilds(world: World, call: Call) -> Reply:
    """The guilds where the application is."""
    found = [each for each in world.guilds.values() if world.bot.id in each.members]
    return Reply(200, [payloads.own_guild(each, world.bot) for each in found])


def direct(world: World, call: Call) -> Reply:
    """Open the conversation with somebody."""
    other = world.find_user(int(call.body.get("recipient_id") or 0))
    return Reply(200, payloads.channel(world.direct(world.bot, other), world.bot))


def guild(world: World, call: Call) -> Reply:
    """A guild."""
    found = _guild(world, call)
    shown = payloads.guild(found)
    if call.query.get("with_counts") in ("1", "true", "True"):
        count = len(found.members)
        shown |= {"approximate_member_count": count, "approximate_presence_count": count}
    return Reply(200, shown)


def channels(world: World, call: Call) -> Reply:
    """A guild's channels, without its threads."""
    found = _guild(world, call)
    seen = [each for each in world.channels.values() if each.guild is found and not each.is_thread]
    return Reply(200, [payloads.channel(each) for each in seen])


def roles(world: World, call: Call) -> Reply:
    """A guild's roles."""
    return Reply(200, [payloads.role(each) for each in _guild(world, call).roles.values()])


def member(world: World, call: Call) -> Reply:
    """Somebody as a member of a guild."""
    found = _guild(world, call).members.get(call.id("user_id"))
    if found is None:
        raise unknown("Member")
    return Reply(200, payloads.member(found))


def members(world: World, call: Call) -> Reply:
    """A guild's members, by id."""
    after = int(call.query.get("after") or 0)
    limit = int(call.query.get("limit") or 1)
    found = sorted(_guild(world, call).members.values(), key=lambda each: each.user.id)
    page = [each for each in found if each.user.id > after][:limit]
    return Reply(200, [payloads.member(each) for each in page])


def commands(world: World, call: Call) -> Reply:
    """The commands that are registered."""
    return Reply(200, world.commands.get(_scope(world, call), []))


def set_commands(world: World, call: Call) -> Reply:
    """Register these commands in place of those before."""
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
        raise missing_access()
    return _guild(world, call).id if "guild_id" in call.parameters else 0


def _guild(world: World, call: Call) -> Guild:
    guild = world.find_guild(call.id("guild_id"))
    if world.bot.id not in guild.members:
        raise missing_access()
    return guild


ROUTES: Routes = {
    ("GET", "/users/@me"): me,
    ("GET", "/users/@me/guilds"): own_guilds,
    ("POST", "/users/@me/channels"): direct,
    ("GET", "/users/{user_id}"): user,
    ("GET", GUILD): guild,
    ("GET", f"{GUILD}/channels"): channels,
    ("GET", f"{GUILD}/roles"): roles,
    ("GET", f"{GUILD}/members"): members,
    ("GET", f"{GUILD}/members/{{user_id}}"): member,
    ("GET", COMMANDS): commands,
    ("PUT", COMMANDS): set_commands,
    ("GET", GUILD_COMMANDS): commands,
    ("PUT", GUILD_COMMANDS): set_commands,
}
