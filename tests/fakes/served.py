"""Servers on loopback: a web application, and another program's process."""

import socket
import subprocess
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from aiohttp import web


@asynccontextmanager
async def served(app: web.Application) -> AsyncGenerator[str]:
    """Serve the application; its address."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@contextmanager
def running(command: Sequence[str], *, ready: str, **options: Any) -> Generator[None]:
    """A process, from a line of its output that says `ready`."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )
    with process:
        try:
            assert process.stdout is not None
            assert any(ready in line for line in process.stdout)
            yield
        finally:
            process.terminate()


def free_port() -> int:
    """A port of loopback that nothing has."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]
