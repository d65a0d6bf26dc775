"""users.*, bots.*, team.* and usergroups.*: who is there."""

from __future__ import annotations

from adapters.slack.simulator.call import Call, method
from adapters.slack.simulator.errors import ApiError
from adapters.slack.simulator.state import Json


@method("users.info", "users:read", per_minute=100)
def info(call: Call) -> Json:
    """One person, also of a workspace that shares a channel."""
    return {"user": call.world.user(call.text("user")).json(call.workspace_id)}


@method("users.list", "users:read", per_minute=20)
def list_(call: Call) -> Json:
    """The people of a workspace."""
    users = call.workspace.users.values()
    return {
        "members": [each.json(call.workspace_id) for each in users],
        "cache_ts": int(call.world.clock.time()),
        "response_metadata": {"next_cursor": ""},
    }


@method("bots.info", "users:read")
def bot(call: Call) -> Json:
    """One bot."""
    wanted = call.text("bot") or call.world.bot(call.workspace_id).bot_id
    for user in call.workspace.users.values():
        if user.bot_id == wanted:
            return {
                "bot": {
                    "id": user.bot_id,
                    "deleted": user.deleted,
                    "name": user.name,
                    "updated": 1_700_000_000,
                    "app_id": user.app_id,
                    "user_id": user.id,
                    "icons": {},
                }
            }
    raise ApiError("bot_not_found")


@method("team.info", "team:read")
def team(call: Call) -> Json:
    """The workspace."""
    workspace = call.workspace
    body: Json = {
        "id": workspace.id,
        "name": workspace.name,
        "domain": workspace.domain,
        "email_domain": "",
        "url": f"https://{workspace.domain}.slack.com/",
        "icon": {"image_default": True},
    }
    if workspace.enterprise:
        body |= {"enterprise_id": workspace.enterprise, "enterprise_name": "Simulated"}
    return {"team": body}


@method("usergroups.list", "usergroups:read", per_minute=20)
def groups(call: Call) -> Json:
    """User groups of a workspace, with their people if `include_users` is set."""
    found = [
        {
            "id": group.id,
            "team_id": call.workspace_id,
            "is_usergroup": True,
            "name": group.handle,
            "handle": group.handle,
            "user_count": len(group.members),
            "users": group.members if call.flag("include_users") else [],
        }
        for group in call.workspace.groups.values()
    ]
    return {"usergroups": found}


@method("usergroups.users.list", "usergroups:read", per_minute=20)
def group_members(call: Call) -> Json:
    """The people of a user group."""
    group = call.workspace.groups.get(call.need("usergroup"))
    if group is None:
        raise ApiError("no_such_subteam")
    return {"users": group.members}
