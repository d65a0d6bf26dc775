"""chat.startStream, appendStream, stopStream: a message that grows, and its session."""

from __future__ import annotations

import json
from typing import Any, Literal, cast

from adapters.slack.simulator.blocks import (
    check_blocks,
    check_markdown,
    check_metadata,
    stored_blocks,
)
from adapters.slack.simulator.call import Call, method
from adapters.slack.simulator.errors import ApiError
from adapters.slack.simulator.methods.agents import STATUSES, make_session
from adapters.slack.simulator.methods.chat import posted, signed
from adapters.slack.simulator.places import own_message, thread_of, writable
from adapters.slack.simulator.state import Channel, Json, Message, SessionStatus, Stream

TASK_STATUSES = ("pending", "in_progress", "complete", "error")
DISPLAYS = ("timeline", "plan", "dense")
LARGEST_TASKS = 50_000
"""Characters of all tasks as JSON, above which a stream can't be stopped."""


@method("chat.startStream", "chat:write", per_minute=20)
def start(call: Call) -> Json:
    """Open a stream in a thread."""
    channel = writable(call)
    if channel.kind == "mpim":
        raise ApiError("channel_type_not_supported")
    if channel.kind != "im":
        _recipient(call, channel)
    if not call.text("thread_ts"):
        raise ApiError("invalid_arguments")
    root = thread_of(call, channel)
    display = call.text("task_display_mode", "timeline")
    if display not in DISPLAYS:
        raise ApiError("invalid_arguments")
    stream = Stream(mode=_mode(call) or "text", started=call.world.clock.time(), display=display)
    _append(call, stream)
    message = Message(
        ts="", channel=channel.id, user=call.bot, team=channel.team, thread_ts=root, stream=stream
    )
    signed(call, message)
    _show(message, stream)
    posted(call, channel, message)
    world = call.world
    world.clock.call_later(world.stream_life, lambda: _expire(call, channel, message))
    if call.world.app.agent and call.workspace.agents:
        session = make_session(call, channel.id, root)
        session.status, session.since, session.note = "processing", world.clock.time(), ""
    return {"channel": channel.id, "ts": message.ts}


@method("chat.appendStream", "chat:write", per_minute=100)
def append(call: Call) -> Json:
    """Let a stream go on."""
    channel = writable(call)
    message, stream = _running(call, channel)
    if _mode(call) is None:
        raise ApiError("markdown_text_or_chunks_required")
    _append(call, stream)
    _show(message, stream)
    return {"channel": channel.id, "ts": message.ts}


@method("chat.stopStream", "chat:write", per_minute=20)
def stop(call: Call) -> Json:
    """End a stream and set the session's status."""
    channel = writable(call)
    message, stream = _running(call, channel)
    status = call.text("session_status", "active")
    if status not in STATUSES:
        raise ApiError("invalid_arguments")
    blocks = call.items("blocks", "invalid_blocks")
    check_blocks(blocks)
    metadata: Any = call.value("metadata", "invalid_metadata_format")
    if metadata is not None:
        check_metadata(metadata)
    _append(call, stream)
    if len(json.dumps(stream.tasks)) > LARGEST_TASKS:
        raise ApiError("msg_too_long")
    before = message.json()
    stream.closing = stored_blocks(blocks)
    stream.state = "stopped"
    message.metadata = cast("Json", metadata) or message.metadata
    _show(message, stream)
    _set_session(call, channel, message, cast("SessionStatus", status))
    call.world.changed_message(channel, message, before)
    return {"channel": channel.id, "ts": message.ts, "message": message.json(metadata=True)}


def _expire(call: Call, channel: Channel, message: Message) -> None:
    """End a stream that still runs; its session is active then.

    Source: https://docs.slack.dev/ai/agent-sessions#messaging-interactions
    """
    if message.stream is not None and message.stream.state == "streaming":
        message.stream.state = "expired"
        _set_session(call, channel, message, "active")
        call.world.changed()


