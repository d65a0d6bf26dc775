"""Forms: who gets one, and why others do not."""

from dataclasses import replace
from typing import Any

import pytest

from gateway.access.authority import Access, Judgement, Operators, judge
from gateway.adapter import NOT_ALLOWED
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.inbound.answers import EMPTY, NO_REQUEST, NOT_YOURS, decide_answer
from gateway.inbound.forms import form_of
from gateway.interactions import Choice, Form, FormKind, FormOpening, FormSpec
from gateway.store.decisions import CommandReply
from gateway.store.records import Request

ASKER, OTHER = Author(id="slack:T1:U1"), Author(id="slack:T1:U2")
BOSS, APPROVER = Author(id="slack:T1:U3"), Author(id="slack:T1:U4")
OPERATORS = Operators(ids=frozenset({BOSS.id}))
TEXT = Request(
    id="r1",
    engine_id="e1",
    thread="t",
    turn="u",
    kind="text",
    agent=("a",),
    prompt="**Which** `one`?\n\n- a\n- [b](https://b.example)",
    asked_at=9_000.0,
    asker=ASKER.id,
)
APPROVAL = replace(TEXT, kind="approval", approvers=(APPROVER.id,))


def form(kind: FormKind, request: Request | None, author: Author, *, may: bool = True) -> Any:
    message = InboundMessage(key=ConversationKey(platform="slack"), author=author)
    judged: Judgement = replace(judge(message, Access()), may_write=may)
    opening = FormOpening(request="r1", kind=kind)
    return form_of(opening, request, judged, OPERATORS, now=10_000.0)


@pytest.mark.parametrize(
    ("kind", "request_", "author", "may"),
    [
        ("text", TEXT, ASKER, True),
        ("text", TEXT, BOSS, True),
        ("note", replace(TEXT, kind="approval"), BOSS, True),
        ("note", APPROVAL, APPROVER, True),
        ("note", APPROVAL, APPROVER, False),  # where they may not write, but were asked
    ],
)
def test_who_may_answer_gets_the_form(
    kind: FormKind, request_: Request, author: Author, may: bool
) -> None:
    found = form(kind, request_, author, may=may)
    assert isinstance(found, FormSpec)
    assert (found.request, found.kind, found.required) == ("r1", kind, kind == "text")
    assert found.prompt == "Which one?\n\n\u2022 a\n\u2022 b"


@pytest.mark.parametrize(
    ("kind", "request_", "author", "may", "why"),
    [
        ("text", TEXT, OTHER, True, NOT_YOURS),
        ("text", TEXT, replace(ASKER, kind="bot"), True, NOT_YOURS),
        ("text", TEXT, ASKER, False, NOT_ALLOWED),
        ("note", APPROVAL, BOSS, True, NOT_YOURS),
        ("note", APPROVAL, OTHER, False, NOT_ALLOWED),
        ("text", None, ASKER, True, NO_REQUEST),
        ("text", None, ASKER, False, NOT_ALLOWED),
        ("text", replace(TEXT, state="answered", outcome="b"), ASKER, True, "settled: b"),
        ("text", replace(TEXT, expires_at=9_999.0), ASKER, True, "expired"),
        ("note", TEXT, ASKER, True, "answer it in words"),
        ("text", APPROVAL, APPROVER, True, "approve or deny"),
    ],
)
def test_nobody_else_sees_it(
    kind: FormKind, request_: Request | None, author: Author, may: bool, why: str
) -> None:
    found = form(kind, request_, author, may=may)
    assert isinstance(found, str)
    assert why in found


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_answer_without_a_character_is_none(text: str) -> None:
    answer = Form(request="r1", kind="text", text=text).answer_to(())
    found = decide_answer(ASKER, TEXT, answer, OPERATORS, 10_000.0)
    assert found == CommandReply(reply=EMPTY)


@pytest.mark.parametrize(
    ("options", "number", "taken"),
    [(("a", ""), 0, True), (("a", ""), 1, True), (("a", "b"), 2, False), ((), 0, False)],
)
def test_an_option_may_be_empty_but_has_to_be_there(
    options: tuple[str, ...], number: int, taken: bool
) -> None:
    asked = replace(TEXT, kind="choice", options=options)
    answer = Choice(request="r1", numbers=(number,)).answer_to(options)
    found = decide_answer(ASKER, asked, answer, OPERATORS, 10_000.0)
    assert (found != CommandReply(reply=EMPTY)) == taken
