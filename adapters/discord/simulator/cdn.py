"""Attachments: signed links that expire after a day, and sizes of pictures."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from urllib.parse import quote

from adapters.discord.simulator.clock import SimulatorClock
from adapters.discord.simulator.errors import Json
from adapters.discord.simulator.model import Attachment, Channel

LINK_SECONDS = 24 * 3600.0
PNG = b"\x89PNG\r\n\x1a\n"
PNG_HEADER, GIF_HEADER = 24, 10  # bytes, with the size at the end


class Cdn:
    """Signs links to attachments and knows which are still good."""

    def __init__(self, clock: SimulatorClock) -> None:
        self.url = ""
        """Where downloads begin, without a slash at its end."""
        self._clock = clock
        self._secret = secrets.token_bytes(16)

    def link(self, channel: Channel, attachment: Attachment) -> str:
        """A fresh link to an attachment."""
        path = f"/attachments/{channel.id}/{attachment.id}/{quote(attachment.filename, safe='')}"
        now = int(self._clock.now())
        expires = f"{now + int(LINK_SECONDS):x}"
        return f"{self.url}{path}?ex={expires}&is={now:x}&hm={self._sign(attachment.id, expires)}&"

    def is_valid(self, attachment: int, query: Mapping[str, str]) -> bool:
        """True if the simulator signed the link and it is still valid."""
        expires = query.get("ex", "")
        if not hmac.compare_digest(self._sign(attachment, expires), query.get("hm", "")):
            return False
        return int(expires, 16) > self._clock.now()

    def payload(self, channel: Channel, attachment: Attachment, *, ephemeral: bool = False) -> Json:
        """An attachment as a message shows it."""
        link = self.link(channel, attachment)
        shown: Json = {
            "id": str(attachment.id),
            "filename": attachment.filename,
            "size": len(attachment.content),
            "url": link,
            "proxy_url": link,
            "content_type": attachment.content_type,
        }
        if attachment.description is not None:
            shown["description"] = attachment.description
        if attachment.width is not None:
            shown |= {"width": attachment.width, "height": attachment.height}
        return {**shown, "ephemeral": True} if ephemeral else shown

    def _sign(self, attachment: int, expires: str) -> str:
        text = f"{attachment}:{expires}".encode()
        return hmac.new(self._secret, text, hashlib.sha256).hexdigest()


def size_of(content: bytes) -> tuple[int | None, int | None]:
    """Width and height of a PNG or GIF; otherwise (None, None)."""
    if content.startswith(PNG) and len(content) >= PNG_HEADER:
        return int.from_bytes(content[16:20]), int.from_bytes(content[20:24])
    if content[:6] in (b"GIF87a", b"GIF89a") and len(content) >= GIF_HEADER:
        return int.from_bytes(content[6:8], "little"), int.from_bytes(content[8:10], "little")
    return None, None
