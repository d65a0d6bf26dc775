"""Targets of calls: the channel, thread and message they name."""

from __future__ import annotations

from adapters.slack.simulator.call import Call
from adapters.slack.simulator.errors import ApiError
from adapters.slack.simulator.state import Channel, ChannelKind, Message

READ_SCOPES = {"channel": "channels", "group": "groups", "im": "im", "mpim": "mpim"}


def find_channel(call: Call, name: str = "channel") -> Channel:
    """The channel by id, name, or a direct message's user."""
    wanted = call.text(name)
    if not wanted:
        raise ApiError("channel_not_found")
    if wanted.startswith("U"):
        return call.world.direct(call.workspace_id, wanted)
    for channel in call.workspace.channels.values():
        if channel.name == wanted.removeprefix("#") and channel.kind != "im":
            return channel
    channel = call.world.channel(call.workspace_id, wanted)
    if channel.kind != "channel" and call.bot not in channel.members:
        raise ApiError("channel_not_found")
    return channel


def writable(call: Call, name: str = "channel") -> Channel:
    """The channel that an argument names, if the app may write there.

    Who may post is a matter of the workspace, the channel (`restricted_action...`) and the app's
    settings (`messages_tab_disabled`): docs.slack.dev, "chat.postMessage", errors.
    """
    channel = find_channel(call, name)
    if channel.archived:
        raise ApiError("is_archived")
    if call.bot not in channel.members:
        raise ApiError("not_in_channel")
    if channel.refusal:
        raise ApiError(channel.refusal)
    return channel


def need_scope(call: Call, kind: ChannelKind, action: str) -> None:
    """Refuse to read or list a kind of channels without its scope."""
    scope = f"{READ_SCOPES[kind]}:{action}"
    if scope not in call.grant.scopes:
        provided = ",".join(sorted(call.grant.scopes))
        raise ApiError("missing_scope", needed=scope, provided=provided)


def thread_of(call: Call, channel: Channel) -> str:
    """The root that `thread_ts` names, or "".

    A reply's ts, or none's, is refused.
    """
    root = call.text("thread_ts")
    if root in channel.locked:
        raise ApiError("restricted_action_thread_locked")
    if not root or not call.world.strict_threads:
        return root
    message = channel.messages.get(root)
    if message is None or message.ephemeral:
        raise ApiError("thread_not_found")
    if message.root != root:
        raise ApiError("cannot_reply_to_message")
    return root


def own_message(call: Call, channel: Channel, refusal: str) -> Message:
    """The app's message that `ts` names."""
    message = channel.messages.get(call.need("ts"))
    if message is None or message.hidden or message.ephemeral:
        raise ApiError("message_not_found")
    if message.user != call.bot:
        raise ApiError(refusal)
    return message
