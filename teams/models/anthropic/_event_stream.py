"""Decode the streams of events in which Amazon Bedrock answers."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from teams.models._errors import BadAnswer
from teams.models._exchange import parse_json


class EventStreamDecoder:
    """Turns bytes into the events inside.

    Frames are those of AWS's `application/vnd.amazon.eventstream`; what Bedrock calls an exception
    becomes an error event of Anthropic's.
    """

    def __init__(self) -> None:
        # Optional, with the extra `bedrock`; it has no types.
        self._library: Any = import_module("botocore.eventstream")
        self._frames: Any = self._library.EventStreamBuffer()

    def __call__(self, piece: bytes) -> Iterator[object]:
        self._frames.add_data(piece)
        while True:
            try:
                frame = next(self._frames, None)
            except self._library.ParserError as error:
                raise BadAnswer("The answer is not what the API promises") from error
            if frame is None:
                return
            yield from _events(frame.headers, frame.payload)

    def end(self) -> tuple[()]:
        return ()


def _events(headers: dict[str, str], payload: bytes) -> Iterator[object]:
    content: Any = parse_json(payload)
    if headers.get(":message-type") == "event":
        if chunk := content.get("bytes"):
            yield parse_json(base64.b64decode(chunk))
        return
    kind = headers.get(":exception-type") or headers.get(":error-code")
    error = {"type": kind, "message": content.get("message") or str(kind)}
    yield {"type": "error", "error": error}
