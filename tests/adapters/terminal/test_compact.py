"""`/compact` in the terminal, and how full the contexts are."""

import asyncio
import io
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from adapters.terminal.plain import PlainChat
from adapters.terminal.settings import Settings
from gateway.client import CommandInfo
from gateway.events import COMPACT, ContextFill
from gateway.inbound.commands import command_infos
from tests.adapters.terminal.running import began, chatting, ended, said, speaker
from tests.fakes.scripted_client import ScriptedClient
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.summarising import SUMMARY, summarising
from tests.gateway.scripted import opened


async def test_the_status_line_tells_how_full_the_fullest_context_is(tmp_path: Path) -> None:
    client = ScriptedClient()
    client.add_thread("Tale")
    fill = (
        ContextFill(agent="ann", used=10, window=1000),
        ContextFill(agent="bob", used=430, window=1000),
    )
    async with chatting(client, tmp_path) as chat:
        await chat.happen(began("Tell."), speaker("ann"), said("ann", "m", "Once"), ended())
        await chat.until_shown("Once", "ready")
        assert "ctx" not in chat.text()
        await chat.happen(began("Go on."), said("ann", "n", "upon"), replace(ended(), fill=fill))
        await chat.until_shown("ctx 43 %")
        await chat.happen(began("More."), said("ann", "o", "a time"))
        await chat.until_shown("a time", "ctx 43 %")
        await chat.happen(ended("failed", "It broke."))
        await chat.until_shown("It broke.", "ctx 43 %")
        await chat.happen(began(), replace(ended(), fill=fill[:1]))
        await chat.until_shown("ctx 1 %")


async def test_the_palette_sends_it_with_what_matters(tmp_path: Path) -> None:
    class Client(ScriptedClient):
        def commands(self) -> list[CommandInfo]:
            return command_infos()

    client = Client()
    thread = client.add_thread("Tale")
    async with chatting(client, tmp_path) as chat:
        await chat.happen(began("Tell."), speaker("ann"), said("ann", "m", "Once"), ended())
        chat.composer.insert("/comp")
        await chat.until_shown("Summarise what was said")
        await chat.press("tab")
        await chat.type(" names")
        await chat.until(lambda: (thread, f"{COMPACT} names") in client.sent)


async def test_the_line_mode_waits_for_the_summary(tmp_path: Path) -> None:
    model = ScriptedModel("Nice.", "Hm.", SUMMARY, "Reinhard.")
    lines = [
        "The fox is called Reinhard.",
        "And?",
        "/compact names of foxes",
        "Its name?",
        "/usage",
    ]
    out, err = io.StringIO(), io.StringIO()
    stdin = io.StringIO("\n".join(lines))
    plain = PlainChat(Settings(data_dir=tmp_path), stdin=stdin, stdout=out, stderr=err)

    @asynccontextmanager
    async def connect():
        async with opened(tmp_path / "store", lambda: summarising(model)) as gateway:
            yield gateway.client

    async with asyncio.timeout(8):
        assert await plain.run(connect) == 0
    text = out.getvalue() + err.getvalue()
    assert "names of foxes" in str(model.requests[2]["messages"])
    assert SUMMARY in str(model.messages())
    mark = text.index("2 earlier messages are summarised in what solo reads.")
    assert text.index("Reinhard.", mark) > mark
    assert "Context of solo: " in text
