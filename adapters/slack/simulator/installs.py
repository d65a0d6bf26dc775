"""Tokens of the app: installations into workspaces and organisations, and their end."""

from __future__ import annotations

import secrets
from urllib.parse import urlencode

from aiohttp import web

from adapters.slack.simulator.world import Grant, World

TOKEN_LIFE = 12 * 3600.0


def issue(world: World, *, workspace: str = "", enterprise: str = "", token: str = "") -> Grant:
    """Create an installation; its token expires if the app's tokens rotate."""
    rotating = world.app.rotation
    prefix = "xoxe.xoxb-" if rotating else "xoxb-"
    grant = Grant(
        token=token or f"{prefix}simulated-{secrets.token_hex(12)}",
        workspace=workspace,
        enterprise="" if workspace else enterprise,
        scopes=world.app.scopes,
    )
    if rotating:
        grant.refresh = f"xoxe-1-simulated-{secrets.token_hex(12)}"
        grant.expires = world.clock.time() + TOKEN_LIFE
    world.grants[grant.token] = grant
    return grant


def revoke(world: World, workspace: str) -> None:
    """Revoke the app's tokens and tell the app."""
    bot = world.bot(workspace)
    event = {"type": "tokens_revoked", "tokens": {"oauth": [], "bot": [bot.id]}}
    world.emit(workspace, event)
    for grant in world.grants.values():
        if grant.workspace == workspace:
            grant.revoked = True


def uninstall(world: World, workspace: str) -> None:
    """Somebody removes the app from a workspace."""
    world.emit(workspace, {"type": "app_uninstalled"})
    for grant in world.grants.values():
        if grant.workspace == workspace:
            grant.uninstalled = True


def grant_access(world: World, *workspaces: str) -> None:
    """An organisation lets the app work in these workspaces of it.

    As in https://docs.slack.dev/reference/events/team_access_granted; the app is told of an
    organisation, but of no installation for one: https://github.com/slackapi/bolt-js/issues/1778.
    """
    org = world.workspaces[workspaces[0]].enterprise
    about = {"team_id": None, "enterprise_id": org}
    event = {"type": "team_access_granted", "team_ids": [*workspaces]}
    told = {"is_bot": False, "is_enterprise_install": False, "user_id": None}
    world.emit(workspaces[0], event, more={**about, "authorizations": [{**about, **told}]})


class Consent:
    """The OAuth consent page, `/oauth/v2/authorize`.

    Nobody has to press its button: whoever opens it agrees, with the query's `team` naming the
    workspace and `org_wide=1` the whole organisation.
    """

    def __init__(self, world: World) -> None:
        self._world = world

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Grant consent, and redirect to the app with a code.

        Refuses what Slack would refuse.
        """
        world, query = self._world, request.query
        if query.get("client_id") != world.app.client_id:
            return web.Response(status=400, text="invalid client_id")
        redirect = query.get("redirect_uri") or next(iter(world.app.redirects), "")
        if world.app.redirects and not redirect.startswith(world.app.redirects):
            return web.Response(status=400, text="bad redirect_uri")
        scopes = set(filter(None, query.get("scope", "").split(",")))
        if not scopes <= world.app.scopes:
            return web.Response(status=400, text="invalid scope")
        workspace = world.workspaces[query.get("team") or next(iter(world.workspaces))]
        code = secrets.token_urlsafe(12)
        person = next(each for each in workspace.users.values() if not each.bot_id)
        world.codes[code] = {
            "workspace": "" if query.get("org_wide") else workspace.id,
            "enterprise": workspace.enterprise,
            "user": person.id,
            "redirect_uri": redirect,
        }
        back = urlencode({"code": code, "state": query.get("state", "")})
        raise web.HTTPFound(f"{redirect}?{back}")
