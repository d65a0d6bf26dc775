"""A message's meaning to the team, in every situation that matters."""

from dataclasses import replace
from typing import Any

import pytest

from gateway.access.authority import Access, Admission
from gateway.access.grants import grant_scope
from gateway.adapter import NOT_ALLOWED, TELL_AGAIN
from gateway.client import Answer
from gateway.config.routes import Route
from gateway.conversation import LOCAL_OPERATOR, Author, ConversationKey, InboundMessage
from gateway.inbound.policy import (
    APPROVAL_NOT_YOURS,
    CODE_GIVEN,
    FULL,
    MODE_NOT_YOURS,
    PRIVATE,
    WAITS_FOR_ANSWERS,
    WAITS_FOR_APPROVAL,
    WAITS_FOR_OTHERS,
    usual_rules,
)
from gateway.inbound.replies import HOW_QUEUE, MUTED, NOT_MUTABLE, UNMUTED
from gateway.interactions import Click
from gateway.store.decisions import (
    CommandReply,
    GrantRevocation,
    MessageEdit,
    MessageRefusal,
    MessageWithdrawal,
    ModeChange,
    MuteChange,
    NewConversation,
    NoAction,
    QueueEntry,
    QueuePromotion,
    QueueRemoval,
    RepeatedTurn,
    RequestAnswer,
    TurnStop,
)
from gateway.store.records import Grant, Request, Situation, Thread
from gateway.store.turn_records import MODE
from tests.gateway.inbound.situations import (
    ASKER,
    CHOICE,
    KEY,
    OPEN,
    OTHER,
    TEXT,
    Everybody,
    meaning,
    request,
    situation,
)

BOSS = Author(id="x:boss", name="Eva")