def _set_session(call: Call, channel: Channel, message: Message, status: SessionStatus) -> None:
    """Set the session's status once no other stream runs."""
    session = call.workspace.sessions.get((channel.id, message.root))
    if session is not None and not _others_run(channel, message):
        session.status, session.since = status, call.world.clock.time()


def _recipient(call: Call, channel: Channel) -> None:
    """Refuse a stream in a channel that names nobody to stream to."""
    if not (team := call.text("recipient_team_id")):
        raise ApiError("missing_recipient_team_id")
    if not (user := call.text("recipient_user_id")):
        raise ApiError("missing_recipient_user_id")
    if call.world.user(user).team != team:
        raise ApiError("user_not_found")
    if user not in channel.members:
        raise ApiError("user_not_found")


def _mode(call: Call) -> Literal["text", "chunks"] | None:
    text, chunks = call.text("markdown_text"), call.arguments.get("chunks")
    if text and chunks:
        raise ApiError("cannot_provide_both_markdown_text_and_chunks")
    if chunks:
        return "chunks"
    return "text" if text else None


def _running(call: Call, channel: Channel) -> tuple[Message, Stream]:
    message = own_message(call, channel, "message_not_owned_by_app")
    stream = message.stream
    if stream is None or stream.state in ("stopped", "expired"):
        raise ApiError("message_not_in_streaming_state")
    if stream.state == "stopped_by_user":
        stopping = call.method == "chat.stopStream"
        raise ApiError("message_not_in_streaming_state" if stopping else "stopped_by_user")
    mode = _mode(call)
    if mode is not None and mode != stream.mode:
        if stream.pieces or stream.tasks or stream.plan:
            raise ApiError("streaming_mode_mismatch")
        stream.mode = mode
    return message, stream


def _append(call: Call, stream: Stream) -> None:
    """Add all chunks of the call, or none if one is wrong."""
    chunks: list[Json] = call.items("chunks", "invalid_chunks")
    if text := call.text("markdown_text"):
        chunks = [{"type": "markdown_text", "text": text}]
    for chunk in chunks:
        _check(chunk)
    added: list[Json] = [block for chunk in chunks for block in chunk.get("blocks", ())]
    check_blocks([*stream.sent_blocks(), *added])
    for chunk in chunks:
        _apply_chunk(stream, chunk)


def _check(chunk: Json) -> None:
    match chunk:
        case {"type": "markdown_text", "text": str(text)}:
            check_markdown(text)
        case {"type": "task_update", "id": str(), "title": str()}:
            if chunk.get("status", "pending") not in TASK_STATUSES:
                raise ApiError("invalid_chunks")
        case {"type": "plan_update", "title": str()}:
            pass
        case {"type": "blocks", "blocks": list(blocks)}:
            check_blocks(cast("list[Json]", blocks))
        case _:
            raise ApiError("invalid_chunks")


def _apply_chunk(stream: Stream, chunk: Json) -> None:
    match chunk["type"]:
        case "markdown_text":
            stream.pieces.append(chunk["text"])
        case "plan_update":
            stream.plan = chunk["title"]
        case "blocks":
            stream.pieces.extend(chunk["blocks"])
        case _:
            _task_card(stream, chunk)


def _task_card(stream: Stream, chunk: Json) -> None:
    """Merge a task card: replace title and status, extend the rest."""
    identity = chunk["id"]
    task = stream.tasks.get(identity)
    if task is None:
        task = {"type": "task_card", "task_id": identity, "title": "", "status": "pending"}
        stream.tasks[identity] = task
        stream.pieces.append({"task": identity})
    task |= {name: chunk[name] for name in ("title", "status") if chunk.get(name)}
    for name in ("details", "output"):
        if chunk.get(name):
            task[name] = task.get(name, "") + chunk[name]
    if chunk.get("sources"):
        task["sources"] = [*task.get("sources", ()), *chunk["sources"]]


def _show(message: Message, stream: Stream) -> None:
    message.text = stream.text
    message.blocks = stored_blocks(stream.blocks())


def _others_run(channel: Channel, message: Message) -> bool:
    return any(
        each.stream is not None and each.stream.state == "streaming"
        for each in channel.thread(message.root)
    )
