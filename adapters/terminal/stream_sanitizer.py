"""Foreign text that comes in pieces, made safe."""

from __future__ import annotations

import re

from gateway.render.sanitize import sanitize

# What may begin something longer than one character: escapes, C1 controls, a carriage return.
_INTRODUCER = re.compile("[\x1b\x80-\x9f\r]")


class StreamSanitizer:
    """Sanitises a text in pieces, independently of the cuts.

    From a control character on, text is held back to the end of its line: a sequence must not be
    judged by its first half.
    """

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """Text that is safe to show now."""
        text = self._held + piece
        shown: list[str] = []
        while introducer := _INTRODUCER.search(text):
            end = text.find("\n", introducer.start()) + 1
            shown.append(sanitize(text[: introducer.start()]))
            text = text[introducer.start() :]
            if not end:
                self._held = text
                return "".join(shown)
            end -= introducer.start()
            shown.append(sanitize(text[:end]))
            text = text[end:]
        self._held = ""
        shown.append(sanitize(text))
        return "".join(shown)
