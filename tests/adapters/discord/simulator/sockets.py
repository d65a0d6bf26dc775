"""A connection to the gateway that a test handles itself."""

from __future__ import annotations

from typing import Any

import aiohttp
import discord as sdk

from adapters.discord.testing import DiscordSimulator

ALL = sdk.Intents.all().value


class Socket:
    """A gateway client that sends what a test tells it."""

    def __init__(self, discord: DiscordSimulator, url: str = "") -> None:
        self._discord = discord
        self._url = url or discord.gateway_url

    async def __aenter__(self) -> Socket:
        self._session = aiohttp.ClientSession()
        self._socket = await self._session.ws_connect(self._url)
        assert (await self.receive())["op"] == 10
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close(4000)

    async def close(self, code: int) -> None:
        """Close; with 1000 or 1001, the session ends."""
        await self._socket.close(code=code)
        if not self._session.closed:
            await self._session.close()

    async def send(self, frame: Any) -> None:
        await self._socket.send_json(frame)

    async def receive(self) -> Any:
        return await self._socket.receive_json(timeout=2)

    async def identify(self, **different: Any) -> Any:
        data = {"token": self._discord.token, "intents": ALL, "properties": {}, **different}
        await self.send({"op": 2, "d": data})
        return (await self.receive())["d"] if not different else None

    async def resume(self, session: str, sequence: int) -> None:
        data = {"token": self._discord.token, "session_id": session, "seq": sequence}
        await self.send({"op": 6, "d": data})

    async def close_code(self) -> int | None:
        assert (await self._socket.receive(timeout=2)).type is aiohttp.WSMsgType.CLOSE
        return self._socket.close_code
