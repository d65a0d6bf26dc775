"""Answers to requests: permission, time limit, outcome."""

from dataclasses import replace

import pytest

from gateway.access.authority import Operators
from gateway.client import Answer
from gateway.conversation import LOCAL_OPERATOR
from gateway.inbound.answers import (
    EMPTY,
    NO_REQUEST,
    NOT_YOURS,
    answer_in_words,
    decide_answer,
    is_approver,
    is_over,
    why_not,
)
from gateway.interactions import Click
from gateway.store.decisions import CommandReply, RequestAnswer, RequestSupport
from gateway.store.records import Request
from tests.gateway.inbound.situations import ASKER, CHOICE, OPEN, OTHER, TEXT, meaning, situation


@pytest.mark.parametrize(
    ("text", "answer"), [("large", "Large"), (" 1 ", "Small"), ("3", "3"), ("neither", "neither")]
)
def test_a_choice_is_made_by_name_or_number_or_in_words_of_ones_own(text, answer):
    found = meaning(text, situation(CHOICE))
    assert isinstance(found, RequestAnswer)
    assert found.answer.text == found.outcome == answer


@pytest.mark.parametrize(
    ("supporters", "always", "answer", "expected"),
    [
        (
            (),
            True,
            "approve",
            RequestSupport(request=OPEN.id, kind="approve", approved=1, quorum=3),
        ),
        (("x:1",), True, "approve_always", 2),
        (
            ("x:1", "local:operator"),
            True,
            "approve",
            "You have already approved this (2 of 3 so far).",
        ),
        (
            ("x:1", "x:2"),
            True,
            "approve_always",
            "approved for this thread by 3 people: any arguments",
        ),
        (("x:1", "x:2"), False, "approve_always", "approved by 3 people"),
        (("x:1", "x:2"), True, "approve", "approved by 3 people"),
        (("x:1", "x:2"), True, "deny", "denied"),
    ],
)
def test_an_approval_that_several_people_give(supporters, always, answer, expected):
    kinds = ["approve_always" if always else "approve"] * len(supporters)
    asked = replace(OPEN, quorum=3, supporters=supporters, support_kinds=kinds)
    click = Click(request=asked.id, answer=Answer(kind=answer))
    found = meaning("", situation(asked, named=asked), LOCAL_OPERATOR, click=click)
    match found:
        case RequestSupport() if isinstance(expected, int):
            assert (found.approved, found.kind) == (expected, "approve_always")
        case RequestSupport():
            assert found == expected
        case CommandReply():
            assert found.reply == expected
        case RequestAnswer():
            assert found.outcome == expected
            assert found.grant == ("" if "for this thread" in expected else None)
        case _:
            pytest.fail(str(found))


NOW = 10_000.0
OPERATORS = Operators(ids=frozenset({OTHER.id}))
YES, WORDS = Answer(kind="approve"), Answer(kind="text", text="Berlin")


def test_an_answer_to_nothing_or_by_nobody_is_told_so() -> None:
    assert decide_answer(ASKER, None, YES, OPERATORS, NOW) == CommandReply(reply=NO_REQUEST)
    assert decide_answer(ASKER, OPEN, YES, OPERATORS, NOW) == CommandReply(reply=NOT_YOURS)
    decision = decide_answer(OTHER, OPEN, YES, OPERATORS, NOW)
    assert decision == RequestAnswer(request=OPEN.id, answer=YES, outcome="approved")


@pytest.mark.parametrize(
    ("asked", "answer", "said"),
    [
        (TEXT, WORDS, ""),
        (TEXT, Answer(kind="text", text=" "), EMPTY),
        (TEXT, YES, "This request needs another answer: answer it in words."),
        (OPEN, WORDS, "This request needs another answer: approve or deny."),
        (
            replace(OPEN, state="answered", outcome="denied"),
            YES,
            "This is already settled: denied.",
        ),
        (replace(OPEN, expires_at=NOW), YES, "The request has expired."),
        (OPEN, Answer(kind="approve_new"), "The tool has not changed; approve the call."),
    ],
)
def test_why_a_request_is_not_answered_so(asked: Request, answer: Answer, said: str) -> None:
    assert why_not(OTHER, asked, answer, OPERATORS, NOW) == said


def test_a_request_is_over_at_its_time() -> None:
    assert not is_over(OPEN, NOW)
    assert is_over(replace(OPEN, expires_at=NOW), NOW)
    late = decide_answer(OTHER, replace(OPEN, expires_at=NOW), YES, OPERATORS, NOW)
    assert isinstance(late, CommandReply)
    assert late.late


def test_named_approvers_decide_wherever_they_are_asked() -> None:
    asked = replace(OPEN, approvers=(ASKER.id,))
    assert is_approver(ASKER, asked, OPERATORS)
    assert not is_approver(OTHER, asked, OPERATORS)
    assert not is_approver(ASKER, None, OPERATORS)


def test_a_text_answers_in_its_words() -> None:
    found = answer_in_words(CHOICE, " large")
    assert (found.request, found.answer.text, found.outcome) == (CHOICE.id, "Large", "Large")
