"""Methods of auth, apps and oauth: tokens and sockets."""

from __future__ import annotations

from adapters.slack.simulator.call import Call, method
from adapters.slack.simulator.errors import ApiError
from adapters.slack.simulator.installs import issue
from adapters.slack.simulator.state import Json


@method("auth.test", per_minute=600)
def test(call: Call) -> Json:
    """The identity of the token."""
    if not call.grant.workspace:
        return _organisation(call)
    workspace, bot = call.workspace, call.world.bot(call.workspace_id)
    body: Json = {
        "url": f"https://{workspace.domain}.slack.com/",
        "team": workspace.name,
        "user": bot.name,
        "team_id": workspace.id,
        "user_id": bot.id,
        "bot_id": bot.bot_id,
        "is_enterprise_install": False,
    }
    if workspace.enterprise:
        body["enterprise_id"] = workspace.enterprise
    return body


def _organisation(call: Call) -> Json:
    """An organisation, which stands where a workspace does.

    As in https://github.com/lobu-ai/lobu/pull/3047.
    """
    org, world = call.grant.enterprise, call.world
    first = next((each for each in world.workspaces.values() if each.enterprise == org), None)
    bot = world.bot(first.id) if first else None
    return {
        "url": "https://simulated.enterprise.slack.com/",
        "team": "Simulated",
        "user": bot.name if bot else "parley",
        "team_id": org,
        "user_id": bot.id if bot else "U0ORGBOT",
        "bot_id": bot.bot_id if bot else "B0ORGBOT",
        "enterprise_id": org,
        "is_enterprise_install": True,
    }


@method("auth.teams.list", per_minute=20)
def teams(call: Call) -> Json:
    """The workspaces of an organisation's token."""
    org, spaces = call.grant.enterprise, call.world.workspaces.values()
    return {
        "teams": [{"id": each.id, "name": each.name} for each in spaces if each.enterprise == org]
    }


@method("auth.revoke")
def revoke(call: Call) -> Json:
    """Give the token back."""
    call.grant.revoked = True
    return {"revoked": True}


@method("apps.connections.open", token="app")
def connections_open(call: Call) -> Json:
    """A URL for one Socket Mode connection."""
    ticket = call.world.ticket
    if ticket is None or not call.world.app.socket_mode:
        raise ApiError("link_disabled")
    base = call.world.base.replace("http://", "ws://", 1)
    return {"url": f"{base}/link/?ticket={ticket()}&app_id={call.world.app.id}"}


@method("oauth.v2.access", token="none", per_minute=600)
def access(call: Call) -> Json:
    """Exchange a code, or a refresh token, for a token."""
    app = call.world.app
    if (call.text("client_id"), call.text("client_secret")) != (app.client_id, app.client_secret):
        raise ApiError("bad_client_secret" if call.text("client_id") else "invalid_client_id")
    if call.text("grant_type") == "refresh_token":
        return _renew(call)
    code = call.world.codes.pop(call.text("code"), None)
    if code is None:
        raise ApiError("invalid_code")
    if code["redirect_uri"] != call.text("redirect_uri", code["redirect_uri"]):
        raise ApiError("bad_redirect_uri")
    grant = issue(call.world, workspace=code["workspace"], enterprise=code["enterprise"])
    return _granted(call, grant.token, code["user"])


def _renew(call: Call) -> Json:
    for grant in call.world.grants.values():
        if grant.refresh and grant.refresh == call.text("refresh_token"):
            if grant.uninstalled or grant.revoked:
                raise ApiError("token_revoked")
            grant.refresh = ""
            new = issue(call.world, workspace=grant.workspace, enterprise=grant.enterprise)
            return _granted(call, new.token, "")
    raise ApiError("invalid_refresh_token")


def _granted(call: Call, token: str, user: str) -> Json:
    world = call.world
    grant = world.grants[token]
    workspace = next(
        each
        for each in world.workspaces.values()
        if each.id == grant.workspace
        or (not grant.workspace and each.enterprise == grant.enterprise)
    )
    body: Json = {
        "app_id": world.app.id,
        "authed_user": {"id": user},
        "scope": ",".join(sorted(grant.scopes)),
        "token_type": "bot",
        "access_token": grant.token,
        "bot_user_id": world.bot(workspace.id).id,
        "team": {"id": workspace.id, "name": workspace.name} if grant.workspace else None,
        "enterprise": None,
        "is_enterprise_install": not grant.workspace,
    }
    if workspace.enterprise:
        body["enterprise"] = {"id": workspace.enterprise, "name": "Simulated"}
    if grant.expires is not None:
        body |= {
            "refresh_token": grant.refresh,
            "expires_in": int(grant.expires - world.clock.time()),
        }
    return body
