"""A chat in the terminal: the person is asked before each reply."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from adapters.terminal.plain import PlainChat
from adapters.terminal.settings import Settings
from gateway.client import Client
from gateway.gateway import Gateway
from tests.fakes.chat_of_two import chats_of_two
from tests.fakes.new_store import new_store
from tests.gateway.scripted import ScriptedTeams


async def test_the_person_at_the_terminal_replies_to_the_writer(tmp_path: Path):
    out, err = io.StringIO(), io.StringIO()
    typed = io.StringIO("A poem, please.\nshorter\nexit\n")
    plain = PlainChat(Settings(data_dir=tmp_path), stdin=typed, stdout=out, stderr=err)

    @asynccontextmanager
    async def connect() -> AsyncGenerator[Client, None]:
        async with Gateway(new_store(tmp_path), ScriptedTeams(chats_of_two(tmp_path))) as gateway:
            yield gateway.client

    async with asyncio.timeout(8):
        assert await plain.run(connect) == 0
    shown = out.getvalue() + err.getvalue()
    assert shown.index("A long poem.") < shown.index("A poem.")
    assert shown.count("Provide feedback to writer") == 2
