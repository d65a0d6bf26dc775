"""Slack's payloads in the parsers, without Slack."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.slack.connection.workspace import Workspace
from adapters.slack.inbound.parse_events import parse_event, parse_history_message
from adapters.slack.inbound.parse_interactions import parse_command, parse_interaction
from adapters.slack.inbound.parsed import (
    Draft,
    HomeVisit,
    IgnoredPayload,
    ReactionTrigger,
    TitleChange,
    Uninstallation,
)
from gateway.adapter import IgnoredReason
from gateway.conversation import Author, ConversationKey, InboundMessage, order_key
from gateway.visible import VisibleContent, Writer

ME = Workspace(id="T1", url="https://home.slack.com/", user="UBOT", bot="BBOT")
TS, ROOT = "1700000001.000200", "1700000000.000100"
KEY = ConversationKey(platform="slack", workspace="T1", channel="C1", root=ROOT)


def event(**values: Any) -> dict[str, Any]:
    return {
        "type": "event_callback",
        "team_id": "T1",
        "event_id": "Ev1",
        "authorizations": [{"team_id": "T1", "enterprise_id": None}],
        "event": {"type": "message", "channel": "C1", "user": "U1", "ts": TS, **values},
    }


def parsed(**values: Any) -> Any:
    return parse_event(event(**values), ME, reactions=["eyes"])


def test_a_reply_is_a_message_in_its_thread() -> None:
    assert parsed(text="hi <@UBOT>", thread_ts=ROOT, client_msg_id="c1", team="T1") == Draft(
        message=InboundMessage(
            key=KEY,
            author=Author(id="slack:T1:U1"),
            dedupe=(f"slack/T1/C1/create/{TS}/", "slack/event/Ev1", "slack/client/T1/C1/c1"),
            message_id=TS,
            order_key=order_key(TS),
            link=(f"https://home.slack.com/archives/C1/p1700000001000200?thread_ts={ROOT}&cid=C1"),
            mentioned=True,
            at=float(TS),
        ),
        user="U1",
        home="T1",
        in_thread=True,
        mentioned=True,
        content=VisibleContent(who=Writer(id="U1", sure=True), text="hi <@UBOT>"),
    )


def test_a_mention_and_its_message_share_a_key() -> None:
    message = parsed(text="<@UBOT> hi")
    mention = parse_event({**event(type="app_mention", text="<@UBOT> hi"), "event_id": "Ev2"}, ME)
    assert isinstance(mention, Draft)
    assert message.message.key == mention.message.key == replace(KEY, root=TS)
    assert set(message.message.dedupe) & set(mention.message.dedupe)


def test_a_mention_may_stand_in_the_text_of_the_notification_alone() -> None:
    said = {"text": "<@UBOT> look", "blocks": [{"type": "markdown", "text": "Disk full"}]}
    assert not parsed(bot_id="B2", **said).mentioned
    found = parsed(type="app_mention", bot_id="B2", **said)
    assert (found.mentioned, found.content.text) == (True, "Disk full")


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"user": "UBOT"}, "own"),
        ({"bot_id": "BBOT", "user": ""}, "own"),
        ({"subtype": "channel_join"}, "system message"),
        ({"hidden": True}, "system message"),
        ({"user": ""}, "no author"),
        ({"channel": ""}, "malformed"),
        ({"ts": "yesterday"}, "malformed"),
        ({"type": "reaction_added", "reaction": "tada"}, "reaction"),
        ({"type": "pin_added"}, "unknown kind"),
        ({"type": "app_home_opened", "tab": "about"}, "unknown kind"),
        ({"type": "tokens_revoked", "tokens": {"oauth": ["U1"]}}, "unknown kind"),
    ],
)
def test_what_is_not_for_the_team_is_ignored(values: dict[str, Any], reason: IgnoredReason) -> None:
    assert parsed(**values) == IgnoredPayload(reason)


def test_another_bot_is_a_bot() -> None:
    found = parsed(subtype="bot_message", bot_id="B2", user="", text="ping", username="Jenkins")
    assert found.bot
    aliases = frozenset({"B2", "slack:T1:B2"})
    assert found.message.author == Author(id="slack:T1:B2", kind="bot", aliases=aliases)


def changed(said: dict[str, Any], before: dict[str, Any] | None = None) -> Any:
    message = {"user": "U1", "ts": ROOT, "text": "new", **said}
    return parsed(subtype="message_changed", message=message, previous_message=before or {})


def test_an_edit_is_told_with_its_time() -> None:
    found = changed({"edited": {"user": "U1", "ts": TS}}, {"user": "U1", "ts": ROOT})
    assert (found.message.event, found.content.text, found.message.message_id) == (
        "edit",
        "new",
        ROOT,
    )
    assert KEY.dedupe("edit", ROOT, TS) in found.message.dedupe


@pytest.mark.parametrize(
    ("said", "before"),
    [
        ({}, {}),
        ({"edited": {"ts": TS}}, {"edited": {"ts": TS}}),
        ({"edited": {"ts": TS}, "user": "UBOT"}, {}),
    ],
    ids=["unfurl", "unfurl of what was edited before", "our own"],
)
def test_a_change_that_nobody_made_is_no_edit(said: dict[str, Any], before: dict[str, Any]) -> None:
    assert isinstance(changed(said, before), IgnoredPayload)


@pytest.mark.parametrize("tombstone", [False, True])
def test_a_deletion_is_nobodys(tombstone: bool) -> None:
    before = {"user": "U1", "ts": TS, "thread_ts": ROOT}
    if tombstone:
        gone = {"subtype": "tombstone", "user": "USLACKBOT", "ts": TS, "thread_ts": ROOT}
        found = parsed(subtype="message_changed", message=gone, previous_message=before)
    else:
        found = parsed(subtype="message_deleted", deleted_ts=TS, previous_message=before)
    assert found.message == InboundMessage(
        key=KEY,
        author=Author(id=""),
        event="delete",
        dedupe=(KEY.dedupe("delete", TS), "slack/event/Ev1"),
        message_id=TS,
        order_key=order_key(TS),
    )


def test_files_and_foreign_text_come_along() -> None:
    found = parsed(
        text="look",
        subtype="file_share",
        files=[
            {"id": "F1", "name": "a.png", "mimetype": "image/png", "size": 7, "url_private": "u"},
            {"id": "F2", "name": "b", "is_external": True, "url_private": "https://drive.example"},
            {"id": "F3", "file_access": "check_file_info"},
        ],
        attachments=[
            {"is_share": True, "author_name": "Eve", "author_id": "U9", "text": "pay me"},
            {"from_url": "https://a.example/x", "title": "A page", "text": "about things"},
            {"text": "a bot's attachment"},
            {"color": "f00"},
        ],
    )
    assert found.message.event == "file"
    hosts = [json.loads(file.ref)["host"] for file in found.content.files]
    assert hosts == ["slack", "elsewhere", "ask"]
    assert [each.who.name for each in found.content.forwards] == ["Eve"]
    assert [(each.site, each.text) for each in found.content.cards] == [
        ("a.example", "about things"),
        ("", "a bot's attachment"),
    ]


def test_what_people_do_in_their_threads() -> None:
    stopped = parsed(type="agent_session_stopped", thread_ts=ROOT, ts="")
    assert (stopped.message.event, stopped.content.text, stopped.message.key) == (
        "stop",
        "/stop",
        KEY,
    )
    titled = parsed(type="agent_session_title_changed", thread_ts=ROOT, title=" New \n name ")
    assert isinstance(titled, TitleChange)
    assert titled.title == "New name"
    marked = parsed(type="reaction_added", reaction="eyes", item={"channel": "C1", "ts": ROOT})
    assert isinstance(marked, ReactionTrigger)
    assert marked.draft.message.key == KEY
    opened = parsed(type="app_home_opened", tab="messages", channel="D1")
    assert opened == HomeVisit(team="T1", channel="D1", user="U1")
    opened = parsed(type="app_home_opened", tab="home", channel="D1")
    assert opened == HomeVisit(team="T1", channel="D1", user="U1", own_page=True)
    assert parsed(type="app_uninstalled") == Uninstallation(team="T1", why="app_uninstalled")


@pytest.mark.parametrize("kind", ["agent_session_stopped", "agent_session_title_changed"])
@pytest.mark.parametrize("without", [{"event_id": ""}, {"event_id": None}])
def test_an_act_that_could_not_be_told_from_its_repetition_is_none(
    kind: str, without: dict[str, Any]
) -> None:
    payload = event(type=kind, thread_ts=ROOT, title="New name") | without
    assert parse_event(payload, ME, reactions=[]) == IgnoredPayload("malformed")


def test_an_organisations_installation_says_the_workspace_elsewhere() -> None:
    payload = event(text="hi")
    payload["authorizations"] = [{"team_id": None, "enterprise_id": "E1"}]
    found = parse_event({**payload, "context_team_id": "T7"}, Workspace(id="T7"))
    assert isinstance(found, Draft)
    assert found.message.key.workspace == "T7"


# --- interactions ---


# --- texts ---


# --- anything at all ---

# fmt: off
_KEYS = st.sampled_from([
    "type", "event", "subtype", "message", "previous_message", "user", "bot_id", "team",
    "team_id", "channel", "channel_id", "ts", "thread_ts", "text", "files", "id", "url_private",
    "attachments", "is_share", "author_id", "edited", "deleted_ts", "item", "reaction", "tab",
    "title", "tokens", "authorizations", "actions", "action_id", "value", "container",
    "message_ts", "view", "callback_id", "private_metadata", "state", "command", "trigger_id",
    "user_id",
])
# fmt: on
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just(TS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=6),
    max_leaves=20,
)
_TYPES = st.sampled_from(
    ["event_callback", "block_actions", "view_submission", "message_action", "other"]
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(_KEYS, JSON, max_size=10), JSON, _TYPES)
def test_no_payload_breaks_a_parser(body: dict[str, Any], inner: Any, kind: str) -> None:
    payload = {**body, "event": inner, "type": kind}
    parse_event(payload, ME, reactions=["eyes"])
    parse_interaction(payload, ME)
    parse_command(payload, ME, "/parley")


def test_a_message_of_the_history_is_read_like_an_event() -> None:
    said = {"type": "message", "user": "U1", "text": "hi", "ts": TS}
    found = parse_history_message(said, "T1", "C1", ME)
    assert isinstance(found, Draft)
    assert (found.user, found.message.message_id) == ("U1", TS)
    assert found.message.key.channel == "C1"
    own = parse_history_message({**said, "user": "UBOT"}, "T1", "C1", ME)
    assert isinstance(own, IgnoredPayload)
