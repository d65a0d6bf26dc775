"""`/memory` in the terminal, over a real gateway."""

import asyncio
import io
from contextlib import asynccontextmanager
from pathlib import Path

from adapters.terminal.plain import PlainChat
from adapters.terminal.settings import Settings
from gateway.inbound.replies import NO_MEMORY
from tests.fakes.remembering_team import remembering_teams
from tests.gateway.scripted import opened


async def test_the_person_at_the_terminal_sees_and_deletes_what_is_remembered(tmp_path: Path):
    lines = ["remember I like tea", "/memory", "/memory forget 1", "/memory"]
    out, err = io.StringIO(), io.StringIO()
    stdin = io.StringIO("\n".join(lines))
    plain = PlainChat(Settings(data_dir=tmp_path), stdin=stdin, stdout=out, stderr=err)

    @asynccontextmanager
    async def connect():
        async with opened(tmp_path / "store", remembering_teams()) as gateway:
            yield gateway.client

    async with asyncio.timeout(8):
        assert await plain.run(connect) == 0
    text = out.getvalue() + err.getvalue()
    assert "1  `I like tea` (demo, told to you)" in text
    assert "Entries deleted: 1." in text
    assert NO_MEMORY in text
