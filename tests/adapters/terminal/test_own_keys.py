"""Keys that a person chose: their effect, and where they stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.terminal.commands import HIDDEN, Commands
from adapters.terminal.key_guard import INERT
from adapters.terminal.widgets.dialogs import HelpDialog
from adapters.terminal.widgets.thread_list import ThreadsScreen
from gateway.base.terminal_keys import DEFAULT_KEYS, OTHERS, chosen_keys
from gateway.errors import GatewayError
from gateway.inbound.commands import command_infos
from tests.adapters.terminal.running import approval, began, chatting, ended
from tests.fakes.scripted_client import ScriptedClient

pytestmark = pytest.mark.timeout(60)


def test_keys_can_be_chosen_for_exactly_what_the_palette_has() -> None:
    palette = {command.name for command in Commands(command_infos())}
    assert sorted([*DEFAULT_KEYS, *OTHERS]) == sorted(palette - HIDDEN)


async def test_a_chosen_key_runs_its_command_and_the_usual_one_does_not(tmp_path: Path) -> None:
    client = ScriptedClient()
    client.add_thread("One")
    keys = chosen_keys({"sessions": "f2", "find": "ctrl+s", "help": ["alt+h", "f3"]})
    async with chatting(client, tmp_path, keys=keys, size=(80, 60)) as chat:
        await chat.until_shown("alt+h help", "F2 threads")
        await chat.press("f2")
        await chat.until(lambda: isinstance(chat.app.screen, ThreadsScreen))
        await chat.press("f2")
        await chat.until(lambda: len(chat.app.screen_stack) == 1)
        await chat.press("ctrl+s")
        await chat.until_shown("enter next, then n and N")
        await chat.press("escape", "f3")
        await chat.until(lambda: isinstance(chat.app.screen, HelpDialog))
        await chat.until_shown("alt+h, F3", "F2")
        await chat.press("alt+h")
        await chat.until(lambda: len(chat.app.screen_stack) == 1)
        await chat.press("f1", "ctrl+f")
        assert len(chat.app.screen_stack) == 1
        assert chat.composer.has_focus


@pytest.mark.parametrize("key", ["ctrl+k", "alt+n", "ctrl+a", "f7"])
async def test_a_command_gets_a_key_even_one_of_text_fields(tmp_path: Path, key: str) -> None:
    client = ScriptedClient()
    client.add_thread("One")
    keys = chosen_keys({"new": key, "usage": "f12", "implement": []})
    async with chatting(client, tmp_path, keys=keys) as chat:
        await chat.press(*"kept", key)
        conversation = chat.screen.conversation
        assert conversation is not None
        await chat.until(lambda: conversation.thread is None)
        await chat.press("f12")
        await chat.until(lambda: client.sent)
        assert client.sent[0][1] == "/usage"


@pytest.mark.parametrize("command", ["open", "attach", "theme", "revoke", "again"])
async def test_a_key_of_a_command_that_needs_an_argument_asks_for_it(
    tmp_path: Path, command: str
) -> None:
    client = ScriptedClient()
    client.has_commands = command_infos()
    async with chatting(client, tmp_path, keys=chosen_keys({command: "f12"})) as chat:
        await chat.press(*"kept", "f12")
        await chat.until_shown("Clear your draft first: ctrl+c.")
        assert chat.composer.text == "kept"
        await chat.press("ctrl+c", "f12")
        await chat.until(lambda: chat.composer.text == f"/{command} ")
        assert client.sent == []


async def test_a_key_of_a_command_that_fails_leaves_the_draft_alone(tmp_path: Path) -> None:
    client = ScriptedClient()
    client.has_commands = command_infos()
    client.add_thread("One")
    async with chatting(client, tmp_path, keys=chosen_keys({"usage": "f12"})) as chat:
        client.fail = GatewayError("The gateway is busy.")
        await chat.press(*"kept", "f12")
        await chat.until_shown("The gateway is busy.")
        assert chat.composer.text == "kept"


async def test_the_search_has_all_commands_and_runs_them(tmp_path: Path) -> None:
    client = ScriptedClient()
    client.has_commands = command_infos()
    client.add_thread("One")
    async with chatting(client, tmp_path) as chat:
        for typed, found in (("usage", "Usage"), ("revoke", "Revoke"), ("attach", "Attach")):
            await chat.press("ctrl+p", *typed)
            await chat.until_shown(found)
            await chat.press("enter")
            await chat.until(lambda: len(chat.app.screen_stack) == 1)
            if typed == "usage":
                await chat.until(lambda: client.sent)
            else:
                await chat.until(lambda typed=typed: chat.composer.text == f"/{typed} ")
                await chat.press("ctrl+c")
        assert [text for _, text in client.sent] == ["/usage"]


async def test_a_key_that_was_taken_away_does_nothing(tmp_path: Path) -> None:
    async with chatting(ScriptedClient(), tmp_path, keys=chosen_keys({"help": []})) as chat:
        assert "help" not in chat.text()
        await chat.press("f1")
        assert len(chat.app.screen_stack) == 1
        await chat.press("/", "h", "e")
        await chat.until_shown("/help")
        assert "F1" not in chat.text()


async def test_the_card_and_the_way_out_have_chosen_keys(tmp_path: Path) -> None:
    client = ScriptedClient()
    thread = client.add_thread("Asks")
    asked = approval("coder", "r1", "write_file", '{"path": "a.txt"}')
    await client.happen(thread, began("go"), asked, ended("waiting"))
    keys = chosen_keys({"answer": "ctrl+a", "quit": "alt+q"})
    async with chatting(client, tmp_path, keys=keys) as chat:
        await chat.press("x")
        await chat.until_shown("ctrl+a to answer", "ctrl+a answer")
        await chat.press("ctrl+a")
        chat.clock.advance(INERT)
        await chat.press("y")
        await chat.until(lambda: client.answers)
        await chat.press("alt+q")
        await chat.until_shown("Draft cleared")
        await chat.press("alt+q")
        await chat.until_shown("Press alt+q again to quit.")
        await chat.press("alt+q")
        await chat.until(lambda: chat.app._exit)
