"""What a message means to the team, in every situation that tells meanings apart."""

from typing import Any

import pytest

from gateway.access import Allowed, OperatorsOnly
from gateway.client import Answer
from gateway.commands import command_infos, parse_command
from gateway.conversation import LOCAL_OPERATOR, Author, Click, ConversationKey, InboundMessage
from gateway.events import RequestKind
from gateway.policy import (
    NOT_ALLOWED,
    TELL_AGAIN,
    WAITS_FOR_ANSWERS,
    WAITS_FOR_APPROVAL,
    WAITS_FOR_OTHERS,
    decide,
    named_request,
)
from gateway.store.protocols import (
    Begin,
    Enqueue,
    Refuse,
    Request,
    Resolve,
    Say,
    Situation,
    Stop,
    Thread,
)

ASKER, OTHER = Author(id="x:asker", name="Ann"), Author(id="x:other", name="Bob")
KEY = ConversationKey(platform="x", root="1")


class Everybody(OperatorsOnly):
    def judge(self, message):
        return Allowed()


def request(kind: RequestKind = "text", number=1, **more) -> Request:
    return Request(
        id=f"{number:012x}",
        engine_id=f"e{number}",
        thread="t",
        turn="u",
        kind=kind,
        agent=("a",),
        prompt="Well?",
        asker=ASKER.id,
        **more,
    )


def situation(*requests: Request, named=None, status=None, **more) -> Situation:
    thread = Thread(id="t", title="", team="demo", state="idle", updated_at=0.0, key=KEY)
    status = status or ("waiting" if requests else None)
    values: dict[str, Any] = {
        "thread": thread,
        "waiting": 0,
        "asker": ASKER.id,
        "told": None,
        **more,
    }
    return Situation(status=status, requests=requests, named=named, **values)


def meaning(text, at: Situation, author=ASKER, access=None, **more):
    message = InboundMessage(key=KEY, author=author, text=text, **more)
    return decide(message, at, access or Everybody(), now=10_000.0)


TEXT, OPEN = request(), request("approval", 2)
CHOICE = request("choice", 3, options=("Small", "Large"))


@pytest.mark.parametrize(
    ("text", "at", "author", "expected"),
    [
        ("hi", situation(), ASKER, Enqueue()),
        ("hi", situation(status="running"), ASKER, Enqueue()),
        ("Berlin", situation(TEXT), ASKER, TEXT),
        ("Berlin", situation(TEXT), LOCAL_OPERATOR, TEXT),
        ("Berlin", situation(TEXT), OTHER, Enqueue(notice=WAITS_FOR_OTHERS)),
        ("Berlin", situation(TEXT, CHOICE), ASKER, Enqueue(notice=WAITS_FOR_ANSWERS)),
        ("Berlin", situation(TEXT, CHOICE, named=TEXT), ASKER, TEXT),
        ("Berlin", situation(TEXT, OPEN), ASKER, TEXT),
        ("yes", situation(OPEN), LOCAL_OPERATOR, Enqueue(notice=WAITS_FOR_APPROVAL)),
        ("yes", situation(OPEN, named=OPEN), LOCAL_OPERATOR, Enqueue(notice=WAITS_FOR_APPROVAL)),
        ("", situation(TEXT), ASKER, Enqueue(notice=WAITS_FOR_ANSWERS)),
    ],
    ids=[
        "nothing asked",
        "a turn runs",
        "one question",
        "an operator answers for the asker",
        "not theirs to answer",
        "two questions",
        "two questions, a reply to one",
        "a question beside an approval",
        "an approval is not answered by text",
        "nor by a reply",
        "a picture is no answer",
    ],
)
def test_a_text_means(text, at, author, expected):
    found = meaning(text, at, author)
    if isinstance(expected, Request):
        assert isinstance(found, Resolve)
        assert (found.request, found.answer) == (expected.id, Answer(kind="text", text=text))
    else:
        assert found == expected


@pytest.mark.parametrize(
    ("text", "answer"),
    [("large", "Large"), (" 1 ", "Small"), ("3", "3"), ("neither", "neither")],
)
def test_a_choice_is_made_by_name_or_number_or_in_words_of_ones_own(text, answer):
    found = meaning(text, situation(CHOICE))
    assert isinstance(found, Resolve)
    assert found.answer.text == found.outcome == answer


