"""Findings of `parley check`: the bot's token, intents and permissions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from adapters.discord.config import Config, required_permissions
from adapters.discord.connection.rest import ApiError, Rest
from adapters.discord.connection.values import PARENTS, Payload
from gateway.adapter import CheckResult
from gateway.config.routes import ANYWHERE, MEMBERS, Route
from gateway.errors import GatewayError

CONTENT_GRANTED = 1 << 18 | 1 << 19
"""Flags of an application that may read messages' text, with or without Discord's review."""

ADMINISTRATOR = 1 << 3
EVERYTHING = (1 << 60) - 1

SHOWN_CHANNELS = 5
MOST_SERVERS, MOST_NAMES = 5, 20
"""Servers and names that are looked at for members of the same name."""

NO_PROMPTS = "Discord has no suggested prompts: take suggested_prompts out of its routes"
PUBLIC_BOT = (
    "anybody can add this bot to a server of their own. In the developer portal, set the Install "
    'Link to "None" on the page "Installation", then switch off Public Bot on the page "Bot"'
)


def invite_link(config: Config, application: str) -> str:
    """The address at which a server's admin lets the bot in."""
    bits = sum(required_permissions(config).values())
    return (
        f"https://discord.com/oauth2/authorize?client_id={application}"
        f"&scope=bot+applications.commands&permissions={bits}"
    )


async def check(config: Config, routes: Sequence[Route]) -> CheckResult:
    """Sign in, and look at each place that a route names."""
    mine = [route for route in routes if route.adapter == config.account]
    try:
        async with Rest(config.token, config.api_url) as rest:
            user = await rest.call("GET", "/users/@me")
            application = await rest.call("GET", "/applications/@me")
            joined = await rest.call("GET", "/users/@me/guilds")
            problems = [*_problems(config, application)]
            route_check = _RouteCheck(rest, config, str(user["id"]), _names(joined))
            for route in mine:
                problems += await route_check.check_route(route)
            if any(route.suggested_prompts for route in mine):
                problems.append(NO_PROMPTS)
            warnings = [*_warnings(application), *_check_servers(mine, joined)]
    except GatewayError as error:
        return CheckResult(text="", problems=(str(error),))
    link = invite_link(config, str(application["id"]))
    if problems:
        problems.append(f"add the bot, or give it permissions, at {link}")
    text = f"{user['username']} ({user['id']}); add it to a server at {link}"
    return CheckResult(text=text, problems=tuple(dict.fromkeys(problems)), warnings=tuple(warnings))


async def people_named(config: Config, names: Sequence[str]) -> list[str]:
    """Names of the bot, and of members whose names begin so.

    docs.discord.com, resources/guild, "Search Guild Members": unlike a list, it needs no intent.
    """
    async with Rest(config.token, config.api_url) as rest:
        bot = await rest.call("GET", "/users/@me")
        found = _names_of(bot)
        for guild in (await rest.call("GET", "/users/@me/guilds"))[:MOST_SERVERS]:
            path = f"/guilds/{guild['id']}/members/search"
            for name in list(dict.fromkeys(names))[:MOST_NAMES]:
                query = {"query": name, "limit": "100"}
                for member in await rest.call("GET", path, query=query):
                    if member["user"]["id"] != bot["id"]:
                        found += [*_names_of(member["user"]), str(member.get("nick") or "")]
    return [*filter(None, found)]


def _names_of(user: Payload) -> list[str]:
    return [str(user.get("username") or ""), str(user.get("global_name") or "")]


def _problems(config: Config, application: Payload) -> Iterator[str]:
    """Settings of the portal that keep texts or clicks from the bot.

    Discord, "Receiving and Responding": interactions come over the gateway or to an address.
    """
    if config.message_content and not int(application.get("flags") or 0) & CONTENT_GRANTED:
        yield (
            "Message Content Intent is off: switch it on in the developer portal, page "
            '"Bot", or set message_content = false'
        )
    if application.get("interactions_endpoint_url"):
        yield (
            "an Interactions Endpoint URL is set, so clicks and commands don't reach the bot: "
            'empty it in the developer portal, page "General Information"'
        )


def _warnings(application: Payload) -> Iterator[str]:
    """Strangers may add the bot, or the portal's install link adds none.

    Discord, "Application Object": 0 in integration_types_config is for servers.
    """
    if application.get("bot_public"):
        yield PUBLIC_BOT
    kinds = application.get("integration_types_config") or {}
    install = (kinds.get("0") or {}).get("oauth2_install_params")
    if install and "bot" not in install.get("scopes", ()):
        yield (
            "the portal's install link for servers lacks the scope bot, so it adds no bot: add the "
            'scope on the page "Installation", or use the address given here'
        )


def _names(joined: Sequence[Payload]) -> dict[str, str]:
    return {str(guild["id"]): str(guild.get("name") or guild["id"]) for guild in joined}


