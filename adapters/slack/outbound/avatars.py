"""Pictures of agents, served where Slack can fetch them.

Slack takes the address of a picture alone, as `icon_url`
(https://docs.slack.dev/reference/methods/chat.postMessage). That of a file is one that nobody can
guess who has not the file, and the same after a restart.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import partial
from urllib.parse import urljoin

from aiohttp import web

from gateway.base.http_port import Page
from gateway.faces import Face

FOLDER = "/slack/avatars/"
_HEADERS = {"Cache-Control": "public, max-age=604800, immutable"}


def avatar_address(face: Face, public_url: str | None) -> str:
    """The address of a face's picture, "" for none."""
    if face.address or not (public_url and face.picture):
        return face.address
    return urljoin(public_url, _path(face.picture).lstrip("/"))


def avatar_page(faces: Iterable[Face], path: str) -> Page | None:
    """The page with the picture that stands at a path."""
    if not path.startswith(FOLDER):
        return None
    found = (face.picture for face in faces if face.picture and path == _path(face.picture))
    return Page(partial(_answer, picture)) if (picture := next(found, b"")) else None


def _path(picture: bytes) -> str:
    return f"{FOLDER}{hashlib.sha256(picture).hexdigest()[:40]}.png"


async def _answer(picture: bytes, _request: web.BaseRequest) -> web.Response:
    return web.Response(body=picture, content_type="image/png", headers=_HEADERS)
