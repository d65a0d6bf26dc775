"""chat.*: posting, changing and deleting messages."""

from __future__ import annotations

from typing import Any, cast

from adapters.slack.simulator.blocks import (
    check_blocks,
    check_markdown,
    check_metadata,
    stored_blocks,
)
from adapters.slack.simulator.call import Call, method
from adapters.slack.simulator.errors import ApiError
from adapters.slack.simulator.places import (
    find_channel,
    own_message,
    thread_of,
    writable,
)
from adapters.slack.simulator.state import Channel, Json, Message

LONGEST_TEXT = 40_000
LONGEST_UPDATE = 4_000


@method("chat.postMessage", "chat:write")
def post_message(call: Call) -> Json:
    """Write a message."""
    channel = writable(call)
    message = _written(call, channel)
    if call.flag("reply_broadcast") and message.thread_ts:
        message.subtype = "thread_broadcast"
    message.client_msg_id = call.text("client_msg_id")
    posted(call, channel, message)
    return {"channel": channel.id, "ts": message.ts, "message": message.json(metadata=True)}


@method("chat.postEphemeral", "chat:write")
def post_ephemeral(call: Call) -> Json:
    """Write a message that one person sees, and that is kept nowhere."""
    channel = writable(call)
    user = call.need("user")
    if user not in channel.members:
        raise ApiError("user_not_in_channel")
    message = _written(call, channel, ephemeral=user)
    message.ts = call.world.new_ts()
    channel.messages[message.ts] = message
    return {"message_ts": message.ts}


def _written(call: Call, channel: Channel, *, ephemeral: str = "") -> Message:
    """The message that the app writes."""
    message = Message(
        ts="",
        channel=channel.id,
        user=call.bot,
        team=channel.team,
        thread_ts=thread_of(call, channel),
        ephemeral=ephemeral,
    )
    _content(call, message)
    if not (message.text or message.blocks or message.attachments):
        raise ApiError("no_text")
    signed(call, message)
    return message


@method("chat.update", "chat:write")
def update(call: Call) -> Json:
    """Change one of the app's messages."""
    channel = find_channel(call)
    message = own_message(call, channel, "cant_update_message")
    if channel.archived:
        raise ApiError("is_inactive")
    if message.stream is not None and message.stream.state == "streaming":
        raise ApiError("streaming_state_conflict")
    if len(call.text("text")) > LONGEST_UPDATE:
        raise ApiError("msg_too_long")
    if not any(
        call.arguments.get(each) for each in ("text", "blocks", "markdown_text", "attachments")
    ):
        raise ApiError("no_text")
    before = message.json()
    had_text = bool(call.text("text") or call.text("markdown_text"))
    if had_text and not call.arguments.get("blocks"):
        message.blocks = []
    message.stream = None
    _content(call, message)
    if not call.arguments.get("blocks"):
        message.edited = {"user": call.bot, "ts": call.world.new_ts()}
    call.world.changed_message(channel, message, before)
    return {
        "channel": channel.id,
        "ts": message.ts,
        "text": message.text,
        "message": message.json(metadata=True),
    }


@method("chat.delete", "chat:write")
def delete(call: Call) -> Json:
    """Delete one of the app's messages."""
    channel = find_channel(call)
    message = own_message(call, channel, "cant_delete_message")
    call.world.delete(channel, message)
    return {"channel": channel.id, "ts": message.ts}


def signed(call: Call, message: Message) -> None:
    """Give the app's message its bot, and a custom name if allowed."""
    bot = call.world.user(call.bot)
    message.bot_id = bot.bot_id
    message.app_id = call.world.app.id
    name, emoji, url = (call.text(each) for each in ("username", "icon_emoji", "icon_url"))
    if "chat:write.customize" not in call.grant.scopes:
        return
    message.username = name
    message.icons = {key: value for key, value in (("emoji", emoji), ("image_48", url)) if value}


def _content(call: Call, message: Message) -> None:
    """Give a message what the call says."""
    markdown = call.text("markdown_text")
    if markdown and (call.text("text") or call.arguments.get("blocks")):
        raise ApiError("markdown_text_conflict")
    if "blocks" in call.arguments:
        blocks = call.items("blocks", "invalid_blocks_format")
        check_blocks(blocks)
        message.blocks = stored_blocks(blocks)
    if "attachments" in call.arguments:
        message.attachments = call.items("attachments", "invalid_attachments")
    metadata: Any = call.value("metadata", "invalid_metadata_format")
    if metadata is not None:
        check_metadata(metadata)
        message.metadata = cast("Json", metadata) or None
    if markdown:
        message.text = check_markdown(markdown)
        message.blocks = [{"type": "markdown", "text": markdown}]
    elif "text" in call.arguments:
        message.text = call.text("text")[:LONGEST_TEXT]


def posted(call: Call, channel: Channel, message: Message) -> Message:
    """Store and publish the app's new message; its thread's note ends."""
    message.ts = call.world.new_ts()
    channel.messages[message.ts] = message
    if (session := call.workspace.sessions.get((channel.id, message.root))) is not None:
        session.note = ""
    call.world.new_message(channel, message)
    return message
