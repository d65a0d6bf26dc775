"""Checks of the Slack app for `parley check`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from adapters.slack.config import Config
from adapters.slack.connection.payload import Payload, table_at
from adapters.slack.connection.socket_mode import socket_address
from adapters.slack.connection.web_api import Calls, Refusal, SlackClients
from adapters.slack.connection.workspace import Workspace
from adapters.slack.manifest import REASONS, events_of, reach_of, scopes_of
from gateway.adapter import CheckResult
from gateway.config.routes import ANYWHERE, MEMBERS, Route
from gateway.errors import GatewayError
from gateway.surface import CallRejected, RateLimited

TRIES = 2
PAGE, PAGES = 200, 5
"""Members on a page of users.list, and pages that are read."""


async def check(config: Config, routes: Sequence[Route]) -> CheckResult:
    """Sign in with every token and compare its scopes."""
    mine = [route for route in routes if route.adapter == config.account]
    problems: list[str] = []
    about: list[str] = []
    try:
        async with SlackClients(config) as clients:
            for workspace in clients.workspaces:
                about.append(f"{workspace.name or workspace.id} ({workspace.id})")
                problems += missing_scopes(config, workspace, mine)
            problems += _unknown_bots(mine)
            problems += await _unknown_people(Calls(clients), mine)
            problems += await _unusable_channels(Calls(clients), mine)
            problems += unserved_workspaces(config, [each.id for each in clients.workspaces], mine)
            if config.mode == "socket":
                await socket_address(clients, config)
    except GatewayError as error:
        problems.append(str(error))
    none = "installs by others" if config.client_id else "no workspace yet"
    where = ", ".join(about) or none
    events = ", ".join(events_of(config, reach_of(config, mine)))
    return CheckResult(
        text=f"{where}. Slack does not show which events an app receives. Subscribe to: {events}",
        problems=tuple(problems),
    )


async def people_named(config: Config, names: Sequence[str]) -> list[str]:
    """Names of the bot and of each workspace's first thousand members."""
    found: list[str] = []
    async with SlackClients(config) as clients:
        for workspace in clients.workspaces:
            found.append(workspace.handle)
            cursor = ""
            for _ in range(PAGES if names else 0):
                page = await Calls(clients).read(
                    workspace.id, "users.list", limit=PAGE, cursor=cursor
                )
                for user in page["members"]:
                    if not (user.get("deleted") or user["id"] == workspace.user):
                        profile = table_at(user, "profile")
                        found += [str(user.get("real_name") or ""), str(user.get("name") or "")]
                        found.append(str(profile.get("display_name") or ""))
                if not (
                    cursor := str(table_at(page, "response_metadata").get("next_cursor") or "")
                ):
                    break
    return [*filter(None, found)]


def missing_scopes(config: Config, workspace: Workspace, routes: Sequence[Route]) -> list[str]:
    """The scopes that a workspace's token lacks, in words."""
    needed = scopes_of(config, reach_of(config, routes))
    wanted = [scope for scope in needed if scope not in workspace.scopes]
    return [
        f"in {workspace.id} the scope {scope} is missing, {REASONS[scope]}: add it under OAuth & "
        "Permissions, then install the app again"
        for scope in wanted
    ]


def unserved_workspaces(config: Config, teams: Sequence[str], routes: Sequence[Route]) -> list[str]:
    """Routes of workspaces for which there is no token."""
    if config.client_id:
        return []
    named = dict.fromkeys(team for route in routes for team in route.workspace)
    return [
        f"a route names the workspace {team}, but bot_token has no token for it"
        for team in named
        if team not in teams
    ]


def _unknown_bots(routes: Sequence[Route]) -> list[str]:
    """Bots of routes that are not named by an id."""
    named = dict.fromkeys(bot for route in routes for bot in route.bots)
    return [
        f"a route lets in the bot {bot!r}, which is no id: give the id of the bot (B...) or of its "
        "user (U...)"
        for bot in named
        if not bot.rpartition(":")[2].startswith(("B", "U", "W"))
    ]


async def _unknown_people(calls: Calls, routes: Sequence[Route]) -> list[str]:
    """People of routes whom no workspace knows, by the answer of users.info."""
    teams = [each.id for each in calls.clients.workspaces]
    named = dict.fromkeys(user for route in routes for user in route.users if user != MEMBERS)
    found: list[str] = []
    for user in named if teams else ():
        ident = user.rpartition(":")[2]
        known = [await _find(calls, team, "users.info", user=ident) for team in teams]
        if all(each is None for each in known):
            found.append(f"a route lets in {user}, but {' or '.join(teams)} has no such user")
    return found


async def _find(calls: Calls, team: str, method: str, **arguments: str) -> Payload | None:
    """Slack's answer; None for nobody or nothing.

    It is empty where Slack can't say.
    """
    for _ in range(TRIES):
        try:
            return await calls.read(team, method, **arguments)
        except RateLimited as error:
            await asyncio.sleep(error.retry_after)
        except CallRejected as error:  # the scope may be missing, which is a problem of its own
            code = error.code if isinstance(error, Refusal) else ""
            return None if error.gone or code == "user_not_found" else {}
    return {}


async def _unusable_channels(calls: Calls, routes: Sequence[Route]) -> list[str]:
    """Channels of routes in which the bot can't work."""
    named = dict.fromkeys(
        (channel, tuple(route.workspace))
        for route in routes
        for channel in route.channels
        if channel != ANYWHERE
    )
    found: list[str] = []
    for channel, given in named:
        there = [each for each in calls.clients.workspaces if each.id in given or not given]
        if there and (problem := await _channel_problem(calls, there, channel)):
            found.append(problem)
    return list(dict.fromkeys(found))


async def _channel_problem(calls: Calls, workspaces: Sequence[Workspace], channel: str) -> str:
    """The reason by conversations.info that a channel is unusable, or ""."""
    for workspace in workspaces:
        answer = await _find(calls, workspace.id, "conversations.info", channel=channel)
        if answer is None:
            continue
        found = table_at(answer, "channel")
        name = f"#{found.get('name', channel)} ({channel})"
        if found.get("is_archived"):
            return f"{name} of a route is archived: unarchive it, or remove it from the route"
        if found and not found.get("is_member"):
            return f"the bot is not in {name} of a route: write /invite @{workspace.handle} there"
        return ""
    where = " and ".join(each.name or each.id for each in workspaces)
    return (
        f"a route names the channel {channel}, which the bot can't find in {where}: compare the "
        f"id; into a private channel, let the bot in with /invite @{workspaces[0].handle}"
    )
