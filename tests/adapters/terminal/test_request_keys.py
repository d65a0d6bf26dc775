"""Keys of a request: no key is taken from a typist."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from adapters.terminal.key_guard import INERT, QUIET, SECOND_THOUGHT, TypingGuard
from adapters.terminal.request_keys import (
    Decision,
    Draft,
    Meaning,
    Opening,
    RequestKeys,
    granting_keys,
    offered_keys,
)
from gateway.client import AnswerKind
from gateway.events import InputRequested
from gateway.items import Agent, RequestItem
from tests.adapters.terminal.running import approval, asked
from tests.fakes.hand_clock import HandClock

SHELL = approval("coder", "r1", "shell", '{"command": "rm -r build"}', prompt="It deletes.")
CHOICE = asked("coder", "r1", "Which one?", "red", "green")


class Pressed:
    """A request that has just got the focus; its keys' meanings."""

    def __init__(
        self,
        request: InputRequested,
        *,
        by_itself: bool = False,
        in_sight: Callable[[], bool] = lambda: True,
    ) -> None:
        self.item = RequestItem.of(request, Agent(name="coder"))
        self.meanings: list[Meaning] = []
        self.clock = HandClock()
        guard = TypingGuard(self.clock)
        tell = self.meanings.append
        self.keys = RequestKeys(guard, self.clock, tell, grants_in_sight=in_sight)
        self.keys.show(self.item)
        self.clock.advance(QUIET)
        self.keys.focus(by_itself=by_itself, had_it=False)

    def press(self, *keys: str, after: float = INERT) -> list[Meaning]:
        self.clock.advance(after)
        for key in keys:
            self.keys.press(key)
        return self.meanings


@pytest.mark.parametrize(
    ("key", "choice"),
    [("y", "approve"), ("e", "approve_same"), ("f", "approve_below"), ("a", "approve_always")],
)
def test_a_key_approves_once_or_always(key: str, choice: AnswerKind):
    card = Pressed(replace(SHELL, below=(("cwd", "src"),)))
    assert offered_keys(card.item) == [
        ("y", "approve once"),
        ("n", "deny with a note"),
        ("enter", "open"),
    ]
    assert granting_keys(card.item) == [
        ("e", "exactly these arguments"),
        ("f", "cwd below src/"),
        ("a", "any arguments"),
    ]
    assert card.press(key) == [Decision(card.item, choice)]


def test_a_key_approves_a_changed_tool_with_its_new_description():
    card = Pressed(replace(SHELL, changed=True, always=False))
    assert offered_keys(card.item)[0] == ("y", "approve once")
    assert granting_keys(card.item) == [("d", "Approve, and its new description")]
    assert card.press("d") == [Decision(card.item, "approve_new")]


@pytest.mark.parametrize("key", ["d", "e", "f", "1", "x"])
def test_a_key_that_is_not_offered_is_the_drafts(key: str):
    card = Pressed(replace(SHELL, always=False))
    assert granting_keys(card.item) == []
    assert card.press(key) == [Draft(key)]


def test_what_is_out_of_sight_has_no_key():
    card = Pressed(SHELL, in_sight=lambda: False)
    assert card.press("a", "n") == [Draft("a"), Decision(card.item, "deny")]


def test_keys_do_nothing_right_after_the_card_was_focused():
    card = Pressed(SHELL)
    assert card.press("y", after=INERT - 0.01) == []
    assert card.press("y", after=0.01) == [Decision(card.item, "approve")]


def test_no_second_decision_is_made_while_one_is_on_its_way():
    card = Pressed(SHELL)
    card.keys.sent = True
    assert card.press("y") == [Draft("y")]
    card.keys.sent = False
    assert card.press("y")[1:] == [Decision(card.item, "approve")]


def test_who_goes_on_typing_on_a_request_that_focused_itself_decides_nothing():
    card = Pressed(SHELL, by_itself=True)
    card.press("y", "o")
    card.clock.advance(SECOND_THOUGHT)
    assert card.meanings == [Draft("yo")]


def test_a_key_that_comes_too_early_on_a_request_that_focused_itself_is_the_drafts():
    assert Pressed(SHELL, by_itself=True).press("y", after=INERT - 0.01) == [Draft("y")]


def test_a_single_key_on_a_card_that_focused_itself_decides():
    card = Pressed(SHELL, by_itself=True)
    assert card.press("y") == []
    card.clock.advance(SECOND_THOUGHT - 0.01)
    assert card.meanings == []
    card.clock.advance(0.01)
    assert card.meanings == [Decision(card.item, "approve")]


def test_a_person_who_wants_to_answer_decides_at_once():
    card = Pressed(SHELL, by_itself=True)
    card.clock.advance(INERT)
    card.keys.focus(by_itself=False, had_it=True)
    assert card.press("y", after=0) == [Decision(card.item, "approve")]


def test_a_decision_that_waits_is_called_off_with_the_focus():
    card = Pressed(SHELL, by_itself=True)
    card.press("y")
    assert card.keys.forget_pending() == "y"
    card.clock.advance(SECOND_THOUGHT)
    assert card.meanings == []


def test_another_request_is_not_decided_by_a_key_for_the_one_before():
    card = Pressed(SHELL, by_itself=True)
    card.press("y")
    other = RequestItem.of(replace(SHELL, request="r2"), Agent(name="coder"))
    card.keys.show(other)
    card.clock.advance(SECOND_THOUGHT)
    assert card.meanings == []
    card.keys.focus(by_itself=False, had_it=True)
    card.clock.advance(INERT)
    assert card.press("y") == [Decision(other, "approve")]


def test_a_digit_chooses_one_of_the_options():
    card = Pressed(CHOICE)
    assert offered_keys(card.item) == granting_keys(card.item) == []
    assert card.press("3", "y", "2") == [
        Draft("3"),
        Draft("y"),
        Decision(card.item, "text", "green"),
    ]


def test_a_question_takes_no_key():
    assert Pressed(asked("coder", "r1", "What city?")).press("y") == [Draft("y")]


def test_arguments_open_once_the_keys_are_live():
    card = Pressed(SHELL)
    assert (card.keys.open(), card.meanings) == (True, [])
    card.clock.advance(INERT)
    assert (card.keys.open(), card.meanings) == (True, [Opening(card.item)])


def test_enter_on_a_request_without_arguments_is_not_its_key():
    card = Pressed(CHOICE)
    assert (card.keys.open(), card.meanings) == (False, [])


def test_enter_opens_nothing_for_a_typist():
    card = Pressed(SHELL, by_itself=True)
    card.press("y")
    assert card.keys.open()
    card.clock.advance(SECOND_THOUGHT)
    assert card.meanings == [Draft("y")]


def test_a_click_decides_without_a_second_thought():
    card = Pressed(SHELL, by_itself=True)
    card.keys.click("y")
    assert card.meanings == []
    card.clock.advance(INERT)
    card.keys.click("enter")
    card.keys.click("y")
    assert card.meanings == [Opening(card.item), Decision(card.item, "approve")]
