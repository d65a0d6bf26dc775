"""Agents and teams behind tools, and who asks them."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.messages import ToolCallExecutionEvent
from tests.fakes.scripted_model import ScriptedModel, calls

ways = pytest.mark.parametrize("way", ["same", "state", "snapshot"])


def chief(*wanted: Any, tools: Sequence[Any], **options: Any) -> AssistantAgent:
    return AssistantAgent("chief", ScriptedModel(*wanted), tools=list(tools), **options)


def ask(name: str, *tasks: str) -> Any:
    return calls(*((name, {"task": task}) for task in tasks))


def helper(*answers: Any, **options: Any) -> AssistantAgent:
    return AssistantAgent("helper", ScriptedModel(*answers), system_message=None, **options)


def results(stream_or_result: Sequence[Any]) -> list[str]:
    """The results of the last round's calls."""
    events = [item for item in stream_or_result if isinstance(item, ToolCallExecutionEvent)]
    return [result.content for result in events[-1].content]


async def moved(old: RoundRobinGroupChat, fresh: RoundRobinGroupChat, way: str) -> Any:
    match way:
        case "state":
            await fresh.load_state(json.loads(json.dumps(await old.save_state())))
        case "snapshot":
            await fresh.load_snapshot([await old.save_snapshot()])
        case _:
            return old
    return fresh


def add(a: int, b: int) -> int:
    """Add."""
    return a + b
