"""Graphs of talkers."""

from collections.abc import Sequence
from typing import Any

from teams import DiGraphEdge, DiGraphNode
from teams.base import TaskResult
from tests.fakes.agents import Talker


def agents(names: str, **lines: Sequence[Any]) -> dict[str, Talker]:
    """An agent per letter.

    It says its letter and a number unless it has lines.
    """
    return {
        name: Talker(name, *lines.get(name, [f"{name}{n}" for n in range(1, 10)])) for name in names
    }


def said(result: TaskResult) -> str:
    return " ".join(message.source for message in result.messages if message.source != "user")


def nodes(**edges: list[Any]) -> dict[str, DiGraphNode]:
    """Each with its edges: the target, or all there is to say."""
    return {
        name: DiGraphNode(
            name=name,
            edges=[
                DiGraphEdge.model_validate({"target": to} if isinstance(to, str) else to)
                for to in targets
            ],
        )
        for name, targets in edges.items()
    }
