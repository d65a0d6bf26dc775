"""Kernels of a Jupyter server or kernel gateway, over REST and websocket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import quote
from uuid import uuid4

import aiohttp

from teams._base.bounded.sessions import http_session
from teams.code_executors._cell import CellOutput, DataItem
from teams.code_executors._kernel import (
    INTERRUPT_SECONDS,
    LARGEST_MESSAGE,
    START_SECONDS,
    KernelDied,
    until_idle,
)

REQUEST_SECONDS = 30


@dataclass(frozen=True)
class JupyterConnectionInfo:
    """The address of a Jupyter server, and its token."""

    host: str
    use_https: bool
    port: int | None = None
    token: str | None = field(default=None, repr=False)

    def url(self, scheme: str, path: str) -> str:
        """An address below the server's; `scheme` is http or ws."""
        port = "" if self.port is None else f":{self.port}"
        return f"{scheme}{'s' if self.use_https else ''}://{self.host}{port}/api/{path}"


@dataclass(frozen=True, slots=True)
class ExecutionResult:
    """The result of code that a kernel ran."""

    is_ok: bool
    output: str
    data_items: list[DataItem]


class JupyterClient:
    """A client of a Jupyter server.

    Its methods raise RuntimeError where the server does not answer, or refuses.
    """

    def __init__(self, connection_info: JupyterConnectionInfo) -> None:
        self._info = connection_info
        self._session: aiohttp.ClientSession | None = None

    async def list_kernel_specs(self) -> dict[str, Any]:
        """The kernels that the server can start, by name."""
        return (await self._ask("GET", "kernelspecs"))["kernelspecs"]

    async def list_kernels(self) -> list[dict[str, Any]]:
        """The kernels that run."""
        return await self._ask("GET", "kernels")

    async def start_kernel(self, kernel_spec_name: str) -> str:
        """Start a kernel; return its id."""
        return (await self._ask("POST", "kernels", {"name": kernel_spec_name}))["id"]

    async def restart_kernel(self, kernel_id: str) -> None:
        """Replace a kernel by a new one under the same id."""
        await self._ask("POST", f"kernels/{quote(kernel_id)}/restart")

    async def interrupt_kernel(self, kernel_id: str) -> None:
        """Interrupt the running code of a kernel."""
        await self._ask("POST", f"kernels/{quote(kernel_id)}/interrupt")

    async def delete_kernel(self, kernel_id: str) -> None:
        """End a kernel."""
        await self._ask("DELETE", f"kernels/{quote(kernel_id)}")

    async def get_kernel_client(self, kernel_id: str) -> JupyterKernelClient:
        """Connect to a kernel."""
        url = self._info.url("ws", f"kernels/{quote(kernel_id)}/channels")
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                socket = await self._http().ws_connect(url, max_msg_size=LARGEST_MESSAGE)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._failure(error) from error
        return JupyterKernelClient(self, kernel_id, socket)

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()

    async def _ask(self, method: str, path: str, data: Any = None) -> Any:
        url = self._info.url("http", path)
        try:
            async with self._http().request(
                method, url, json=data, allow_redirects=False, raise_for_status=True
            ) as answer:
                return json.loads(await answer.read() or b"null")
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise self._failure(error) from error

    def _http(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            token = self._info.token
            self._session = http_session(
                headers={"Authorization": f"token {token}"} if token else None,
                timeout=aiohttp.ClientTimeout(total=REQUEST_SECONDS),
            )
        return self._session

    def _failure(self, error: Exception) -> RuntimeError:
        reason = str(error) or type(error).__name__
        return RuntimeError(f"The Jupyter server at {self._info.url('http', '')} fails: {reason}")


class JupyterKernelClient:
    """A connection to a kernel of a server."""

    def __init__(
        self, client: JupyterClient, kernel_id: str, socket: aiohttp.ClientWebSocketResponse
    ) -> None:
        self._client = client
        self._kernel_id = kernel_id
        self._socket = socket
        self._session_id = uuid4().hex

    async def wait_for_ready(self, timeout_seconds: float | None = START_SECONDS) -> bool:
        """Wait until the kernel answers; False if it has not by then."""
        try:
            async with asyncio.timeout(timeout_seconds):
                request = await self._request("kernel_info_request", {})
                await until_idle(self, CellOutput(request))
        except TimeoutError:
            return False
        return True

    async def execute(self, code: str, timeout_seconds: float | None = None) -> ExecutionResult:
        """Run code; what takes too long is interrupted. Raises KernelDied."""
        output = CellOutput()
        try:
            async with asyncio.timeout(timeout_seconds):
                output.request = await self.send(code)
                await until_idle(self, output)
        except TimeoutError:
            await self.interrupt()
            output.failed = True
            output.add_line(f"Stopped after {timeout_seconds:g} s: it took too long.")
        return ExecutionResult(not output.failed, output.text(), output.items)

    async def send(self, code: str) -> str:
        """Have code run; return the id of the request."""
        flags = {"silent": False, "allow_stdin": False, "stop_on_error": False}
        return await self._request("execute_request", {"code": code, **flags})

    async def receive(self) -> Mapping[str, Any]:
        """The kernel's next message for everybody. Raises KernelDied."""
        while True:
            message = await self._socket.receive()
            if message.type is aiohttp.WSMsgType.TEXT:
                received: dict[str, Any] = json.loads(message.data)
                if received["content"].get("execution_state") in ("restarting", "dead"):
                    raise KernelDied("its process is gone.")
                if received["channel"] == "iopub":
                    return received
            elif message.type is not aiohttp.WSMsgType.BINARY:  # of widgets
                raise KernelDied("the connection to its server is gone.")

    async def interrupt(self) -> None:
        """Interrupt the running code."""
        try:
            await self._client.interrupt_kernel(self._kernel_id)
        except RuntimeError as error:
            raise KernelDied(str(error)) from error

    async def close(self) -> None:
        """End the kernel, and all connections of its client."""
        with suppress(RuntimeError, TimeoutError):  # a server that is gone has ended it
            async with asyncio.timeout(INTERRUPT_SECONDS):
                await self._client.delete_kernel(self._kernel_id)
        await self.stop()
        await self._client.close()

    async def stop(self) -> None:
        """Close the connection; the kernel stays."""
        await self._socket.close()

    async def _request(self, kind: str, content: Mapping[str, Any]) -> str:
        request = uuid4().hex
        header = {"msg_id": request, "msg_type": kind, "session": self._session_id}
        message = {"header": {**header, "username": "", "version": "5.3"}, "content": content}
        try:
            await self._socket.send_json(
                {**message, "channel": "shell", "parent_header": {}, "metadata": {}, "buffers": []}
            )
        except (aiohttp.ClientError, ConnectionError) as error:
            raise KernelDied("the connection to its server is gone.") from error
        return request

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()
