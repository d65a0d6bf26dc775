"""Code that is copied, and a person who is called."""

from pathlib import Path

import pytest
from textual.events import AppBlur, AppFocus

from gateway import events
from tests.adapters.terminal.running import approval, began, chatting, ended, said, speaker
from tests.fakes.scripted_client import ScriptedClient

pytestmark = pytest.mark.timeout(60)
CODE = "def f(x):\n    return " + " + ".join(["x"] * 60)


@pytest.mark.chaos
async def test_a_code_block_is_copied_by_key_command_and_focus(tmp_path: Path):
    client = ScriptedClient()
    async with chatting(client, tmp_path, new=True) as chat:
        await chat.press("f8")
        await chat.until_shown("There is no such code block.")
        await chat.type("write")
        await chat.until(lambda: client.all)
        text = f"Here:\n\n```python\n{CODE}\n```\n\nand\n\n```sh\nls\n```"
        await chat.happen(speaker("helper"), said("helper", "m", text), ended())
        await chat.until_shown("ls", "ready")
        await chat.press("f8")
        await chat.until_shown("Copied 1 line of sh.")
        assert chat.app.clipboard == "ls"
        await chat.press("f8")
        await chat.until_shown("Copied 2 lines of python.")
        assert chat.app.clipboard == CODE
        await chat.press("ctrl+up", "c")
        assert chat.app.clipboard == "ls"
        await chat.press("ctrl+up", "c")
        assert chat.app.clipboard == CODE
        await chat.press("escape")
        await chat.type("/copy code")
        await chat.until(lambda: chat.app.clipboard == "ls")
        await chat.type("/copy code 2")
        await chat.until(lambda: chat.app.clipboard == CODE)
        await chat.type("/copy 2")
        await chat.until(lambda: chat.app.clipboard == "write")
        await chat.type(f"/copy {'9' * 20}")
        await chat.until_shown("There is no such message.")


async def test_a_thread_is_written_to_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    client = ScriptedClient()
    async with chatting(client, tmp_path, new=True) as chat:
        await chat.type("/export")
        await chat.until_shown("This thread is still empty.")
        await chat.type("write")
        await chat.until(lambda: client.all)
        await chat.happen(speaker("helper"), said("helper", "m", "Done."), ended())
        await chat.type("/export")
        await chat.until(lambda: client.exported)
        await chat.until(lambda: list(tmp_path.glob("*.md")))
        await chat.type("/export events")
        await chat.until(lambda: list(tmp_path.glob("*.jsonl")))


async def test_a_person_who_looks_elsewhere_is_called(tmp_path: Path):
    client, told = ScriptedClient(), list[str]()
    async with chatting(client, tmp_path, new=True, alert=told.append) as chat:
        await chat.type("go")
        await chat.until(lambda: client.all)
        await chat.happen(approval("coder", "r1", "shell"))
        await chat.until_shown("coder asks to run shell")
        assert told == []
        chat.app.post_message(AppBlur())
        await chat.happen(approval("coder", "r2", "deploy"))
        await chat.until(lambda: told)
        assert told == ["coder asks to run deploy"]
        chat.app.post_message(AppFocus())
        await chat.until(lambda: chat.app.app_focus)
        decided = events.InputResolved(thread="", request="r1", outcome="denied", by="Ann")
        await chat.happen(decided, began("more"), ended("failed"))
        await chat.until_shown("F5")
        assert len(told) == 1
