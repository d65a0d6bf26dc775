"""Recorded and documented Slack payloads in the parsers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adapters.slack import Config
from adapters.slack.connection.payload import bot_user_of, enterprise_of, team_of
from adapters.slack.connection.workspace import Workspace
from adapters.slack.inbound.handler import parse_payload
from adapters.slack.inbound.parsed import (
    Acted,
    Draft,
    HomeVisit,
    IgnoredPayload,
    ReactionTrigger,
    Uninstallation,
)
from gateway.client import Answer
from gateway.interactions import Click, Command

SAMPLES = Path(__file__).parents[3] / "data" / "slack" / "samples"


def sample(name: str) -> dict[str, Any]:
    return json.loads((SAMPLES / f"{name}.json").read_text(encoding="utf-8"))


def meaning(body: dict[str, Any]) -> Any:
    config = Config.model_validate(
        {
            "bot_token": "xoxb-1",
            "app_token": "xapp-1",
            "reactions": ["+1"],
            "command": "/test-feedback",
        }
    )
    return parse_payload(body, config, Workspace(id=team_of(body), user=bot_user_of(body)))


@pytest.mark.parametrize(
    ("name", "root", "text"),
    [
        ("recorded/app_mention_in_enterprise", "1770676954.663639", "testing"),
        ("recorded/app_mention_with_file", "1770241970.822989", "[AI]"),
        ("recorded/message_with_mention", "1767406613.568609", "What is love?"),
    ],
)
def test_a_mention_is_addressed_to_the_bot(name: str, root: str, text: str) -> None:
    body = sample(name)
    found = meaning(body)
    assert isinstance(found, Draft)
    assert found.mentioned
    assert not found.bot
    assert (found.message.key.workspace, found.message.key.root) == (
        body["authorizations"][0]["team_id"],
        root,
    )
    assert text in found.content.text
    assert len(found.message.dedupe) == 3
    assert len(found.content.files) == len(body["event"].get("files", []))
    assert all('"host": "slack"' in file.ref for file in found.content.files)


def test_a_reply_is_in_its_thread() -> None:
    body = sample("recorded/message_in_thread")
    found = meaning(body)
    assert isinstance(found, Draft)
    assert found.in_thread
    assert found.message.key.root == body["event"]["thread_ts"]


def test_what_else_has_been_recorded() -> None:
    marked = meaning(sample("recorded/reaction_added"))
    assert isinstance(marked, ReactionTrigger)
    assert marked.draft.message.key.channel == "C0A511MBCUW"
    called = meaning(sample("recorded/slash_command"))
    assert isinstance(called, Acted)
    assert called.does == Command(text="some arguments here")
    for name in ("block_actions", "block_actions_on_ephemeral", "block_actions_static_select"):
        assert meaning(sample(f"recorded/{name}")) == IgnoredPayload("another app")
    assert meaning(sample("recorded/view_submission")) == IgnoredPayload("another app")
    assert enterprise_of(sample("recorded/app_mention_in_enterprise")) == "E0A9D9SMZ0R"


def test_a_recorded_button_as_one_of_ours() -> None:
    body = sample("recorded/block_actions")
    body["actions"][0] |= {"action_id": "g:approve:0", "value": "0123456789ab"}
    found = meaning(body)
    assert isinstance(found, Acted)
    message = found.draft.message
    assert found.does == Click(request="0123456789ab", answer=Answer(kind="approve"))
    assert message.key.root == body["container"]["thread_ts"]
    assert message.message_id == body["container"]["message_ts"]


def test_what_the_documentation_shows() -> None:
    stopped = meaning(sample("documented/agent_session_stopped"))
    assert isinstance(stopped, Draft)
    assert (stopped.message.event, stopped.message.key.root) == ("stop", "1782234671.392669")
    edited = meaning(sample("documented/message_changed"))
    assert isinstance(edited, Draft)
    assert edited.message.event == "edit"
    deleted = meaning(sample("documented/message_deleted"))
    assert isinstance(deleted, Draft)
    assert (deleted.message.event, deleted.message.message_id) == ("delete", "1358878749.000002")
    assert isinstance(meaning(sample("documented/app_home_opened")), HomeVisit)
    for name in ("app_uninstalled", "tokens_revoked"):
        assert meaning(sample(f"documented/{name}")) == Uninstallation(team="T123ABC456", why=name)
    for name in ("member_left_channel", "reaction_removed"):
        assert meaning(sample(f"documented/{name}")) == IgnoredPayload("unknown kind")


def test_an_organisation_that_goes_is_the_one_that_had_installed() -> None:
    body = sample("documented/app_uninstalled")
    body["authorizations"][0] |= {"enterprise_id": "E1", "is_enterprise_install": True}
    assert meaning(body) == Uninstallation(team="E1", why="app_uninstalled")
