"""reactions.*: an app's own, and who else has reacted."""

from __future__ import annotations

from adapters.slack.simulator.call import Call, method
from adapters.slack.simulator.errors import ApiError
from adapters.slack.simulator.places import find_channel
from adapters.slack.simulator.state import Channel, Json, Message


@method("reactions.add", "reactions:write")
def add(call: Call) -> Json:
    """React to a message."""
    _, message = _item(call)
    name = call.need("name").strip(":")
    users = message.reactions.setdefault(name, [])
    if call.bot in users:
        raise ApiError("already_reacted")
    users.append(call.bot)
    return {}


@method("reactions.remove", "reactions:write")
def remove(call: Call) -> Json:
    """Take a reaction back."""
    _, message = _item(call)
    name = call.need("name").strip(":")
    if call.bot not in message.reactions.get(name, ()):
        raise ApiError("no_reaction")
    message.reactions[name].remove(call.bot)
    if not message.reactions[name]:
        del message.reactions[name]
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
