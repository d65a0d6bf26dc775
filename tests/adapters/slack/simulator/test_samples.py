"""Real payloads match Slack's types, and simulated ones lack no field."""

import json
from pathlib import Path
from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.testing import SlackSimulator
from tests.fakes.slack_types import TOO_NARROW, event_name, mismatch

SAMPLES = Path(__file__).parents[3] / "data" / "slack" / "samples"

# What Slack adds for its own clients, or only sometimes.
NOT_SIMULATED = {
    "enterprise_id",
    "assistant_thread",
    "display_as_bot",
    "upload",
    "context_team_id",
    "context_enterprise_id",
    "event_context",
    "is_ext_shared_channel",
}


def sample(name: str) -> dict[str, Any]:
    return json.loads((SAMPLES / f"{name}.json").read_text())


@pytest.mark.parametrize(
    "path", sorted(SAMPLES.glob("*/*.json")), ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_a_sample_is_of_the_published_types(path: Path) -> None:
    payload = json.loads(path.read_text())
    if payload.get("type") == "event_callback":
        event = payload["event"]
        wrong = mismatch("events", event_name(event), event)
    else:
        wrong = mismatch("interactions", payload.get("type", "slash_command"), payload)
    # The documentation's examples leave out what they are not about.
    assert [
        each
        for each in wrong
        if not TOO_NARROW.search(each)
        and not (path.parent.name == "documented" and each.endswith("is missing"))
        and not each.endswith(("'groups' is missing", "'channels' is missing"))
    ] == []


def test_a_wrong_payload_is_noticed() -> None:
    event = sample("recorded/reaction_added")["event"]
    assert mismatch("events", "reaction_added", event) == []
    assert mismatch("events", "reaction_added", event | {"item": 7, "reaction": None}) == [
        "reaction_added/reaction: None is no string",
        "reaction_added/item: 7 is no object",
    ]
    del event["user"]
    assert mismatch("events", "reaction_added", event) == ["reaction_added: 'user' is missing"]


async def test_the_simulated_payloads_have_what_the_recorded_ones_have(
    slack: SlackSimulator, client: AsyncWebClient
) -> None:
    alice = slack.person("alice")
    asked = await alice.asks("general", "what is love?")
    await alice.says("general", "who are you?", thread=asked)
    await alice.reacts(asked, "+1")
    await alice.uploads("general", "image.png", b"png", text="@parley what is this?")
    button = {"type": "button", "action_id": "a", "text": {"type": "plain_text", "text": "Go"}}
    actions = [{"type": "actions", "elements": [button]}]
    card: Any = await client.chat_postMessage(
        channel="C0GENERAL", thread_ts=asked.ts, text="?", blocks=actions
    )
    hidden: Any = await client.chat_postEphemeral(
        channel="C0GENERAL", user=alice.id, thread_ts=asked.ts, text="?", blocks=actions
    )
    await alice.clicks(card["ts"], "Go")
    await client.views_open(
        trigger_id=slack.deliveries[-1].payload["trigger_id"],
        view={
            "type": "modal",
            "title": {"type": "plain_text", "text": "T"},
            "submit": {"type": "plain_text", "text": "S"},
            "blocks": [
                {
                    "type": "input",
                    "block_id": "b",
                    "label": {"type": "plain_text", "text": "L"},
                    "element": {"type": "plain_text_input", "action_id": "a"},
                }
            ],
        },
    )
    await alice.submits({"b": "x"})
    await alice.clicks(hidden["message_ts"], "Go")
    await alice.commands("general", "/parley", "x")
    message, mention, reply, reaction, _, shared, *_ = (
        each.payload for each in slack.deliveries if each.kind == "events_api"
    )
    click, submission, hidden_click = (
        each.payload for each in slack.deliveries if each.kind == "interactive"
    )
    for name, simulated in {
        "message_with_mention": message,
        "app_mention_in_enterprise": mention,
        "message_in_thread": reply,
        "reaction_added": reaction,
        "app_mention_with_file": shared,
        "block_actions": click,
        "view_submission": submission,
        "block_actions_on_ephemeral": hidden_click,
        "slash_command": slack.deliveries[-1].payload,
    }.items():
        assert missing(sample(f"recorded/{name}"), simulated) == set(), name


def missing(recorded: Any, simulated: Any, path: str = "") -> set[str]:
    """Paths of fields that a simulated payload lacks, except in lists."""
    lacking: set[str] = set()
    for name, value in recorded.items():
        if name in NOT_SIMULATED or name in ("state", "blocks"):
            continue
        if name not in simulated:
            lacking.add(f"{path}/{name}")
        elif isinstance(value, dict) and isinstance(simulated[name], dict):
            lacking |= missing(value, simulated[name], f"{path}/{name}")
    return lacking