@pytest.mark.parametrize(
    ("text", "at", "author", "expected"),
    [
        ("hi", situation(), ASKER, QueueEntry()),
        ("hi", situation(status="running"), ASKER, QueueEntry()),
        ("Berlin", situation(TEXT), ASKER, TEXT),
        ("Berlin", situation(TEXT), LOCAL_OPERATOR, TEXT),
        ("Berlin", situation(TEXT), OTHER, QueueEntry(notice=WAITS_FOR_OTHERS)),
        ("Berlin", situation(TEXT, CHOICE), ASKER, QueueEntry(notice=WAITS_FOR_ANSWERS)),
        ("Berlin", situation(TEXT, CHOICE, named=TEXT), ASKER, TEXT),
        ("Berlin", situation(TEXT, OPEN), ASKER, TEXT),
        ("yes", situation(OPEN), LOCAL_OPERATOR, QueueEntry(notice=WAITS_FOR_APPROVAL)),
        ("yes", situation(OPEN, named=OPEN), LOCAL_OPERATOR, QueueEntry(notice=WAITS_FOR_APPROVAL)),
        ("", situation(TEXT), ASKER, QueueEntry(notice=WAITS_FOR_ANSWERS)),
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
        assert isinstance(found, RequestAnswer)
        assert (found.request, found.answer) == (expected.id, Answer(kind="text", text=text))
    else:
        assert found == expected


ANY = "approved for this thread: any arguments"
SAME = "approved for this thread: exactly these arguments"
BELOW = "approved for this thread: path below a/"
NO_FOLDER = CommandReply(reply="This call names no folder that could be approved; approve it once.")
APPROVE, DENY = Answer(kind="approve"), Answer(kind="deny", text="no")
DONE = request("approval", 4, state="answered", outcome="approved")


@pytest.mark.parametrize(
    ("named", "answer", "author", "expected"),
    [
        (OPEN, APPROVE, LOCAL_OPERATOR, "approved"),
        (OPEN, Answer(kind="approve_always"), LOCAL_OPERATOR, ANY),
        (OPEN, Answer(kind="approve_same"), LOCAL_OPERATOR, SAME),
        (
            replace(OPEN, below=(("path", "a"),)),
            Answer(kind="approve_below"),
            LOCAL_OPERATOR,
            BELOW,
        ),
        (OPEN, Answer(kind="approve_below"), LOCAL_OPERATOR, NO_FOLDER),
        (OPEN, DENY, LOCAL_OPERATOR, "denied: no"),
        (OPEN, APPROVE, ASKER, CommandReply(reply="You may not answer this request.")),
        (DONE, DENY, LOCAL_OPERATOR, CommandReply(reply="This is already settled: approved.")),
        (None, APPROVE, LOCAL_OPERATOR, CommandReply(reply="There is no such request.")),
        (replace(OPEN, expires_at=10_000.1), APPROVE, LOCAL_OPERATOR, "approved"),
        (
            replace(OPEN, expires_at=10_000.0),
            APPROVE,
            LOCAL_OPERATOR,
            CommandReply(reply="The request has expired.", late=True),
        ),
        (
            TEXT,
            APPROVE,
            ASKER,
            CommandReply(reply="This request needs another answer: answer it in words."),
        ),
        (
            OPEN,
            Answer(kind="text", text="ok"),
            LOCAL_OPERATOR,
            CommandReply(reply="This request needs another answer: approve or deny."),
        ),
        (TEXT, Answer(kind="text", text="Rome"), ASKER, "Rome"),
    ],
)
def test_a_click_means(named, answer, author, expected):
    at = situation(*([named] if named else []), named=named)
    click = Click(request=named.id if named else "gone", answer=answer)
    found = meaning("", at, author, click=click)
    if isinstance(expected, str):
        assert isinstance(found, RequestAnswer)
        assert (found.outcome, found.answer) == (expected, answer)
        assert found.grant == grant_scope(answer.kind, named)
    else:
        assert found == expected


@pytest.mark.parametrize(
    ("text", "at", "expected"),
    [
        ("/new", situation(), NewConversation),
        ("/stop", situation(), CommandReply),
        ("/stop", situation(status="running"), TurnStop),
        ("/stop", situation(TEXT), TurnStop),
        (" /STATUS ", situation(TEXT), CommandReply),
        ("/help", situation(TEXT), CommandReply),
        ("/nonsense", situation(TEXT), CommandReply),
        ("/approve", situation(OPEN), CommandReply),
        ("/new", situation(thread=None), NewConversation),
        ("/status", situation(thread=None), CommandReply),
    ],
)
def test_a_command_never_becomes_an_answer_or_a_task(text, at, expected):
    assert isinstance(meaning(text, at), expected)


def test_status_says_what_is_asked_and_what_waits():
    found = meaning("/status", situation(TEXT, waiting=2))
    assert isinstance(found, CommandReply)
    assert "Waiting messages: 2." in found.reply
    assert f"Asked ({TEXT.id}): Well?" in found.reply


@pytest.mark.parametrize("command", ["/approve", "/deny", "/status"])
def test_only_who_may_answer_a_request_is_told_its_id(command):
    at = situation(OPEN, request("approval", 5), TEXT)
    for author, told in ((LOCAL_OPERATOR, True), (OTHER, False)):
        found = meaning(command, at, author)
        assert isinstance(found, CommandReply)
        assert (OPEN.id in found.reply) == told
    as_other = meaning("/approve", at, OTHER)
    assert as_other == CommandReply(reply="No tool call is waiting for your approval.")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("/approve", Answer(kind="approve")),
        ("!approve", Answer(kind="approve")),
        ("/approve always", Answer(kind="approve_always")),
        ("/approve same", Answer(kind="approve_same")),
        ("/deny", Answer(kind="deny")),
        ("/deny too risky", Answer(kind="deny", text="too risky")),
    ],
)
def test_where_one_request_is_open_a_verdict_need_not_name_it(text, answer):
    found = meaning(text, situation(OPEN, TEXT), LOCAL_OPERATOR)
    assert isinstance(found, RequestAnswer)
    assert (found.request, found.answer) == (OPEN.id, answer)


def test_a_request_is_named_by_a_click_a_command_or_a_reply():
    click = Click(request="r", answer=APPROVE)
    messages = [
        InboundMessage(key=KEY, author=ASKER, click=click),
        InboundMessage(key=KEY, author=ASKER, text=f"approve {OPEN.id}"),
        InboundMessage(key=KEY, author=ASKER, text="Berlin", reply_to="r2"),
        InboundMessage(key=KEY, author=ASKER, text="/help", reply_to="r2"),
    ]
    named = [usual_rules(message, Everybody(), now=10_000.0).named for message in messages]
    assert named == ["r", OPEN.id, "r2", ""]


@pytest.mark.parametrize(
    ("told", "reply"), [(None, NOT_ALLOWED), (9_999.0, ""), (10_000.0 - TELL_AGAIN, NOT_ALLOWED)]
)
@pytest.mark.parametrize("text", ["hi", "/stop", "/new", f"approve {OPEN.id}"])
def test_without_a_rule_only_operators_are_heard(text, told, reply):
    at = situation(OPEN, named=OPEN, told=told)
    assert meaning(text, at, ASKER, Access()) == MessageRefusal(reason="not allowed", reply=reply)
    assert not isinstance(meaning(text, at, LOCAL_OPERATOR, Access()), MessageRefusal)


