"""Buttons of requests, and what pressing them means."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.client import Answer
from gateway.events import InputRequested
from gateway.interactions import (
    AnswerNow,
    Button,
    Choice,
    Click,
    Command,
    Form,
    FormOpening,
    Interaction,
    Rating,
    buttons,
)


def request(kind: Any, **more: Any) -> InputRequested:
    return InputRequested(
        thread="t", request="r1", request_kind=kind, agent="a", prompt="Well?", **more
    )


@pytest.mark.parametrize(
    ("asked", "rows"),
    [
        (request("text"), [["Answer"]]),
        (request("choice", options=("a", "", "c")), [["a", "", "c"]]),
        (request("approval", always=False), [["Approve", "Deny", "Deny with a note"]]),
        (
            request("approval", below=(("path", "queue"),)),
            [
                ["Approve", "Deny", "Deny with a note"],
                [
                    "For this thread: exactly these arguments",
                    "For this thread: path below queue/",
                    "For this thread: any arguments",
                ],
            ],
        ),
        (
            request("approval", changed=True),
            [["Approve", "Deny", "Deny with a note"], ["Approve, and its new description"]],
        ),
    ],
)
def test_a_request_has_buttons_in_rows(asked: InputRequested, rows: list[list[str]]) -> None:
    found = buttons(asked)
    assert [[each.label for each in row] for row in found] == rows
    for button in (each for row in found for each in row):
        known = Button.parse(button.id)
        assert known is not None
        assert known.pressed == button.pressed


@pytest.mark.parametrize(
    ("id", "meaning"),
    [
        ("approve:r1", Click(request="r1", answer=Answer(kind="approve"))),
        ("below:r1", Click(request="r1", answer=Answer(kind="approve_below"))),
        ("deny:r1", Click(request="r1", answer=Answer(kind="deny"))),
        ("note:r1", FormOpening(request="r1", kind="note")),
        ("text:r1", FormOpening(request="r1", kind="text")),
        ("choices:r1", Choice(request="r1", numbers=())),
        ("choice:r1:12", Choice(request="r1", numbers=(12,))),
        ("command:/queue drop 3", Command(text="/queue drop 3")),
        ("feedback:p:0", Rating(part="p", good=False)),
        ("missed:17.1", AnswerNow(first="17.1")),
    ],
)
def test_a_button_means(id: str, meaning: Interaction) -> None:
    button = Button.parse(id)
    assert button is not None
    assert (button.id, button.pressed) == (id, meaning)


@pytest.mark.parametrize(
    "id",
    [
        "",
        "approve",
        "approve:",
        "other:r1",
        "choice:r1",
        "choice:r1:",
        "choice:r1:-1",
        "choice:r1:\u00b2",
        "choice::1",
        f"choice:r1:{'9' * 5000}",
    ],
)
def test_what_is_no_button_means_nothing(id: str) -> None:
    assert Button.parse(id) is None


@given(st.text())
def test_any_id_is_read(id: str) -> None:
    button = Button.parse(id)
    assert button is None or Button.parse(button.id) == button


@pytest.mark.parametrize(
    ("done", "answer"),
    [
        (Choice(request="r", numbers=(1,)), Answer(kind="text", text="b")),
        (Choice(request="r", numbers=(2,)), Answer(kind="text")),
        (Choice(request="r", numbers=(1, 0, 1, 7)), Answer(kind="text", text="a, b")),
        (Choice(request="r", numbers=()), Answer(kind="text")),
        (Form(request="r", kind="note", text=" late "), Answer(kind="deny", text="late")),
        (Form(request="r", kind="text", text=" a "), Answer(kind="text", text="a")),
    ],
)
def test_an_answer_to_options(done: Choice | Form, answer: Answer) -> None:
    assert done.answer_to(("a", "b")) == answer
