"""Pictures of agents, uploaded once as emoji of the application.

Discord takes the address of a picture for what a webhook writes, and has addresses for emoji:
docs.discord.com, resources/webhook, "Execute Webhook", and reference, "Image Formatting". An
application may have 2,000 emoji of its own (resources/emoji, "Application-Owned"), which its bot
may write anywhere. An emoji's name tells its picture, so that none is uploaded twice, and a changed
picture is a new one; old ones stay, for messages that show them.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
import re
from time import monotonic

from adapters.discord.connection.rest import Rest
from gateway.adapter import AuthError
from gateway.errors import GatewayError
from gateway.faces import Face
from gateway.pacing.limits import Rank

LOG = logging.getLogger("adapters.discord")

CDN = "https://cdn.discordapp.com"
PATIENCE = 5.0
"""Seconds for which a message waits for its agent's picture."""
REFUSED_SECONDS = 60.0
"""Seconds until it is tried again to upload one."""


class Avatars:
    """The emoji of an application that show its agents."""

    def __init__(self, rest: Rest, application: str) -> None:
        self._rest = rest
        self._path = f"/applications/{application}/emojis"
        self._known: dict[str, str] | None = None
        """Ids of the application's emoji, by their names."""
        self._refused_until = 0.0
        self._lock = asyncio.Lock()

    async def address(self, face: Face) -> str:
        """The address of a face's picture; "" while there is none."""
        if face.address:
            return face.address
        ident = await self._find(face, face.picture_or_drawn)
        return f"{CDN}/emojis/{ident}.png" if ident else ""

    async def mark(self, face: Face) -> str:
        """The emoji that stands before a face's name."""
        ident = await self._find(face, face.picture) if face.picture else ""
        return f"<:{emoji_name(face.name, face.picture)}:{ident}>" if ident else face.character

    async def _find(self, face: Face, picture: bytes) -> str:
        """The id of a picture's emoji, uploaded if needed; or ""."""
        name = emoji_name(face.name, picture)
        if known := (self._known or {}).get(name):
            return known
        try:
            async with asyncio.timeout(PATIENCE), self._lock:
                if monotonic() < self._refused_until:
                    return ""
                if self._known is None:  # of an earlier run, or another node
                    found = await self._rest.call("GET", self._path, rank=Rank.POST)
                    self._known = {str(each["name"]): str(each["id"]) for each in found["items"]}
                if name not in self._known:
                    self._known[name] = await self._upload(name, picture)
                return self._known[name]
        except AuthError:
            raise
        except (GatewayError, TimeoutError, LookupError, TypeError) as error:  # it is foreign
            LOG.warning("the picture of %s could not be given to Discord: %r", face.name, error)
            self._known, self._refused_until = None, monotonic() + REFUSED_SECONDS
            return ""

    async def _upload(self, name: str, picture: bytes) -> str:
        image = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
        body = {"name": name, "image": image}
        made = await self._rest.call("POST", self._path, json=body, rank=Rank.POST)
        LOG.info("uploaded the emoji %s", name)
        return str(made["id"])


def emoji_name(name: str, picture: bytes) -> str:
    """The name of the emoji with an agent's picture."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:20] or "agent"
    return f"{plain}_{hashlib.sha256(picture).hexdigest()[:8]}"
