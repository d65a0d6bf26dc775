"""Files in a thread: uploaded, then shown in one message.

Slack lets no mark be put on the message of a file, so the file's own name bears that of its part.
With the scope chat:write.customize it has the agent's name: docs.slack.dev says so on the page of
that scope (reference/scopes/chat.write.customize), and files.completeUploadExternal takes username.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

from adapters.slack.outbound.blocks import UNSURE
from adapters.slack.outbound.rate_limits import PacedCalls
from adapters.slack.outbound.text import name_of
from gateway.render.sanitize import label
from gateway.surface import (
    CallRejected,
    Document,
    File,
    OutcomeUnknown,
    Part,
    Place,
    PlatformUnreachable,
)

PREFIX = "file:"
"""Before the id of a file, where that stands for a message's."""

UPLOAD = "files.getUploadURLExternal"
COMPLETE = "files.completeUploadExternal"
MARK = 10
NAME = 80


def marked_name(name: str, key: str) -> str:
    """A file's name with the mark of its part."""
    path = PurePosixPath(label(name, NAME).replace("/", "_") or "file")
    return f"{path.stem}-{key[:MARK]}{path.suffix}"


def has_mark(name: str, key: str) -> bool:
    """True if a file's name has the mark of this part."""
    return PurePosixPath(name).stem.endswith(f"-{key[:MARK]}")


class Files:
    """Uploads files."""

    def __init__(self, calls: PacedCalls) -> None:
        self._calls = calls

    async def post(self, place: Place, part: Part, document: Document) -> str:
        """Show files in one message of a thread; the first one's id."""
        agent, named = document.agent, self._calls.named(place)
        comment = [UNSURE] if part.unsure else []
        if agent and not named:
            comment.append(f"*{self._calls.own(label(agent, NAME))}*")
        comment.append(self._calls.own(document.text))
        empty = [label(file.name, NAME) for file in document.files if not file.data]
        comment += [self._calls.own(f"The file {name} is empty.") for name in empty]
        return await self.upload(
            place,
            part.key,
            [file for file in document.files if file.data],
            "\n".join(filter(None, comment)),
            looks=name_of(agent, named=named) if agent else {},
        )

    async def upload(
        self,
        place: Place,
        key: str,
        files: Sequence[File],
        comment: str,
        *,
        looks: Mapping[str, str] = MappingProxyType({}),
    ) -> str:
        """Upload files with a comment in mrkdwn, as one message.

        Raises CallRejected if there are none: Slack takes no empty ones.
        """
        if not files:
            raise CallRejected("Slack accepts no empty files.")
        idents = [await self._send(place, key, file) for file in files]
        titles = [label(file.name, NAME) for file in files]
        shown = [{"id": id, "title": title} for id, title in zip(idents, titles, strict=True)]
        arguments: dict[str, Any] = {
            "files": json.dumps(shown),
            "channel_id": place.key.channel,
            "thread_ts": place.key.root or None,
            "initial_comment": comment or None,
            **looks,
        }
        await self._calls.write_form(place, COMPLETE, **arguments)
        return f"{PREFIX}{idents[0]}"

    async def _send(self, place: Place, key: str, file: File) -> str:
        """Send the bytes of a file that nobody sees yet; its id."""
        try:
            given = await self._calls.write_form(
                place, UPLOAD, filename=marked_name(file.name, key), length=len(file.data)
            )
        except OutcomeUnknown as error:
            raise PlatformUnreachable(str(error)) from error
        await self._calls.calls.send(str(given["upload_url"]), file.data)
        return str(given["file_id"])
