"""Events of a thread, and their words."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from gateway.events import (
    ASIDE_LABELS,
    GRANT_WORDS,
    ContextFill,
    ContextSummarised,
    FileMade,
    InputRequested,
    InputSupported,
    MessageFinished,
    ModelSilent,
    Notice,
    SessionEvent,
    ToolStarted,
    TurnHeld,
    dump_event,
    grant_label,
    grant_word,
    load_event,
    shows_work,
)

SAID = MessageFinished(thread="t", agent="a", message="m", text="Hi")
CALLED = ToolStarted(thread="t", agent="a", call="c", tool="rm", arguments="{}")
ASKED = InputRequested(
    thread="t",
    request="r",
    request_kind="approval",
    agent="a",
    prompt="a wants to use rm. It read foreign text.",
    tool="rm",
    arguments='{"path": "/tmp/x"}',
)


@pytest.mark.parametrize("event", [SAID, CALLED, ASKED, Notice(thread="t", text="ü", at=1.5)])
def test_an_event_comes_back_from_its_line(event: SessionEvent) -> None:
    line = dump_event(event)
    assert b"\n" not in line
    assert load_event(line) == event


def test_a_line_of_something_else_is_refused() -> None:
    with pytest.raises(ValidationError):
        load_event('{"kind": "other"}')


def test_an_ending_of_earlier_versions_is_read() -> None:
    line = '{"kind": "message_finished", "thread": "t", "agent": "a", "message": "m", "text": ""'
    old = load_event(f'{line}, "broken": true}}')
    assert isinstance(old, MessageFinished)
    assert (old.ending, old.broken) == ("broken", True)
    assert not SAID.broken


@pytest.mark.parametrize(
    ("event", "is_shown"),
    [
        (SAID, True),
        (MessageFinished(thread="t", agent="a", message="m", text=" \n"), False),
        (CALLED, True),
        (ToolStarted(thread="t", agent="a", call="c", tool="q", arguments="", asks=True), False),
        (ASKED, True),
        (FileMade(thread="t", path="a", size=1), True),
        (Notice(thread="t", text="a"), False),
    ],
)
def test_work_is_what_a_team_said_did_asked_or_made(event: SessionEvent, is_shown: bool) -> None:
    assert shows_work(event) is is_shown


def test_an_approval_has_its_word_and_label() -> None:
    assert grant_word("approve_always") == "always"
    assert GRANT_WORDS["always"] == "approve_always"
    assert grant_label("approve_always", "any arguments") == "For this thread: any arguments"
    assert grant_label("approve_new", "Approve it") == "Approve it"


def test_an_approval_tells_what_it_is_about() -> None:
    [argument] = ASKED.shown_arguments
    assert argument.name == "path"
    assert ASKED.reason == ASKED.explanation == "It read foreign text."
    assert [kind for kind, _ in ASKED.grants][-1] == "approve_always"


def test_a_question_is_told_whole_and_approves_nothing() -> None:
    question = InputRequested(
        thread="t", request="r", request_kind="text", agent="a", prompt="Why?"
    )
    assert (question.explanation, question.reason, question.grants) == ("Why?", "", ())


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (
            ContextSummarised(thread="t", agent="SelectorGroupChatManager", covered=1),
            "1 earlier message is summarised in what the selector reads.",
        ),
        (
            ContextSummarised(thread="t", agent="a", covered=1200, left_out=True),
            "1,200 earlier messages are left out of what a reads.",
        ),
        (
            InputSupported(thread="t", request="r", by="", approved=1, quorum=2),
            "Somebody approved: 1 of 2 approvals.",
        ),
        (ModelSilent(thread="t", seconds=119), "The model has been silent for 119 s."),
        (ModelSilent(thread="t", seconds=180, over=True), "The model was silent for 3 minutes."),
        (TurnHeld(thread="t", limit=""), ""),
        (
            TurnHeld(thread="t", limit="person_turns", most=1, at=10, until=40),
            "The turn waits: you had a turn within ten minutes. It begins in 30 s.",
        ),
        (
            TurnHeld(thread="t", limit="team_parallel_turns", most=2),
            "The turn waits: 2 turns of this team are running, which is the limit."
            " It begins when one ends.",
        ),
    ],
)
def test_an_event_is_told_in_words(
    event: ContextSummarised | InputSupported | ModelSilent | TurnHeld, text: str
) -> None:
    assert event.text == text


def test_a_notice_offers_its_command_or_all_ways() -> None:
    assert Notice(thread="t", text="a").offers == ()
    one = Notice(thread="t", text="a", command="/retry", label="Retry")
    assert one.offers == (("/retry", "Retry"),)
    aside = Notice(thread="t", text="a", aside="result")
    assert [label for _, label in aside.offers] == [*ASIDE_LABELS.values()]


def test_a_fill_is_told_in_percent() -> None:
    assert ContextFill(agent="a", used=1, window=3).percent == "33 %"
