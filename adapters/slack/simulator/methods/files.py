"""Methods of files: uploads in three steps, and details."""

from __future__ import annotations

import mimetypes
from typing import cast

from adapters.slack.simulator.blocks import check_blocks, stored_blocks
from adapters.slack.simulator.call import Call, method
from adapters.slack.simulator.errors import ApiError, invalid_arguments
from adapters.slack.simulator.methods.chat import posted, signed
from adapters.slack.simulator.places import thread_of, writable
from adapters.slack.simulator.state import File, Json, Message


@method("files.getUploadURLExternal", "files:write", per_minute=100)
def upload_url(call: Call) -> Json:
    """Where to send the bytes of a file."""
    name = call.need("filename")
    if call.number("length", 0) <= 0:
        raise invalid_arguments("length must be positive")
    identity = call.world.new_id("F")
    file = File(
        id=identity,
        name=name,
        user=call.bot,
        team=call.workspace_id,
        mimetype=mimetypes.guess_type(name)[0] or "text/plain",
        url=f"{call.world.base}/files-pri/{call.workspace_id}-{identity}/{name}",
        complete=False,
        created=int(call.world.clock.time()),
    )
    call.workspace.files[identity] = file
    return {"upload_url": f"{call.world.base}/upload/v1/{identity}", "file_id": identity}


@method("files.completeUploadExternal", "files:write", per_minute=100)
def complete(call: Call) -> Json:
    """Show uploaded files, in a thread too.

    Blocks count without a comment alone, and keep their ids as in any message
    (https://docs.slack.dev/reference/methods/files.completeUploadExternal).
    """
    files = [_uploaded(call, each) for each in call.items("files", "invalid_arguments")]
    if not files:
        raise invalid_arguments("missing required field: files")
    place = call.text("channel_id")
    if place:
        channel = writable(call, "channel_id")
        message = Message(
            ts="",
            channel=channel.id,
            user=call.bot,
            team=channel.team,
            text=call.text("initial_comment"),
            thread_ts=thread_of(call, channel),
            files=files,
            subtype="file_share",
        )
        signed(call, message)
        if not message.text:
            blocks = call.items("blocks", "invalid_blocks")
            check_blocks(blocks)
            message.blocks = stored_blocks(blocks)
        posted(call, channel, message)
    for file in files:
        file.complete = True
    return {"files": [file.json() for file in files]}


@method("files.info", "files:read", per_minute=100)
def info(call: Call) -> Json:
    """Details of a file."""
    for workspace in call.world.workspaces.values():
        file = workspace.files.get(call.text("file"))
        if file is not None and file.complete:
            return {"file": file.json(), "comments": [], "response_metadata": {"next_cursor": ""}}
    raise ApiError("file_not_found")


def _uploaded(call: Call, named: Json) -> File:
    file = call.workspace.files.get(cast("str", named.get("id", "")))
    if file is None or file.user != call.bot:
        raise ApiError("file_not_found")
    if not file.data:
        raise ApiError("file_upload_incomplete")
    file.title = str(named.get("title") or file.name)
    return file