def _check_servers(routes: Sequence[Route], joined: Sequence[Payload]) -> list[str]:
    """Servers that the bot is in although no route names them."""
    if not routes or not all(route.workspace for route in routes):
        return []
    named = {server for route in routes for server in route.workspace}
    return [
        f"the bot is in the server {server}, which no route names: remove it there, or set "
        "leave_unknown_servers = true"
        for server in (str(guild["id"]) for guild in joined)
        if server not in named
    ]


@dataclass(slots=True)
class _RouteCheck:
    rest: Rest
    config: Config
    user: str
    joined: Mapping[str, str]
    """Names of the servers that the bot is in, by their ids."""
    _members: dict[str, tuple[Sequence[Payload], Payload]] = field(
        default_factory=dict[str, "tuple[Sequence[Payload], Payload]"]
    )

    async def check_route(self, route: Route) -> list[str]:
        """Mistakes in the places of a route."""
        problems = [
            f"the bot is not in the server {server}"
            for server in route.workspace
            if server not in self.joined
        ]
        for channel in route.channels:
            if channel != ANYWHERE:
                problems += await self._check_channel(channel)
                continue
            for server in self._servers(route):
                problems += await self._check_server(server)
        problems += [
            f"a route lets in {user}, but Discord knows no such user"
            for user in (*route.users, *route.bots)
            if user != MEMBERS and not await self._get(f"/users/{user.rpartition(':')[2]}")
        ]
        return problems + await self._check_roles(route)

    def _servers(self, route: Route) -> list[str]:
        """The route's servers that the bot is in."""
        return [server for server in route.workspace or self.joined if server in self.joined]

    async def _check_roles(self, route: Route) -> list[str]:
        """Roles of a route that none of its servers has."""
        if not route.roles:
            return []
        known: set[str] = set()
        for server in self._servers(route):
            roles, _ = await self._standing(server)
            known |= {str(role["id"]) for role in roles}
        return [
            f"a route lets in the role {role}, which none of its servers has"
            for role in route.roles
            if role not in known
        ]

    async def _check_server(self, server: str) -> list[str]:
        """Permissions that the bot lacks in channels that it can see."""
        name = self.joined[server]
        lacking: dict[str, list[str]] = {}
        visible = 0
        found = await self.rest.call("GET", f"/guilds/{server}/channels")
        channels = [each for each in found if each.get("type") in PARENTS]
        for channel in channels:
            missing = await self._missing(channel, server)
            if "View Channels" in missing:
                continue
            visible += 1
            for each in missing:
                lacking.setdefault(each, []).append(f"#{channel['name']}")
        if channels and not visible:
            return [f"in the server {name} the bot can see no channel: it lacks View Channels"]
        return [
            f"in {_shown(where) if len(where) < visible else 'all channels'} of the server {name} "
            f"the bot lacks {permission}"
            for permission, where in lacking.items()
        ]

    async def _check_channel(self, channel: str) -> list[str]:
        found = await self._get(f"/channels/{channel}")
        if found is None:
            return [f"the bot can't see the channel {channel}"]
        guild = found.get("guild_id")
        if not guild:
            return []
        missing = await self._missing(found, str(guild))
        if not missing:
            return []
        return [f"in #{found.get('name', channel)} the bot lacks {', '.join(missing)}"]

    async def _missing(self, channel: Payload, server: str) -> list[str]:
        """Permissions that the bot needs and lacks in a channel."""
        standing = await self._standing(server)
        permissions = granted_permissions(channel, server, *standing, self.user)
        wanted = required_permissions(self.config)
        return [name for name, bit in wanted.items() if not permissions & bit]

    async def _standing(self, server: str) -> tuple[Sequence[Payload], Payload]:
        """The roles of a server, and the bot's own membership."""
        if server not in self._members:
            roles = await self.rest.call("GET", f"/guilds/{server}/roles")
            member = await self.rest.call("GET", f"/guilds/{server}/members/{self.user}")
            self._members[server] = roles, member
        return self._members[server]

    async def _get(self, path: str) -> Payload | None:
        try:
            return await self.rest.call("GET", path)
        except ApiError:
            return None


def _shown(channels: Sequence[str]) -> str:
    more = len(channels) - SHOWN_CHANNELS
    shown = ", ".join(channels[:SHOWN_CHANNELS])
    return f"{shown} and {more} more" if more > 0 else shown


def granted_permissions(
    channel: Payload, guild: str, roles: Sequence[Payload], member: Payload, user: str
) -> int:
    """A member's permissions in a channel.

    Roles come first, then the channel's overwrites for everyone, for the roles and for the member.
    """
    role_ids = {guild, *map(str, member.get("roles", ()))}
    base = 0
    for role in roles:
        if str(role["id"]) in role_ids:
            base |= int(role["permissions"])
    if base & ADMINISTRATOR:
        return EVERYTHING
    overwrites = channel.get("permission_overwrites") or ()
    for group in ({guild}, role_ids - {guild}, {user}):
        rules = [each for each in overwrites if str(each["id"]) in group]
        for rule in rules:
            base &= ~int(rule["deny"])
        for rule in rules:
            base |= int(rule["allow"])
    return base
