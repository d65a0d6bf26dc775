"""A Jupyter server with real kernels, over a kernel gateway's wire."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Any
from uuid import uuid4

from aiohttp import WSMsgType, web
from jupyter_client.manager import AsyncKernelManager


class JupyterServer:
    """The kernels of a server that wants a token, and its requests."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.port = 0
        self.kernels: dict[str, AsyncKernelManager] = {}
        self.asked: list[str] = []
        self.refusals = 0
        self._sockets: set[web.WebSocketResponse] = set()

    async def close_sockets(self) -> None:
        """Cut off all who listen."""
        for socket in list(self._sockets):
            await socket.close()

    def application(self) -> web.Application:
        application = web.Application(middlewares=[self._authorised])
        application.add_routes(
            [
                web.get("/api/kernelspecs", self._specs),
                web.get("/api/kernels", self._list),
                web.post("/api/kernels", self._start),
                web.post("/api/kernels/{id}/interrupt", self._interrupt),
                web.post("/api/kernels/{id}/restart", self._restart),
                web.delete("/api/kernels/{id}", self._delete),
                web.get("/api/kernels/{id}/channels", self._channels),
            ]
        )
        return application

    @web.middleware
    async def _authorised(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.asked.append(f"{request.method} {request.path.removeprefix('/api/')}")
        if self.refusals:
            self.refusals -= 1
            return web.Response(status=503)
        if request.headers.get("Authorization") != f"token {self.token}":
            return web.json_response({"message": "Forbidden"}, status=403)
        return await handler(request)

    async def _specs(self, request: web.Request) -> web.Response:
        return web.json_response({"default": "python3", "kernelspecs": {"python3": {}}})

    async def _list(self, request: web.Request) -> web.Response:
        return web.json_response([{"id": each, "name": "python3"} for each in self.kernels])

    async def _start(self, request: web.Request) -> web.Response:
        name = (await request.json())["name"]
        if name != "python3":
            return web.json_response({"message": "No such kernel"}, status=500)
        manager = AsyncKernelManager(kernel_name=name)
        await manager.start_kernel()
        self.kernels[number := str(uuid4())] = manager
        return web.json_response({"id": number, "name": name}, status=201)

    async def _interrupt(self, request: web.Request) -> web.Response:
        await self.kernels[request.match_info["id"]].interrupt_kernel()
        return web.Response(status=204)

    async def _restart(self, request: web.Request) -> web.Response:
        await self.kernels[request.match_info["id"]].restart_kernel(now=True)
        return web.json_response({})

    async def _delete(self, request: web.Request) -> web.Response:
        number = request.match_info["id"]
        # Known until it has ended: who asks may be gone by then, and the server's end ends it.
        await self.kernels[number].shutdown_kernel(now=True)
        self.kernels.pop(number, None)
        return web.Response(status=204)

    async def _channels(self, request: web.Request) -> web.WebSocketResponse:
        manager = self.kernels[request.match_info["id"]]
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self._sockets.add(socket)
        client = manager.client()
        client.start_channels(hb=False)
        tasks = list[asyncio.Task[None]]()
        try:
            await client.wait_for_ready(timeout=30)
            tasks += [
                asyncio.ensure_future(self._forward(client, name, socket))
                for name in ("iopub", "shell")
            ]
            tasks.append(asyncio.ensure_future(self._watch(manager, socket)))
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    received = json.loads(message.data)
                    client.session.send(client.shell_channel.socket, received)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            client.stop_channels()
        return socket

    async def _forward(self, client: Any, name: str, socket: web.WebSocketResponse) -> None:
        channel = getattr(client, f"{name}_channel")
        while True:
            message = await channel.get_msg()
            del message["buffers"]
            await socket.send_str(json.dumps({**message, "channel": name}, default=_as_text))

    async def _watch(self, manager: AsyncKernelManager, socket: web.WebSocketResponse) -> None:
        """Tell of a kernel that has died, as servers do."""
        while await manager.is_alive():  # noqa: ASYNC110 (another process's doing)
            await asyncio.sleep(0.05)
        told = {"execution_state": "restarting"}
        await socket.send_json(
            {"header": {"msg_type": "status"}, "parent_header": {}, "content": told}
            | {"channel": "iopub"}
        )


def _as_text(value: Any) -> str:
    assert isinstance(value, datetime)
    return value.isoformat()


@asynccontextmanager
async def jupyter_server(token: str = "secret") -> AsyncGenerator[JupyterServer]:
    """A server at a port of its own."""
    server = JupyterServer(token)
    runner = web.AppRunner(server.application(), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.port = runner.addresses[0][1]
    try:
        yield server
    finally:
        await runner.cleanup()
        for manager in server.kernels.values():
            with suppress(RuntimeError):
                await manager.shutdown_kernel(now=True)
