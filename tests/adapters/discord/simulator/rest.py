"""Requests that a test writes by hand."""

from __future__ import annotations

from typing import Any

import aiohttp

from adapters.discord.testing import DiscordSimulator


class Rest:
    """A REST client like the application's; `headers` are the last answer's."""

    def __init__(self, discord: DiscordSimulator) -> None:
        self._discord = discord
        self.headers: dict[str, str] = {}

    async def __aenter__(self) -> Rest:
        self._session = aiohttp.ClientSession(
            headers={"Authorization": f"Bot {self._discord.token}"}
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def call(self, method: str, path: str, body: Any = None, **query: str) -> tuple[int, Any]:
        """The answer's status and body."""
        url = self._discord.api_url + path
        async with self._session.request(method, url, json=body, params=query) as answer:
            self.headers = dict(answer.headers)
            if answer.content_type == "application/json":
                return answer.status, await answer.json()
            return answer.status, await answer.text()

    async def code(self, method: str, path: str, body: Any = None, **query: str) -> tuple[int, int]:
        """The answer's status and Discord's own code for the error."""
        status, answer = await self.call(method, path, body, **query)
        return status, answer["code"]