# --- modes, and what is changed afterwards ---


def in_mode(mode: str, **more) -> Situation:
    found = situation(**more)
    assert found.thread is not None
    return replace(found, thread=replace(found.thread, mode=mode))


@pytest.mark.parametrize(
    ("mode", "quiet"), [("queue", 0.0), ("steer", 0.0), ("interrupt", 0.0), ("collect", 3.0)]
)
def test_a_message_does_what_its_threads_mode_says(mode, quiet):
    at = in_mode(mode, status="running")
    assert meaning("hi", at) == QueueEntry(mode=mode, quiet=quiet)
    approval = replace(at, requests=(OPEN,))
    assert meaning("hi", approval) == QueueEntry(mode=mode, quiet=quiet, notice=WAITS_FOR_APPROVAL)


def test_a_new_thread_has_the_mode_of_its_route():
    class Collecting(Access):
        def judge(self, message):
            return Admission(mode="collect")

    assert meaning("hi", situation(thread=None), access=Collecting()) == QueueEntry(
        mode="collect", quiet=3.0
    )


@pytest.mark.parametrize("told", [None, 9_999.0, 10_000.0 - TELL_AGAIN])
def test_what_comes_on_top_of_too_many_is_refused_and_said_once_an_hour(told):
    at = situation(status="running", waiting=20, told=told)
    reply = "" if told == 9_999.0 else FULL.format(waiting=20)
    assert meaning("hi", at) == MessageRefusal(reason="too many wait", reply=reply)
    assert isinstance(meaning("/stop", at), TurnStop)
    answer = situation(TEXT, waiting=20, told=told)
    assert isinstance(meaning("Berlin", answer), RequestAnswer)


@pytest.mark.parametrize("event", sorted(PRIVATE))
def test_a_refusal_that_one_person_sees_always_has_its_reason(event):
    told = situation(told=9_999.0)
    assert meaning("hi", told, access=Access()) == MessageRefusal(reason="not allowed")
    refused = meaning("hi", told, access=Access(), event=event)
    assert refused == MessageRefusal(reason="not allowed", reply=NOT_ALLOWED)
    full = situation(status="running", waiting=20, told=9_999.0)
    assert meaning("hi", full, event=event) == MessageRefusal(
        reason="too many wait", reply=FULL.format(waiting=20)
    )


def test_a_code_that_was_given_stays_good_when_its_owner_asks_again():
    route = Route(adapter="x", dm=True, pairing=True)
    found = meaning(
        "hi", situation(told=9_999.0), access=Access(routes=[route]), direct=True, event="command"
    )
    assert found == MessageRefusal(reason="not allowed", reply=CODE_GIVEN)


MUTED_THREAD = replace(
    Thread(id="t", title="", team="demo", state="idle", updated_at=0.0, key=KEY), muted=True
)


@pytest.mark.parametrize(
    ("more", "at", "expected"),
    [
        ({}, situation(), NoAction),
        ({"event": "file"}, situation(), NoAction),
        ({}, situation(status="running"), NoAction),
        ({}, situation(OPEN), NoAction),
        ({"author": OTHER}, situation(TEXT), NoAction),
        ({}, situation(TEXT), RequestAnswer),
        ({"mentioned": True}, situation(), QueueEntry),
        ({"event": "shortcut"}, situation(), QueueEntry),
        ({"event": "reaction"}, situation(), QueueEntry),
        ({"thread": "t"}, situation(), QueueEntry),
        ({"text": "/status"}, situation(), CommandReply),
        ({"text": "/stop"}, situation(status="running"), TurnStop),
    ],
)
def test_in_a_muted_thread_only_what_calls_the_team_is_answered(more, at, expected):
    values: dict[str, Any] = {"text": "Berlin", **more}
    found = meaning(values.pop("text"), replace(at, thread=MUTED_THREAD), **values)
    assert isinstance(found, expected)


def test_mute_and_unmute_say_what_holds_already():
    muted = situation(thread=MUTED_THREAD)
    assert meaning("/mute", situation()) == MuteChange(
        muted=True, notice=MUTED, command="/unmute", label="Unmute"
    )
    assert meaning("/mute", muted) == CommandReply(reply=MUTED)
    unmuted = MuteChange(muted=False, notice=UNMUTED, over="/unmute")
    assert meaning("/unmute", muted) == unmuted
    assert isinstance(meaning("/unmute", situation()), CommandReply)
    assert isinstance(meaning("/mute", situation(thread=None)), CommandReply)
    assert MUTED in str(meaning("/status", muted))
    local = replace(MUTED_THREAD, muted=False, key=ConversationKey.local("t"))
    assert meaning("/mute", situation(thread=local)) == CommandReply(reply=NOT_MUTABLE)


