"""Checks of the calls that a simulated Slack has recorded."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.blocks import Block

from adapters.slack.simulator.call import METHODS, Call
from adapters.slack.simulator.state import Json
from adapters.slack.testing import SlackSimulator


def sdk_complaints(calls: Iterable[Call]) -> list[str]:
    """Faults in the blocks of the calls, a sentence each.

    The SDK checks lengths and counts of blocks, not of the elements inside them.
    """
    complaints: list[str] = []
    for call in calls:
        for sent in _blocks(call) if call.applied else ():
            block = Block.parse(sent)
            if block is None:
                complaints.append(f"{call.method}: no such block: {sent.get('type')!r}")
                continue
            try:
                block.validate_json()
            except SlackObjectFormationError as error:
                complaints.append(f"{call.method}: {error}")
    return complaints


def over_tier(slack: SlackSimulator) -> dict[str, int]:
    """Methods with more calls in 60 seconds than their tier allows.

    With the number of calls.
    """
    called = {each.method for each in slack.calls()} & METHODS.keys()
    counts = {name: slack.per_minute(name) for name in called}
    return {name: most for name, most in counts.items() if most > METHODS[name].per_minute}


def _blocks(call: Call) -> Iterator[Json]:
    yield from _list(call.arguments.get("blocks"))
    for chunk in _list(call.arguments.get("chunks")):
        yield from _list(chunk.get("blocks"))
    view = _decoded(call.arguments.get("view"))
    if isinstance(view, dict):
        yield from _list(view.get("blocks"))


def _list(value: object) -> list[Json]:
    decoded = _decoded(value)
    return decoded if isinstance(decoded, list) else []


def _decoded(value: object) -> Any:
    return json.loads(value) if isinstance(value, str) and value else value
