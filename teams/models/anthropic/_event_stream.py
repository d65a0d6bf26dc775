"""Decode the streams of events in which Anthropic and Amazon Bedrock answer."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from teams.models._errors import BadAnswer


class EventLineDecoder:
    """Turns bytes of server-sent events into their data."""

    def __init__(self) -> None:
        self._rest = b""

    def __call__(self, data: bytes) -> Iterator[bytes]:
        # Lines of httpx also end at U+2028 and its like, which stand as they are in texts of JSON.
        *lines, self._rest = (self._rest + data).split(b"\n")
        return (line[5:] for line in lines if line.startswith(b"data:"))


class EventStreamDecoder:
    """Turns bytes into the events inside, as JSON text.

    Frames are those of AWS's `application/vnd.amazon.eventstream`; what Bedrock calls an exception
    becomes an error event of Anthropic's.
    """

    def __init__(self) -> None:
        # Optional, with the extra `bedrock`; it has no types.
        self._library: Any = import_module("botocore.eventstream")
        self._frames: Any = self._library.EventStreamBuffer()

    def __call__(self, data: bytes) -> Iterator[str]:
        self._frames.add_data(data)
        while True:
            try:
                frame = next(self._frames, None)
            except self._library.ParserError as error:
                raise BadAnswer("The answer is not what the API promises") from error
            if frame is None:
                return
            yield from _events(frame.headers, frame.payload)


def _events(headers: dict[str, str], payload: bytes) -> Iterator[str]:
    content: Any = json.loads(payload)
    if headers.get(":message-type") == "event":
        if chunk := content.get("bytes"):
            yield base64.b64decode(chunk).decode()
        return
    kind = headers.get(":exception-type") or headers.get(":error-code")
    error = {"type": kind, "message": content.get("message") or str(kind)}
    yield json.dumps({"type": "error", "error": error})