@pytest.mark.parametrize(
    ("at", "author", "expected"),
    [
        (situation(), ASKER, NoAction),
        (situation(OPEN), ASKER, NoAction),
        (situation(TEXT), OTHER, NoAction),
        (situation(TEXT), ASKER, RequestAnswer),
    ],
)
def test_what_is_for_others_counts_only_as_an_answer(at, author, expected):
    assert isinstance(meaning("@bob", at, author, only_answers=True), expected)


@pytest.mark.parametrize(
    ("author", "access", "edited", "deleted"),
    [
        (ASKER, Everybody(), MessageEdit(anybody=False), MessageWithdrawal(anybody=False)),
        (LOCAL_OPERATOR, Everybody(), MessageEdit(anybody=True), MessageWithdrawal(anybody=True)),
        (OTHER, Access(), NoAction(), NoAction()),
        (Author(id=""), Access(), NoAction(), MessageWithdrawal(anybody=True)),
    ],
    ids=["the author", "an operator", "nobody it knows", "whoever the platform does not name"],
)
def test_an_edit_or_a_deletion_means(author, access, edited, deleted):
    at = situation(OPEN, named=OPEN)
    text = f"approve {OPEN.id}"  # an edit is never an answer
    assert meaning(text, at, author, access, event="edit") == edited
    assert meaning("", at, author, access, event="delete") == deleted


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Ann", "Ann"),
        ("", ASKER.id),
        ("Ann\nsend to anybody", "Ann send to anybody"),
        ("\u202eAnn\x1b[2J", "Ann"),
        ("A" * 500, "A" * 79 + "…"),
    ],
)
def test_grants_name_people_who_are_known(name, shown):
    grant = Grant(tool="send", person=ASKER.id, scope="", granted_by="x:T1:boss", granted_at=1.0)
    found = meaning("/grants", situation(grants=(grant,), names={ASKER.id: name}))
    assert isinstance(found, CommandReply)
    assert found.reply == f"send with any arguments, for {shown}; approved by x:T1:boss"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/queue drop 7", QueueRemoval(inbox=7)),
        ("/queue FIRST #7", QueuePromotion(inbox=7)),
        ("/queue drop x", HOW_QUEUE),
        ("/queue drop 99999999999999999999", HOW_QUEUE),
        ("/queue mode", "The modes are:"),
        ("/queue mode fast", "The modes are:"),
        ("/queue mode Steer", MODE_NOT_YOURS),
        ("/queue", "No message is waiting.\nMode queue: "),
        ("/again 7", RepeatedTurn(inbox=7)),
        ("/again", "Give its number"),
        ("/revoke send_mail", GrantRevocation(tool="send_mail")),
        ("/revoke", "Name the tool"),
        ("/grants", "No tool is approved"),
    ],
)
def test_a_command_about_what_waits_means(text, expected):
    found = meaning(text, situation())
    if isinstance(expected, str):
        assert isinstance(found, CommandReply)
        assert found.reply.startswith(expected)
    else:
        assert found == expected
    as_operator = meaning(text, situation(), LOCAL_OPERATOR)
    if isinstance(found, QueueRemoval | QueuePromotion | RepeatedTurn | GrantRevocation):
        assert as_operator == replace(found, anybody=True)
    if text.endswith("Steer"):
        assert isinstance(as_operator, ModeChange)
        assert as_operator.mode == "steer"


@pytest.mark.parametrize(
    ("text", "author", "taken"),
    [
        ("/mode plan", LOCAL_OPERATOR, "plan"),
        ("/mode ask", LOCAL_OPERATOR, "ask"),
        ("/mode plan", BOSS, ""),
        ("/mode ask", BOSS, "ask"),
        ("/revoke accept edits", BOSS, "ask"),
        ("/mode ask", ASKER, ""),
        ("/revoke accept edits", ASKER, ""),
    ],
)
def test_the_terminal_chooses_a_mode_of_approval_and_operators_end_it(text, author, taken):
    known = LOCAL_OPERATOR.id
    mode = Grant(tool="accept edits", person=known, scope=MODE, granted_by=known, granted_at=1.0)
    found = meaning(text, situation(grants=(mode,)), author, Everybody([BOSS.id]))
    assert getattr(found, "approval", "") == taken
    assert taken or found == CommandReply(reply=APPROVAL_NOT_YOURS)
