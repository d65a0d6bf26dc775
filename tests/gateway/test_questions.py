"""Questions as lines, and the answers that lines mean."""

from typing import Any

import pytest

from gateway.client import Answer
from gateway.events import InputRequested
from gateway.items import RequestItem
from gateway.questions import advice_lines, question_lines, understand
from tests.fakes.news import news_of


def asked(prompt: str = "Which one?", **more: Any) -> RequestItem:
    kind = more.pop("kind", "text")
    event = InputRequested(
        thread="", request="r", request_kind=kind, agent="front", prompt=prompt, **more
    )
    (item,) = news_of([event])
    assert isinstance(item, RequestItem)
    return item


COLOURS = asked(kind="choice", options=("red", "blue"))
DAYS = asked(kind="choices", options=("Mon", "Tue", "Wed, or later"))
APPROVAL = asked(kind="approval", tool="rm", arguments='{"path": "a\u202eb"}')


@pytest.mark.parametrize(
    ("request_", "line", "answer"),
    [
        (asked(), "the red one", Answer(kind="text", text="the red one")),
        (asked(), "", Answer(kind="text", text="")),
        (COLOURS, "2", Answer(kind="text", text="blue")),
        (COLOURS, " 1 ", Answer(kind="text", text="red")),
        (COLOURS, "red", Answer(kind="text", text="red")),
        (COLOURS, "3", Answer(kind="text", text="3")),
        (COLOURS, "0", Answer(kind="text", text="0")),
        (COLOURS, "\u00b2", Answer(kind="text", text="\u00b2")),
        (COLOURS, "green", Answer(kind="text", text="green")),
        (COLOURS, "1, 2", Answer(kind="text", text="1, 2")),
        (DAYS, "2,1", Answer(kind="text", text="Mon, Tue")),
        (DAYS, " 2 , mon,2", Answer(kind="text", text="Mon, Tue")),
        (DAYS, "3", Answer(kind="text", text="Wed, or later")),
        (DAYS, "wed, or later", Answer(kind="text", text="Wed, or later")),
        (DAYS, "1, 4", Answer(kind="text", text="1, 4")),
        (DAYS, "1,", Answer(kind="text", text="1,")),
        (DAYS, ",", Answer(kind="text", text=",")),
        (DAYS, "Friday", Answer(kind="text", text="Friday")),
        (APPROVAL, "y", Answer(kind="approve")),
        (APPROVAL, "Yes", Answer(kind="approve")),
        (APPROVAL, "approve", Answer(kind="approve")),
        (APPROVAL, "Approve Always", Answer(kind="approve_always")),
        (APPROVAL, "a", Answer(kind="approve_always")),
        (APPROVAL, "e", Answer(kind="approve_same")),
        (APPROVAL, "always", Answer(kind="approve_always")),
        (APPROVAL, "below", None),
        (APPROVAL, "f", None),
        (APPROVAL, "a dog", None),
        (APPROVAL, "n", Answer(kind="deny")),
        (APPROVAL, "no, Too risky", Answer(kind="deny", text="Too risky")),
        (APPROVAL, "deny: Too risky", Answer(kind="deny", text="Too risky")),
        (APPROVAL, "yes but", None),
        (APPROVAL, "approve everything", None),
        (APPROVAL, "", None),
        (APPROVAL, "maybe", None),
    ],
)
def test_a_line_is_understood_as_an_answer_or_is_none(request_, line, answer):
    assert understand(request_, line) == answer


def test_a_question_shows_what_can_not_be_seen():
    assert question_lines(asked("Which\x1b[2J?", kind="choice", options=("red", "blue"))) == [
        "front asks: Which?",
        "  1. red",
        "  2. blue",
    ]
    because = "It needs approval because I say so."
    approval = asked(
        f"front wants to use rm. {because}",
        kind="approval",
        tool="rm",
        arguments='{"path": "a\u202eb"}',
    )
    assert question_lines(approval) == [
        "front asks to run rm",
        f"  {because}",
        "  path: a\u27e8U+202E\u27e9b",
    ]


@pytest.mark.parametrize(
    ("request_", "last"),
    [
        (asked(), "Type your answer on the next line."),
        (COLOURS, "Type a number, or an answer."),
        (asked(kind="approval", tool="rm", always=False), "or deny and a reason."),
        (APPROVAL, "approve same (exactly these arguments), approve always (any arguments)."),
        (asked(kind="approval", tool="rm", changed=True), "Or approve new (Approve, and its new"),
    ],
)
def test_advice_says_how_to_answer(request_, last):
    assert last in advice_lines(request_)[-1]