APPROVE, DENY = Answer(kind="approve"), Answer(kind="deny", text="no")
DONE = request("approval", 4, state="answered", outcome="approved")


@pytest.mark.parametrize(
    ("named", "answer", "author", "expected"),
    [
        (OPEN, APPROVE, LOCAL_OPERATOR, "approved"),
        (OPEN, Answer(kind="approve_always"), LOCAL_OPERATOR, "approved for this thread"),
        (OPEN, DENY, LOCAL_OPERATOR, "denied: no"),
        (OPEN, APPROVE, ASKER, Say(reply="This is not yours to answer.")),
        (DONE, DENY, LOCAL_OPERATOR, Say(reply="This was settled already: approved.")),
        (None, APPROVE, LOCAL_OPERATOR, Say(reply="There is no such request.")),
        (TEXT, APPROVE, ASKER, Say(reply="This request wants something else: answer it in words.")),
        (
            OPEN,
            Answer(kind="text", text="ok"),
            LOCAL_OPERATOR,
            Say(reply="This request wants something else: approve or deny."),
        ),
        (TEXT, Answer(kind="text", text="Rome"), ASKER, "Rome"),
    ],
)
def test_a_click_means(named, answer, author, expected):
    at = situation(*([named] if named else []), named=named)
    click = Click(request=named.id if named else "gone", answer=answer)
    found = meaning("", at, author, click=click)
    if isinstance(expected, str):
        assert isinstance(found, Resolve)
        assert (found.outcome, found.answer) == (expected, answer)
        assert found.grant == (answer.kind == "approve_always")
    else:
        assert found == expected


@pytest.mark.parametrize(
    ("text", "at", "expected"),
    [
        ("/new", situation(), Begin),
        ("/stop", situation(), Say),
        ("/stop", situation(status="running"), Stop),
        ("/stop", situation(TEXT), Stop),
        (" /STATUS ", situation(TEXT), Say),
        ("/help", situation(TEXT), Say),
        ("/nonsense", situation(TEXT), Say),
        ("/approve", situation(OPEN), Say),
        ("/new", situation(thread=None), Begin),
        ("/status", situation(thread=None), Say),
    ],
)
def test_a_command_never_becomes_an_answer_or_a_task(text, at, expected):
    assert isinstance(meaning(text, at), expected)


def test_status_says_what_is_asked_and_what_waits():
    found = meaning("/status", situation(TEXT, waiting=2))
    assert isinstance(found, Say)
    assert "Messages that wait: 2." in found.reply
    assert f"Asked ({TEXT.id}): Well?" in found.reply


def test_help_names_every_command():
    found = meaning("/help", situation())
    assert isinstance(found, Say)
    assert all(f"/{info.name}  {info.description}" in found.reply for info in command_infos())


@pytest.mark.parametrize(
    "text",
    ["stop", "/usr/bin is missing", "approve the budget", "deny everything", "1/2", "", "a /stop"],
)
def test_ordinary_text_is_no_command(text):
    assert parse_command(text) is None


def test_a_request_is_named_by_a_click_a_command_or_a_reply():
    click = Click(request="r", answer=APPROVE)
    messages = [
        InboundMessage(key=KEY, author=ASKER, click=click),
        InboundMessage(key=KEY, author=ASKER, text=f"approve {OPEN.id}"),
        InboundMessage(key=KEY, author=ASKER, text="Berlin", reply_to="r2"),
        InboundMessage(key=KEY, author=ASKER, text="/help", reply_to="r2"),
    ]
    assert [named_request(message) for message in messages] == ["r", OPEN.id, "r2", ""]


@pytest.mark.parametrize(
    ("told", "reply"), [(None, NOT_ALLOWED), (9_999.0, ""), (10_000.0 - TELL_AGAIN, NOT_ALLOWED)]
)
@pytest.mark.parametrize("text", ["hi", "/stop", "/new", f"approve {OPEN.id}"])
def test_without_a_rule_only_operators_are_heard(text, told, reply):
    at = situation(OPEN, named=OPEN, told=told)
    assert meaning(text, at, ASKER, OperatorsOnly()) == Refuse(reason="not allowed", reply=reply)
    assert not isinstance(meaning(text, at, LOCAL_OPERATOR, OperatorsOnly()), Refuse)
