"""The scripted OpenAI-compatible server in a thread, for sync code."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager

from tests.fakes.openai_script import Script
from tests.fakes.openai_server import FakeOpenAI


@contextmanager
def openai_in_thread(*answers: Script) -> Generator[FakeOpenAI]:
    """A running server; script it while no request is open."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="fake openai", daemon=True)
    thread.start()

    async def begin() -> FakeOpenAI:
        server = FakeOpenAI(*answers)
        await server.start()
        return server

    try:
        server = asyncio.run_coroutine_threadsafe(begin(), loop).result()
        try:
            yield server
        finally:
            asyncio.run_coroutine_threadsafe(server.stop(), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
