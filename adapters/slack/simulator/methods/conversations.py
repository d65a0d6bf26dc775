"""conversations.*: channels, and what was written there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from adapters.slack.simulator.call import Call, method
from adapters.slack.simulator.errors import ApiError
from adapters.slack.simulator.places import find_channel, need_scope
from adapters.slack.simulator.state import Channel, ChannelKind, Json, Message

T = TypeVar("T")

KINDS: dict[str, ChannelKind] = {
    "public_channel": "channel",
    "private_channel": "group",
    "im": "im",
    "mpim": "mpim",
}
MOST_OUTSIDE_MARKETPLACE = 15
LARGEST_PAGE = 999
READ = ("channels:read", "groups:read", "im:read", "mpim:read")
HISTORY = ("channels:history", "groups:history", "im:history", "mpim:history")


@method("conversations.list", *READ, per_minute=20)
def list_(call: Call) -> Json:
    """The conversations of a workspace that the app may see."""
    kinds = {KINDS.get(each) for each in call.text("types", "public_channel").split(",")}
    found = [
        channel
        for channel in call.workspace.channels.values()
        if channel.kind in kinds
        and (channel.kind == "channel" or call.bot in channel.members)
        and not (channel.archived and call.flag("exclude_archived"))
    ]
    page, cursor = page_of(call, found)
    return {
        "channels": [channel.json(call.bot) for channel in page],
        "response_metadata": {"next_cursor": cursor},
    }


@method("conversations.info", *READ)
def info(call: Call) -> Json:
    """A conversation, by its id alone; the number of members on request.

    Its kind needs its own scope; a private one that the app is not in is none for the app:
    https://docs.slack.dev/reference/methods/conversations.info
    """
    channel = call.world.channel(call.workspace_id, call.need("channel"))
    if channel.kind != "channel" and call.bot not in channel.members:
        raise ApiError("channel_not_found")
    need_scope(call, channel.kind, "read")
    told = channel.json(call.bot)
    if not call.flag("include_num_members"):
        told.pop("num_members", None)
    return {"channel": told}


@method("conversations.members", *READ)
def members(call: Call) -> Json:
    """The ids of a conversation's members.

    https://docs.slack.dev/reference/methods/conversations.members
    """
    channel = find_channel(call)
    need_scope(call, channel.kind, "read")
    page, cursor = page_of(call, sorted(channel.members))
    return {"members": page, "response_metadata": {"next_cursor": cursor}}


@method("users.conversations", *READ)
def of_member(call: Call) -> Json:
    """The conversations that the app is a member of.

    Each kind needs its own scope, and the number of members is left out:
    https://docs.slack.dev/reference/methods/users.conversations
    """
    asked = call.text("types", "public_channel").split(",")
    kinds: set[ChannelKind] = {KINDS[each] for each in asked if each in KINDS}
    for wanted in kinds:
        need_scope(call, wanted, "read")
    found = [
        channel
        for channel in call.workspace.channels.values()
        if channel.kind in kinds
        and call.bot in channel.members
        and not (channel.archived and call.flag("exclude_archived"))
    ]
    page, cursor = page_of(call, found)
    told = [channel.json(call.bot) for channel in page]
    for each in told:
        each.pop("is_member", None)
        each.pop("num_members", None)
    return {"channels": told, "response_metadata": {"next_cursor": cursor}}


@method("conversations.join", "channels:join")
def join(call: Call) -> Json:
    """Let the app join a public channel."""
    channel = find_channel(call)
    if channel.archived:
        raise ApiError("is_archived")
    channel.members.add(call.bot)
    return {"channel": channel.json(call.bot)}


@method("conversations.history", *HISTORY)
def history(call: Call) -> Json:
    """The newest messages of a channel, without the replies.

    With `oldest` alone, the page is the one next to that, not the newest:
    https://github.com/slackhq/slack-api-docs/issues/4
    """
    channel = _readable(call)
    roots = [
        message
        for message in channel.visible()
        if message.root == message.ts or message.subtype == "thread_broadcast"
    ]
    found = _within(call, roots)
    if call.text("oldest") and not call.text("latest"):
        answer = _messages(call, channel, found)
        answer["messages"].reverse()
        return answer
    return _messages(call, channel, found[::-1])


@method("conversations.replies", *HISTORY)
def replies(call: Call) -> Json:
    """A thread, its root first."""
    channel = _readable(call)
    asked = channel.messages.get(call.need("ts"))
    if asked is None or asked.hidden or asked.ephemeral:
        raise ApiError("thread_not_found")
    thread = channel.thread(asked.root)
    found = thread[:1] + _within(call, thread[1:])
    return _messages(call, channel, found)


def _readable(call: Call) -> Channel:
    channel = find_channel(call)
    need_scope(call, channel.kind, "history")
    if call.bot not in channel.members:
        raise ApiError("not_in_channel")
    return channel


def _within(call: Call, messages: list[Message]) -> list[Message]:
    oldest = float(call.text("oldest", "0"))
    latest = float(call.text("latest", "inf"))
    if call.flag("inclusive"):
        return [each for each in messages if oldest <= float(each.ts) <= latest]
    return [each for each in messages if oldest < float(each.ts) < latest]


def _messages(call: Call, channel: Channel, found: Sequence[Message]) -> Json:
    most = MOST_OUTSIDE_MARKETPLACE if call.world.app.outside_marketplace else None
    page, cursor = page_of(call, found, most)
    metadata = call.flag("include_all_metadata")
    answer: Json = {
        "messages": [channel.read(each, metadata=metadata) for each in page],
        "has_more": bool(cursor),
    }
    if cursor:
        answer["response_metadata"] = {"next_cursor": cursor}
    return answer


def page_of(call: Call, items: Sequence[T], most: int | None = None) -> tuple[Sequence[T], str]:
    """The requested page of the items, and the cursor of the next."""
    cursor = call.text("cursor")
    if cursor and not cursor.isdigit():
        raise ApiError("invalid_cursor")
    start, limit = int(cursor or 0), call.number("limit", 100)
    if not 0 < limit <= LARGEST_PAGE:
        raise ApiError("invalid_limit")
    if most is not None:
        limit = min(limit, most)
    end = start + limit
    return items[start:end], str(end) if end < len(items) else ""
