"""Fuzz targets of platforms: mutated payloads, and what is shown."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, cast

from hypothesis import strategies as st

from adapters.discord.custom_ids import custom_id, parse_button
from adapters.discord.inbound import parse_interactions as discord_interactions
from adapters.discord.inbound import parse_messages as discord
from adapters.discord.read_message import read_message
from adapters.slack import Config
from adapters.slack.action_ids import parse_action as slack_action
from adapters.slack.connection.workspace import Workspace
from adapters.slack.inbound.handler import parse_payload as slack_parse
from adapters.slack.inbound.parsed import Draft
from adapters.slack.outbound.text import neutral as slack_neutral
from gateway.render.split import split
from tests.fuzz.targets import EDITS, JSON, MARKS, TARGETS, Edit, Target, edited

SAMPLES = Path(__file__).resolve().parents[1] / "data" / "slack" / "samples"
ME = Workspace(id="T1", user="U0BOT", bot="B0BOT")
MY_DISCORD = discord.BotIdentity(user="1", application="2", roles=frozenset({"3"}))

DISCORD_MESSAGE: dict[str, Any] = {
    "id": "1100000000000000001",
    "channel_id": "1100000000000000002",
    "guild_id": "1100000000000000003",
    "type": 19,
    "content": "<@1> look <#4> <@&3> <t:1700000000:R>",
    "author": {"id": "5", "username": "ann", "global_name": "Ann", "bot": False},
    "member": {"nick": "A", "roles": ["3", "4"]},
    "mentions": [{"id": "1", "username": "parley", "member": {"nick": None}}],
    "mention_roles": ["3"],
    "attachments": [
        {"id": "6", "filename": "a.png", "size": 12, "url": "https://cdn.example/a", "width": 1}
    ],
    "embeds": [{"title": "t", "description": "d", "fields": [{"name": "n", "value": "v"}]}],
    "message_reference": {"message_id": "7", "channel_id": "8", "type": 0},
    "referenced_message": {
        "id": "7",
        "author": {"id": "1", "username": "parley"},
        "content": "asked",
        "components": [{"type": 1, "components": [{"type": 2, "custom_id": "g:approve:ab"}]}],
        "attachments": [],
    },
    "message_snapshots": [{"message": {"content": "forwarded", "attachments": []}}],
    "poll": {
        "question": {"text": "q"},
        "answers": [{"answer_id": 1, "poll_media": {"text": "a", "emoji": {"name": "e"}}}],
        "results": {"answer_counts": [{"id": 1, "count": 2}], "is_finalized": False},
    },
    "sticker_items": [{"id": "1", "name": "Wave", "format_type": 1}],
    "components": [{"type": 17, "components": [{"type": 10, "content": "text"}]}],
    "edited_timestamp": "2026-01-01T00:00:00Z",
    "flags": 0,
}
DISCORD_CLICK: dict[str, Any] = {
    "id": "1100000000000000009",
    "type": 3,
    "token": "t",
    "application_id": "2",
    "channel_id": "1100000000000000002",
    "guild_id": "1100000000000000003",
    "member": {"user": {"id": "5", "username": "ann"}, "roles": ["3"]},
    "message": DISCORD_MESSAGE["referenced_message"],
    "data": {
        "type": 1,
        "name": "ask",
        "custom_id": "g:menu:ab:1",
        "values": ["1"],
        "target_id": "7",
        "options": [{"name": "text", "value": "hello"}],
        "resolved": {"messages": {"7": DISCORD_MESSAGE["referenced_message"]}},
        "components": [{"components": [{"custom_id": "text", "value": "because"}]}],
    },
}


@cache
def _slack_samples() -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(SAMPLES.glob("*/*.json"))]


def _slack(given: tuple[int, list[Edit]]) -> None:
    which, edits = given
    samples = _slack_samples()
    body = edited(samples[which % len(samples)], edits)
    found = slack_parse(body, Config(bot_token="xoxb-x", app_token="xapp-x"), ME)  # pyright: ignore[reportArgumentType]
    if isinstance(found, Draft):
        assert found.message.key.platform == "slack"
        # or it would be taken each time that it comes
        assert found.message.dedupe
        assert found.user != ME.user


def _slack_click(payload: Any) -> None:
    slack_action(payload)


def _discord(given: tuple[int, list[Edit]]) -> None:
    kind, edits = given
    payload = edited(DISCORD_MESSAGE, edits)
    if isinstance(payload, dict):
        read_message(cast("dict[str, Any]", payload))  # raises nothing
    with suppress(KeyError, TypeError, ValueError):
        said = discord.parse_message(payload, MY_DISCORD)
        if said is not None:
            assert said.id.isdigit()
            assert said.sender.id != MY_DISCORD.user
    with suppress(KeyError, TypeError, ValueError):
        discord_interactions.parse_interaction(edited({**DISCORD_CLICK, "type": kind}, edits))


def _discord_click(text: str) -> None:
    button = parse_button(text)
    assert button is None or parse_button(custom_id(button)) == button


def _pieces(given: tuple[str, int, list[int]]) -> None:
    text, limit, prefixes = given
    pieces = split(text, limit=limit)
    assert "".join(piece.body for piece in pieces) == text
    assert all(len(piece.text) <= limit for piece in pieces)
    for end in prefixes:  # what is followed by another piece stays as it is while the text grows
        before = split(text[:end], limit=limit, growing=True)[:-1]
        assert before == pieces[: len(before)]


def _in_slack(text: str) -> None:
    shown = slack_neutral(text)
    for live in ("<!here>", "<@U1>", "\x1b"):
        assert live not in shown


BUTTONS = st.fixed_dictionaries(
    {},
    optional={
        "action_id": st.sampled_from(["g:approve:0", "g:choice:3", "g:command:0", "g::", "x"])
        | st.text(max_size=20),
        "value": st.text(max_size=30) | JSON,
        "selected_option": JSON,
        "type": st.sampled_from(["button", "static_select"]) | JSON,
    },
)

TARGETS.update(
    {
        "slack sample": Target(st.tuples(st.integers(0, 50), EDITS), _slack),
        "slack button": Target(BUTTONS, _slack_click),
        "discord payload": Target(st.tuples(st.sampled_from([2, 3, 5, 1]), EDITS), _discord),
        "discord action": Target(
            st.lists(
                st.sampled_from(["g", ":", "menu", "approve", "choice", "1", "ab", "\u0663"]),
                max_size=8,
            ).map("".join),
            _discord_click,
        ),
        "pieces": Target(
            st.tuples(MARKS, st.integers(40, 200), st.lists(st.integers(0, 60), max_size=3)),
            _pieces,
        ),
        "what is shown in slack": Target(MARKS, _in_slack),
    }
)
