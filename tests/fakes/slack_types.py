"""Compares a simulated Slack's traffic with the types that Slack publishes."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from adapters.slack.testing import SlackSimulator
from tests.fakes.json_schema import mismatches

SCHEMAS = Path(__file__).parents[1] / "data" / "slack" / "schemas"


# Where payloads that were recorded in real workspaces are not of the published types either: fields
# that no type has, null for what is not there, messages inside events, which lack the fields of the
# event around them, clicks inside a modal, which have no message to answer to, bots, which number
# no messages, and Home tabs, which have no title (docs.slack.dev/reference/events/app_home_opened).
TOO_NARROW = re.compile(
    r"is not known$"
    r"|^block_actions: 'response_url' is missing$"
    r"|/(enterprise|previous_view_id|close|submit): None is no \w+$"
    r"|/((previous_)?message|root): '(channel|channel_type|event_ts)' is missing$"
    r"|^(block_actions|app_home_opened)/view: 'title' is missing$"
    r"|^app_home_opened/view/type: 'home' is not 'modal'$"
    r"|^message.thread_broadcast: 'client_msg_id' is missing$"
)


@cache
def schemas(name: str) -> dict[str, Any]:
    return json.loads((SCHEMAS / f"{name}.json").read_text())


def untyped(slack: SlackSimulator) -> list[str]:
    """Every difference between the simulator's traffic and Slack's own types."""
    said = dict.fromkeys([*_answers(slack), *_deliveries(slack)])
    return [each for each in said if not TOO_NARROW.search(each)]


def _answers(slack: SlackSimulator) -> Iterator[str]:
    for call in slack.calls():
        schema = schemas("responses").get(call.method)
        if schema is not None and call.answer is not None:
            yield from mismatches(schema, call.answer, schema, call.method)


def _deliveries(slack: SlackSimulator) -> Iterator[str]:
    for delivery in slack.deliveries:
        match delivery.kind:
            case "events_api":
                yield from mismatch("events", event_name(delivery.event), delivery.event)
            case "interactive":
                yield from mismatch("interactions", delivery.payload["type"], delivery.payload)
            case "slash_commands":
                yield from mismatch("interactions", "slash_command", delivery.payload)


def event_name(event: dict[str, Any]) -> str:
    """The name of an event in the schemas, by subtype if any."""
    subtype = event.get("subtype")
    return f"{event['type']}.{subtype}" if subtype else event["type"]


def mismatch(kind: str, name: str, value: Any) -> list[str]:
    root = schemas(kind)
    if name not in root["properties"]:
        return [f"{kind} has no {name}"]
    return list(mismatches(root["properties"][name], value, root, name))
