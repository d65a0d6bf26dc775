"""Clicks, modals and commands, as Slack sends them."""

from typing import Any

import pytest

from adapters.slack.action_ids import ASK_TEAM
from adapters.slack.connection.workspace import Workspace
from adapters.slack.inbound.modals import BLOCK, CALLBACK, INPUT, ModalPlace
from adapters.slack.inbound.parse_interactions import parse_command, parse_interaction
from adapters.slack.inbound.parsed import Acted, Draft, IgnoredPayload
from gateway.client import Answer
from gateway.conversation import ConversationKey
from gateway.interactions import AnswerNow, Choice, Click, Command, Form, FormOpening, Rating

ME = Workspace(id="T1", url="https://home.slack.com/", user="UBOT", bot="BBOT")
TS, ROOT = "1700000001.000200", "1700000000.000100"
KEY = ConversationKey(platform="slack", workspace="T1", channel="C1", root=ROOT)


def pressed(action_id: str, value: str = "r1", **more: Any) -> Any:
    return parse_interaction(
        {
            "type": "block_actions",
            "team": {"id": "T1"},
            "user": {"id": "U1", "team_id": "T1"},
            "trigger_id": "tr1",
            "response_url": "https://hooks.slack.com/actions/1",
            "container": {"channel_id": "C1", "message_ts": TS, "thread_ts": ROOT},
            "actions": [{"action_id": action_id, "value": value, "action_ts": "9.1", **more}],
        },
        ME,
    )


@pytest.mark.parametrize(
    ("kind", "answer"), [("approve", "approve"), ("below", "approve_below"), ("deny", "deny")]
)
def test_a_button_answers_its_request(kind: str, answer: Any) -> None:
    found = pressed(f"g:{kind}:0")
    assert found.does == Click(request="r1", answer=Answer(kind=answer))
    draft, message = found.draft, found.draft.message
    assert (message.key, message.event, draft.meant) == (KEY, "click", True)
    assert message.dedupe == (f"slack/click/T1/{TS}/g:{kind}:0/9.1/U1",)


def test_other_buttons_want_something_else() -> None:
    assert pressed("theirs") == IgnoredPayload("another app")
    assert pressed("g:choice:2").does == Choice(request="r1", numbers=(2,))
    menu = pressed("g:choice:0", selected_option={"value": "r1:5"})
    assert menu.does == Choice(request="r1", numbers=(5,))
    assert pressed("g:feedback:0", "part:1").does == Rating(part="part", good=True)
    assert pressed("g:command:0", "/retry").does == Command(text="/retry")
    assert pressed("g:missed:0", ROOT).does == AnswerNow(first=ROOT)
    modal = pressed("g:note:0")
    assert (modal.does, modal.trigger) == (FormOpening(request="r1", kind="note"), "tr1")


def submitted(metadata: str, text: str = " too risky ") -> Any:
    return parse_interaction(
        {
            "type": "view_submission",
            "team": {"id": "T1"},
            "user": {"id": "U1"},
            "view": {
                "id": "V1",
                "callback_id": CALLBACK,
                "private_metadata": metadata,
                "state": {"values": {BLOCK: {INPUT: {"value": text}}}},
            },
        },
        ME,
    )


def test_a_modal_answers_where_it_was_opened() -> None:
    place = ModalPlace(kind="note", request="r1", channel="C1", message=TS, thread=ROOT)
    found = submitted(place.dump())
    message = found.draft.message
    assert found.does == Form(request="r1", kind="note", text=" too risky ")
    assert (message.key, message.event) == (KEY, "modal")


@pytest.mark.parametrize("metadata", ["", "{}", "[]", '{"kind": "x"}', "null"])
def test_a_modal_of_nowhere_is_ignored(metadata: str) -> None:
    assert submitted(metadata) == IgnoredPayload("malformed")


def test_the_command_and_the_shortcut() -> None:
    payload = {
        "command": "/parley",
        "team_id": "T1",
        "channel_id": "D1",
        "user_id": "U1",
        "trigger_id": "tr",
        "text": " help ",
    }
    found = parse_command(payload, ME, "/parley")
    assert isinstance(found, Acted)
    assert (found.does, found.draft.message.direct) == (Command(text="help"), True)
    assert parse_command(payload, ME, "/other") == IgnoredPayload("another app")
    said = {"ts": TS, "thread_ts": ROOT, "text": "a fact", "user": "U2"}
    passed_on = parse_interaction(
        {
            "type": "message_action",
            "callback_id": ASK_TEAM,
            "team": {"id": "T1"},
            "user": {"id": "U1"},
            "channel": {"id": "C1"},
            "trigger_id": "tr",
            "action_ts": "9.1",
            "message": said,
        },
        ME,
    )
    assert isinstance(passed_on, Draft)
    assert (passed_on.message.key, passed_on.message.at) == (KEY, 9.1)
    assert [(kind, each.text, each.who.id) for kind, each in passed_on.pointed] == [
        ("forward", "a fact", "U2")
    ]
