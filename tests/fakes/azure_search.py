"""An Azure AI Search service of one index.

Shapes and refusals as in "Documents - Search Post"
(https://learn.microsoft.com/rest/api/searchservice/documents/search-post): POST
/indexes('NAME')/docs/search.post.search with `api-version`, the key as `api-key`, 403 for another
key, 404 for another index, 400 for what makes no query.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Self

from aiohttp import web

KEY = "search-key-1"
INDEX = "books"
QUERY_TYPES = ("simple", "full", "semantic")


class FakeAzureSearch:
    """Answers each search with its documents, and records the requests."""

    def __init__(self, *documents: Mapping[str, Any]) -> None:
        self.documents = list(documents)
        self.requests: list[dict[str, Any]] = []
        self.versions: list[str] = []
        self.held: asyncio.Event | None = None
        self.arrived = asyncio.Event()
        self.url = ""

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_post("/indexes('{index}')/docs/search.post.search", self._search)
        app.router.add_post("/v1/embeddings", self._embeddings)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _search(self, request: web.Request) -> web.Response:
        self.arrived.set()
        if self.held:
            await self.held.wait()
        body = await request.json()
        self.requests.append(body)
        self.versions.append(request.query.get("api-version", ""))
        if request.headers.get("api-key") != KEY:
            return web.json_response({}, status=403)
        if request.match_info["index"] != INDEX:
            return _error(404, "The index was not found.")
        if said := _mistake(body):
            return _error(400, said)
        return web.json_response({"value": self.documents[: body.get("top", 50)]})

    async def _embeddings(self, request: web.Request) -> web.Response:
        body = await request.json()
        if request.headers.get("Authorization") != "Bearer sk-1":
            return web.json_response({"error": {"message": "Incorrect API key."}}, status=401)
        data = [{"object": "embedding", "index": 0, "embedding": [0.5, float(len(body["input"]))]}]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        whole = {"object": "list", "data": data, "model": body["model"], "usage": usage}
        return web.json_response(whole)


def _mistake(body: Mapping[str, Any]) -> str:
    if body.get("queryType", "simple") not in QUERY_TYPES:
        return "Invalid queryType."
    if body.get("queryType") == "semantic" and not body.get("semanticConfiguration"):
        return "semanticConfiguration is missing."
    for query in body.get("vectorQueries", ()):
        if query["kind"] == "text" and not query.get("text"):
            return "A vector query of the kind text needs a text."
        if query["kind"] == "vector" and not query.get("vector"):
            return "A vector query of the kind vector needs a vector."
    if "search" not in body and not body.get("vectorQueries"):
        return "There is nothing to search for."
    return ""


def _error(status: int, message: str) -> web.Response:
    return web.json_response({"error": {"code": "", "message": message}}, status=status)
