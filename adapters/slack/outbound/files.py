"""Files in a thread: uploaded, then shown.

Slack lets no mark be put on the message of a file, so the file's own name bears that of its part.
"""

from __future__ import annotations

import json
from pathlib import PurePosixPath

from adapters.slack.outbound.blocks import UNSURE
from adapters.slack.outbound.rate_limits import PacedCalls
from gateway.render.sanitize import label
from gateway.surface import CallRejected, Document, OutcomeUnknown, Part, Place, PlatformUnreachable

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
        """Show a file in the place's thread; its id."""
        comment = self._calls.own(document.text)
        if part.unsure:
            comment = f"{UNSURE}\n{comment}".rstrip()
        return await self.upload(place, part.key, document.name, document.data, comment)

    async def upload(self, place: Place, key: str, name: str, data: bytes, comment: str) -> str:
        """Upload a file with a comment in mrkdwn.

        Raises CallRejected for an empty file.
        """
        if not data:
            raise CallRejected("Slack accepts no empty files.")
        try:
            given = await self._calls.write_form(
                place, UPLOAD, filename=marked_name(name, key), length=len(data)
            )
        except OutcomeUnknown as error:  # nobody sees it yet
            raise PlatformUnreachable(str(error)) from error
        await self._calls.calls.send(str(given["upload_url"]), data)
        ident = str(given["file_id"])
        await self._calls.write_form(
            place,
            COMPLETE,
            files=json.dumps([{"id": ident, "title": label(name, NAME)}]),
            channel_id=place.key.channel,
            thread_ts=place.key.root or None,
            initial_comment=comment or None,
        )
        return f"{PREFIX}{ident}"
