"""Requests: never modal, and no key is taken from a typist."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.terminal.key_guard import INERT, QUIET, SECOND_THOUGHT
from gateway import events
from gateway.client import Answer
from gateway.errors import StoreFull
from tests.adapters.terminal.running import (
    Chat,
    approval,
    asked,
    began,
    called,
    chatting,
    ended,
    speaker,
)
from tests.fakes.scripted_client import ScriptedClient

pytestmark = pytest.mark.timeout(60)


@asynccontextmanager
async def asking(
    folder: Path, *requests: events.SessionEvent, draft: str = "", **how: Any
) -> AsyncGenerator[Chat, None]:
    """A chat with a request whose card has no focus yet."""
    client = ScriptedClient()
    thread = client.add_thread("Asking")
    await client.happen(thread, began("go"), speaker("coder"))
    async with chatting(client, folder, **how) as chat:
        await chat.press(*draft or ("left",))  # somebody types
        await chat.happen(*requests, ended("waiting"))
        await chat.until_shown("waits for you")
        await chat.until(lambda: chat.card.display)  # it is drawn after the status
        yield chat


SHELL = approval("coder", "r1", "shell", '{"command": "rm -r build"}', prompt="It deletes.")


async def test_an_approval_shows_agent_tool_and_the_whole_arguments(tmp_path: Path):
    arguments = json.dumps({"command": "rm -r build", "why": "It is old,\nand large."})
    async with asking(tmp_path, replace(SHELL, arguments=arguments)) as chat:
        await chat.until_shown(
            "coder asks to run shell", "It deletes.", "command: rm -r build", "y approve once"
        )
        await chat.until_shown("why  2 lines", "▌ It is old,", "▌ and large.")
        assert "\\n" not in chat.text()
        assert chat.composer.has_focus


async def test_a_key_decides_and_the_draft_has_the_focus_again(tmp_path: Path):
    async with asking(tmp_path, replace(SHELL, below=(("cwd", "src"),))) as chat:
        await chat.until_shown(
            "for this thread:", "e exactly these arguments", "f cwd below src/", "a any arguments"
        )
        await chat.press("ctrl+t")
        chat.clock.advance(INERT)
        await chat.press("f")
        await chat.until(lambda: not chat.card.display)
        assert chat.client.answers == [("r1", Answer(kind="approve_below"))]
        assert chat.composer.has_focus


@pytest.mark.chaos
async def test_what_is_not_offered_has_no_key(tmp_path: Path):
    async with asking(tmp_path, replace(SHELL, always=False)) as chat:
        await chat.press("ctrl+t")
        chat.clock.advance(INERT)
        await chat.press("e")
        assert chat.client.answers == []
        assert "for this thread" not in chat.text()
        assert chat.composer.text == "e"


async def test_a_tiny_window_grants_nothing_that_it_does_not_show(tmp_path: Path):
    async with asking(tmp_path, SHELL) as chat:
        await chat.until_shown("y approve once", "a any arguments")
        await chat.pilot.resize_terminal(40, 12)
        await chat.until(lambda: "any arguments" not in chat.text())
        await chat.until_shown("y approve once", "n deny with a note")
        await chat.press("ctrl+t")
        chat.clock.advance(INERT)
        await chat.press("a")
        assert chat.client.answers == []


async def test_a_denial_takes_a_note(tmp_path: Path):
    async with asking(tmp_path, SHELL, draft="draft") as chat:
        await chat.press("ctrl+t")
        chat.clock.advance(INERT)
        await chat.press("n")
        await chat.until_shown("Deny shell: a note, or just Enter")
        assert chat.client.answers == []
        await chat.press(*"careful", "enter")
        await chat.until(lambda: not chat.card.display)
        assert chat.client.answers == [("r1", Answer(kind="deny", text="careful"))]
        await chat.until(lambda: chat.composer.text == "draft")


async def test_a_denial_needs_no_note_and_esc_takes_it_back(tmp_path: Path):
    async with asking(tmp_path, SHELL) as chat:
        for _ in range(2):
            await chat.press("ctrl+t")
            chat.clock.advance(INERT)
            await chat.press("n")
            await chat.until_shown("Deny shell")
            await chat.press("escape")
            assert chat.composer.purpose is None
        await chat.press("ctrl+t")
        chat.clock.advance(INERT)
        await chat.press("n", "enter")
        await chat.until(lambda: chat.client.answers == [("r1", Answer(kind="deny"))])


async def test_the_card_takes_the_focus_when_nobody_types(tmp_path: Path):
    async with asking(tmp_path, SHELL) as chat:
        chat.clock.advance(QUIET - 0.01)
        await chat.pilot.pause()
        assert chat.composer.has_focus
        chat.clock.advance(0.01)
        await chat.until(lambda: chat.card.has_focus)


async def test_every_key_puts_the_card_off(tmp_path: Path):
    async with asking(tmp_path, SHELL) as chat:
        for _ in range(3):
            chat.clock.advance(QUIET - 0.1)
            await chat.press("left")
            assert chat.composer.has_focus
        chat.clock.advance(QUIET)
        await chat.until(lambda: chat.card.has_focus)


@pytest.mark.chaos
async def test_a_draft_keeps_the_focus_for_ever(tmp_path: Path):
    async with asking(tmp_path, SHELL, draft="hm") as chat:
        chat.clock.advance(3600)
        await chat.press("y")
        assert chat.composer.text == "hmy"
        assert chat.client.answers == []
        await chat.press("backspace", "backspace", "backspace")
        chat.clock.advance(QUIET)
        await chat.until(lambda: chat.card.has_focus)


async def test_who_begins_to_type_on_a_card_that_focused_itself_decides_nothing(tmp_path: Path):
    async with asking(tmp_path, SHELL) as chat:
        chat.clock.advance(QUIET)
        await chat.until(lambda: chat.card.has_focus)
        chat.clock.advance(INERT)
        await chat.press("y", "o", "u")
        chat.clock.advance(SECOND_THOUGHT)
        await chat.pilot.pause()
        assert chat.client.answers == []
        assert chat.composer.text == "you"
        assert chat.composer.has_focus


async def test_esc_leaves_the_card_and_it_does_not_come_back_by_itself(tmp_path: Path):
    async with asking(tmp_path, SHELL) as chat:
        chat.clock.advance(QUIET)
        await chat.until(lambda: chat.card.has_focus)
        await chat.press("escape")
        assert chat.composer.has_focus
        chat.clock.advance(60)
        await chat.press("y")
        assert chat.composer.text == "y"


async def test_text_sent_while_an_approval_waits_is_a_message(tmp_path: Path):
    async with asking(tmp_path, SHELL) as chat:
        await chat.type("wait, why?")
        await chat.until(lambda: chat.client.sent)
        assert chat.client.answers == []


@pytest.mark.chaos
async def test_long_arguments_scroll(tmp_path: Path):
    many = ", ".join(f'"k{number}": {number}' for number in range(50))
    async with asking(tmp_path, approval("coder", "r1", "shell", f"{{{many}}}")) as chat:
        await chat.until_shown("k0: 0", "y approve once")
        await chat.press("ctrl+t", *["pagedown"] * 9)
        await chat.until_shown("k49: 49")


async def test_a_choice_is_made_with_a_digit(tmp_path: Path):
    async with asking(tmp_path, asked("coder", "r1", "Which one?", "red", "green")) as chat:
        await chat.until_shown("Which one?", "1 red", "2 green")
        await chat.press("ctrl+t")
        chat.clock.advance(INERT)
        await chat.press("3")
        assert chat.client.answers == []
        assert chat.composer.text == "3"
        chat.composer.set_draft("")
        await chat.press("ctrl+t")
        chat.clock.advance(INERT)
        await chat.press("2")
        await chat.until(lambda: chat.client.answers == [("r1", Answer(kind="text", text="green"))])


async def test_several_options_are_chosen_by_numbers_with_commas(tmp_path: Path):
    days = replace(asked("coder", "r1", "When?", *"abcdefghijk"), request_kind="choices")
    async with asking(tmp_path, days) as chat:
        await chat.until_shown("When?", "1 a", "numbers with commas")
        await chat.press("ctrl+t")
        await chat.until_shown("Answer coder")
        await chat.press(*"11, 2", "enter")
        answer = Answer(kind="text", text="b, k")
        await chat.until(lambda: chat.client.answers == [("r1", answer)])


async def test_a_free_text_is_answered_in_the_composer_and_the_draft_kept_aside(tmp_path: Path):
    async with asking(tmp_path, asked("coder", "r1", "What city?"), draft="draft") as chat:
        await chat.until_shown("What city?")
        chat.clock.advance(60)
        assert chat.composer.text == "draft"
        await chat.press("ctrl+t")
        await chat.until_shown("Answer coder")
        assert chat.composer.text == ""
        await chat.press(*"Lisbon", "enter")
        await chat.until(lambda: chat.client.answers)
        assert chat.client.answers == [("r1", Answer(kind="text", text="Lisbon"))]
        await chat.until(lambda: chat.composer.text == "draft")
        await chat.until_shown("↳ Lisbon (you)")


@pytest.mark.chaos
async def test_requests_are_answered_one_after_the_other(tmp_path: Path):
    second = approval("coder", "r2", "write", '{"path": "b"}')
    async with asking(tmp_path, SHELL, second) as chat:
        await chat.until_shown("(1 of 2)", "2 waiting", "rm -r build")
        await chat.press("ctrl+t")
        chat.clock.advance(INERT)
        await chat.press("y")
        await chat.until_shown("coder asks to run write", "1 waiting")
        await chat.press("ctrl+t")
        await chat.press("y")
        assert len(chat.client.answers) == 1
        chat.clock.advance(INERT)
        await chat.press("y")
        await chat.until(lambda: len(chat.client.answers) == 2)


async def test_a_request_answered_elsewhere_goes_and_what_was_written_stays(tmp_path: Path):
    async with asking(tmp_path, asked("coder", "r1", "What city?")) as chat:
        await chat.press("ctrl+t", *"Por")
        resolved = events.InputResolved(thread="", request="r1", outcome="Lisbon", by="Ann")
        await chat.happen(resolved)
        await chat.until(lambda: not chat.card.display)
        assert chat.composer.purpose is None
        assert chat.composer.text == "Por"
        await chat.until_shown("↳ Lisbon (Ann)")


async def test_an_answer_that_came_too_late_says_so(tmp_path: Path):
    async with asking(tmp_path, SHELL) as chat:
        chat.client.refuse_answer = "Ann has answered that already."
        await chat.press("ctrl+t")
        chat.clock.advance(INERT)
        await chat.press("y")
        await chat.until_shown("Ann has answered that already.")


@pytest.mark.chaos
async def test_an_answer_that_was_not_stored_can_be_given_again(tmp_path: Path):
    async with asking(tmp_path, asked("coder", "r1", "What city?")) as chat:
        chat.client.fail = StoreFull()
        await chat.press("ctrl+t", *"Lisbon", "enter")
        await chat.until_shown("The disk is full")
        assert chat.composer.text == "Lisbon"
        chat.client.fail = None
        await chat.press("enter")
        await chat.until(lambda: chat.client.answers)


async def test_a_click_on_a_button_decides(tmp_path: Path):
    async with asking(tmp_path, SHELL) as chat:
        await chat.until_shown("y approve once")
        chat.clock.advance(INERT)
        await chat.pilot.pause()  # nothing moves under the pointer
        await chat.pilot.click("KeyButton")
        await chat.until(lambda: chat.client.answers == [("r1", Answer(kind="approve"))])


@pytest.mark.chaos
async def test_a_decided_call_waits_visibly_for_its_siblings(tmp_path: Path):
    batch = [
        event
        for n in "12"
        for event in (
            called("coder", f"c{n}", "shell", '{"command": "make"}'),
            approval("coder", f"r{n}", "shell", '{"command": "make"}', call=f"c{n}"),
        )
    ]
    async with asking(tmp_path, *batch) as chat:
        decided = events.InputResolved(thread="", request="r1", outcome="approved", by="you")
        await chat.happen(decided)
        await chat.until_shown("shell waits for the other calls", "shell waits for you")


async def test_ctrl_t_on_a_card_that_focused_itself_makes_its_keys_decide_at_once(tmp_path: Path):
    async with asking(tmp_path, SHELL) as chat:
        chat.clock.advance(QUIET)
        await chat.until(lambda: chat.card.has_focus)
        chat.clock.advance(INERT)
        await chat.press("ctrl+t", "y")
        await chat.until(lambda: chat.client.answers == [("r1", Answer(kind="approve"))])


PROGRAM = "".join(f"def step_{n}():\n    return {n}\n" for n in range(200))
WRITE = approval("coder", "r1", "write_file", json.dumps({"path": "steps.py", "content": PROGRAM}))


@pytest.mark.chaos
async def test_enter_opens_all_of_it_to_scroll_and_to_search(tmp_path: Path):
    async with asking(tmp_path, WRITE) as chat:
        await chat.press("ctrl+t")
        chat.clock.advance(INERT)
        await chat.press("enter")
        await chat.until_shown("coder asks to run write_file", "def step_8():", "/ search")
        await chat.press("end")
        await chat.until_shown("def step_199():")
        await chat.press("slash", *"STEP_15", "enter")
        await chat.until_shown("1 of 11", "def step_15():")
        await chat.press("n")
        await chat.until_shown("2 of 11", "def step_150():")
        await chat.press("N", "N")
        await chat.until_shown("11 of 11", "def step_159():")
        await chat.press("slash", "escape", "escape")
        await chat.until_shown("y approve once")
        assert chat.card.has_focus
        await chat.press("y")
        assert chat.client.answers == []
        chat.clock.advance(INERT)
        await chat.press("y")
        await chat.until(lambda: chat.client.answers == [("r1", Answer(kind="approve"))])


@pytest.mark.chaos
async def test_enter_on_a_card_that_focused_itself_opens_nothing_for_a_typist(tmp_path: Path):
    async with asking(tmp_path, WRITE) as chat:
        chat.clock.advance(QUIET)
        await chat.until(lambda: chat.card.has_focus)
        chat.clock.advance(INERT)
        await chat.press("y", "enter")
        assert chat.app.screen is chat.screen
        assert chat.composer.text == "y"
        chat.clock.advance(SECOND_THOUGHT)
        await chat.pilot.pause()
        assert chat.client.answers == []
