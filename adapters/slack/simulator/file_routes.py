"""Files on the wire: uploads, and downloads that need the token."""

from __future__ import annotations

import asyncio

from aiohttp import web

from adapters.slack.simulator.state import File
from adapters.slack.simulator.world import World


class FileRoutes:
    """Uploads and downloads of files.

    `seen` are the paths of downloads, each with the Authorization header that came.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.seen: list[tuple[str, str]] = []
        self._free = asyncio.Event()
        self._free.set()

    @property
    def leaks(self) -> list[tuple[str, str]]:
        """The downloads elsewhere that brought a token along."""
        return [each for each in self.seen if each[0].startswith("/elsewhere/") and each[1]]

    def hold(self) -> None:
        """Let downloads begin, and go on once `release` is called."""
        self._free.clear()

    def release(self) -> None:
        """Let downloads through."""
        self._free.set()

    def add_to(self, app: web.Application) -> None:
        """Add the routes."""
        app.router.add_post("/upload/v1/{id}", self._upload)
        app.router.add_get("/files-pri/{place}/{name}", self._download)
        app.router.add_get("/elsewhere/{id}", self._elsewhere)

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        file = self._find(request.match_info["id"])
        if file is None:
            return web.Response(status=404, text="no such upload")
        if request.content_type.startswith("multipart/"):
            parts = list((await request.post()).values())
            part = parts[0] if parts else ""
            file.data = part.file.read() if isinstance(part, web.FileField) else b""
        else:
            file.data = await request.read()
        return web.Response(text=f"OK - {len(file.data)}")

    async def _download(self, request: web.Request) -> web.StreamResponse:
        header = request.headers.get("Authorization", "")
        self._note(request)
        file = self._find(request.match_info["place"].rpartition("-")[2])
        if file is None:
            return web.Response(status=404)
        grant = self._world.grants.get(header.removeprefix("Bearer "))
        if grant is None or grant.revoked or "files:read" not in grant.scopes:
            # Slack shows its sign-in page, with status 200, to whoever may not read a file.
            return web.Response(
                text="<!DOCTYPE html><html>Sign in</html>", content_type="text/html"
            )
        if file.moved_to:
            raise web.HTTPFound(file.moved_to)
        await self._free.wait()
        return web.Response(body=file.data, content_type=file.mimetype)

    async def _elsewhere(self, request: web.Request) -> web.StreamResponse:
        """The same file on a host that no token may reach."""
        self._note(request)
        file = self._find(request.match_info["id"])
        return web.Response(body=file.data) if file is not None else web.Response(status=404)

    def _note(self, request: web.Request) -> None:
        self.seen.append((request.path, request.headers.get("Authorization", "")))
        self._world.changed()

    def _find(self, identity: str) -> File | None:
        for workspace in self._world.workspaces.values():
            if identity in workspace.files:
                return workspace.files[identity]
        return None
