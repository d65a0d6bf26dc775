"""Files in a thread: uploaded, then shown in one message.

Slack takes no metadata for the message of a file, but blocks: the id of its first one bears the
mark of its part, by which it is found again
(https://docs.slack.dev/reference/methods/files.completeUploadExternal and
https://docs.slack.dev/reference/block-kit/blocks/section-block).
With the scope chat:write.customize it has the agent's name: docs.slack.dev says so on the page of
that scope (reference/scopes/chat.write.customize), and files.completeUploadExternal takes username.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from adapters.slack.action_ids import SECTION, section
from adapters.slack.outbound.blocks import UNSURE, context
from adapters.slack.outbound.paced_calls import PacedCalls
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
NAME = 80
_MARK = "files:"


def has_mark(blocks: Sequence[Mapping[str, Any]], key: str) -> bool:
    """True if a message's blocks have the mark of this part."""
    return any(block.get("block_id") == f"{_MARK}{key}" for block in blocks)


def format_size(count: int) -> str:
    """A size in words: 33 bytes, 12 kB, 3.4 MB."""
    for unit, name in ((1_000_000, "MB"), (1000, "kB")):
        if count >= unit:
            return f"{count / unit:.{1 if count < 10 * unit else 0}f} {name}"
    return f"{count} byte{'s' if count != 1 else ''}"


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
            looks=self._calls.looks(place, agent),
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
        idents = [await self._send(place, file) for file in files]
        titles = [label(file.name, NAME) for file in files]
        shown = [{"id": id, "title": title} for id, title in zip(idents, titles, strict=True)]
        sizes = [format_size(len(file.data)) for file in files]
        told = [f"{title}, {size}" for title, size in zip(titles, sizes, strict=True)]
        block = section(comment[:SECTION]) if comment else context(self._calls.own("\n".join(told)))
        arguments: dict[str, Any] = {
            "files": json.dumps(shown),
            "channel_id": place.key.channel,
            "thread_ts": place.key.root or None,
            "blocks": json.dumps([block | {"block_id": f"{_MARK}{key}"}]),
            **looks,
        }
        await self._calls.write_form(place, COMPLETE, **arguments)
        return f"{PREFIX}{idents[0]}"

    async def _send(self, place: Place, file: File) -> str:
        """Send the bytes of a file that nobody sees yet; its id."""
        name = label(file.name, NAME).replace("/", "_") or "file"
        try:
            given = await self._calls.write_form(
                place, UPLOAD, filename=name, length=len(file.data)
            )
        except OutcomeUnknown as error:
            raise PlatformUnreachable(str(error)) from error
        await self._calls.calls.send(str(given["upload_url"]), file.data)
        return str(given["file_id"])
