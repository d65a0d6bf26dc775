"""users.info, usergroups.* and reactions.*: lookups and marks."""

from __future__ import annotations

import re

from adapters.slack.simulator.call import Call, method
from adapters.slack.simulator.errors import ApiError
from adapters.slack.simulator.methods.conversations import page_of
from adapters.slack.simulator.places import find_channel
from adapters.slack.simulator.state import Channel, Json, Message


@method("users.info", "users:read", per_minute=100)
def info(call: Call) -> Json:
    """One person, also of a workspace that shares a channel.

    A person of an organisation has an `enterprise_user`: docs.slack.dev, "User object".
    """
    user = call.world.user(call.text("user"))
    found = user.json(call.workspace_id)
    home = call.world.workspaces.get(user.team)
    if home is not None and home.enterprise:
        found["enterprise_user"] = {
            "id": user.id,
            "enterprise_id": home.enterprise,
            "enterprise_name": "Simulated",
            "is_admin": False,
            "is_owner": False,
            "teams": [home.id],
        }
        if home.enterprise == call.workspace.enterprise:
            found.pop("is_stranger", None)
    return {"user": found}


@method("users.list", "users:read", per_minute=20)
def list_people(call: Call) -> Json:
    """All people of the workspace: docs.slack.dev/reference/methods/users.list."""
    found = [*call.workspace.users.values()]
    page, cursor = page_of(call, found)
    members = [each.json(call.workspace_id) for each in page]
    return {"members": members, "response_metadata": {"next_cursor": cursor}}


@method("usergroups.list", "usergroups:read", per_minute=20)
def groups(call: Call) -> Json:
    """The user groups (https://docs.slack.dev/reference/methods/usergroups.list)."""
    found = call.workspace.groups.values()
    return {"usergroups": [{"id": each.id, "handle": each.handle} for each in found]}


@method("usergroups.users.list", "usergroups:read", per_minute=20)
def group_members(call: Call) -> Json:
    """The people of a user group."""
    group = call.workspace.groups.get(call.need("usergroup"))
    if group is None:
        raise ApiError("no_such_subteam")
    return {"users": group.members}


@method("reactions.add", "reactions:write", per_minute=50)
def add(call: Call) -> Json:
    """The bot's reaction (https://docs.slack.dev/reference/methods/reactions.add)."""
    _, message = _item(call)
    name, users = call.need("name"), message.reactions.setdefault(call.need("name"), [])
    if not re.fullmatch(r"[a-z0-9_+'-]+(::skin-tone-[2-6])?", name):
        raise ApiError("invalid_name")
    if call.bot in users:
        raise ApiError("already_reacted")
    users.append(call.bot)
    return {}


@method("reactions.remove", "reactions:write", per_minute=20)
def remove(call: Call) -> Json:
    """It is taken off (https://docs.slack.dev/reference/methods/reactions.remove)."""
    _, message = _item(call)
    users = message.reactions.get(call.need("name"), [])
    if call.bot not in users:
        raise ApiError("no_reaction")
    users.remove(call.bot)
    if not users:
        del message.reactions[call.need("name")]
    return {}


@method("reactions.get", "reactions:read")
def get(call: Call) -> Json:
    """A message with its reactions."""
    channel, message = _item(call)
    return {"type": "message", "channel": channel.id, "message": message.json()}


def _item(call: Call) -> tuple[Channel, Message]:
    channel = find_channel(call)
    message = channel.messages.get(call.text("timestamp"))
    if message is None or message.hidden or message.ephemeral:
        raise ApiError("message_not_found")
    if channel.archived:
        raise ApiError("is_archived")
    if call.bot not in channel.members:
        raise ApiError("not_in_channel")
    return channel, message
