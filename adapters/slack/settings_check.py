"""Checks of the Slack app for `parley check`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, cast

from slack_sdk.errors import SlackApiError

from adapters.slack.config import Config
from adapters.slack.connection.web_api import SlackClients
from adapters.slack.connection.workspace import UNREACHABLE, Workspace, code_of, unreachable
from adapters.slack.manifest import REASONS, events_of, reach_of, scopes_of
from gateway.adapter import CheckResult
from gateway.config.routes import ANYWHERE, MEMBERS, Route
from gateway.errors import GatewayError

SECONDS = 15.0


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
            problems += await _unknown_people(clients, mine)
            problems += await _unusable_channels(clients, mine)
            problems += unserved_workspaces(config, [each.id for each in clients.workspaces], mine)
            if config.mode == "socket":
                problems += await _sockets(config, clients)
    except GatewayError as error:
        problems.append(str(error))
    where = ", ".join(about) or "installs by others"
    events = ", ".join(events_of(config, reach_of(config, mine)))
    return CheckResult(
        text=f"{where}. Slack does not show which events an app receives. Subscribe to: {events}",
        problems=tuple(problems),
    )


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


async def _unknown_people(clients: SlackClients, routes: Sequence[Route]) -> list[str]:
    """People of routes whom no workspace knows, by the answer of users.info."""
    teams = [each.id for each in clients.workspaces]
    named = dict.fromkeys(user for route in routes for user in route.users if user != MEMBERS)
    return [
        f"a route lets in {user}, who is nobody in {' or '.join(teams)}"
        for user in named
        if teams and not await _is_somebody(clients, teams, user)
    ]


async def _is_somebody(clients: SlackClients, teams: Sequence[str], user: str) -> bool:
    for team in teams:
        client = await clients.client_of(team)
        try:
            await client.users_info(user=user.rpartition(":")[2])
        except SlackApiError as error:
            if code_of(error) == "user_not_found":
                continue
        except UNREACHABLE as error:
            raise unreachable(error) from error
        return True  # also if Slack can't say: the scope may be missing
    return False


async def _unusable_channels(clients: SlackClients, routes: Sequence[Route]) -> list[str]:
    """Channels of routes in which the bot can't work."""
    named = dict.fromkeys(
        (channel, tuple(route.workspace))
        for route in routes
        for channel in route.channels
        if channel != ANYWHERE
    )
    found: list[str] = []
    for channel, given in named:
        there = [each for each in clients.workspaces if each.id in given or not given]
        if there and (problem := await _channel_problem(clients, there, channel)):
            found.append(problem)
    return list(dict.fromkeys(found))


async def _channel_problem(
    clients: SlackClients, workspaces: Sequence[Workspace], channel: str
) -> str:
    """The reason by conversations.info that a channel is unusable, or ""."""
    for workspace in workspaces:
        client = await clients.client_of(workspace.id)
        try:
            answer = await client.conversations_info(channel=channel)
        except SlackApiError as error:
            if code_of(error) == "channel_not_found":
                continue
            return ""  # Slack can't say: the scope may be missing, which is a problem of its own
        except UNREACHABLE as error:
            raise unreachable(error) from error
        found = cast("dict[str, Any]", answer["channel"])
        name = f"#{found.get('name', channel)} ({channel})"
        if found.get("is_archived"):
            return f"{name} of a route is archived: unarchive it, or remove it from the route"
        if not found.get("is_member"):
            return f"the bot is not in {name} of a route: write /invite @{workspace.handle} there"
        return ""
    where = " and ".join(each.name or each.id for each in workspaces)
    return (
        f"a route names the channel {channel}, which the bot can't find in {where}: compare the "
        f"id; into a private channel, let the bot in with /invite @{workspaces[0].handle}"
    )


async def _sockets(config: Config, clients: SlackClients) -> list[str]:
    assert config.app_token is not None  # the config has it for this mode
    token = config.app_token.get_secret_value()
    try:
        async with asyncio.timeout(SECONDS):
            await clients.new_client().apps_connections_open(app_token=token)
    except SlackApiError as error:
        why = code_of(error)
        return [
            f"Slack refused a connection for app_token ({why}): it needs the scope "
            "connections:write, and Socket Mode has to be on"
        ]
    except UNREACHABLE as error:
        return [str(unreachable(error))]
    return []
