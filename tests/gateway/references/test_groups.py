"""Mistakes of a team in TOML: participants, hand-offs, graphs."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.base.imports import Imports
from gateway.config.root import Config
from gateway.config.teams import GroupTeam
from gateway.references.groups import ENDLESS_GRAPH, GroupChecker
from gateway.references.lookup import Lookup

TWO = {"agents": {"a": {}, "b": {}}}
GRAPH = {"type": "graph", **TWO}


def mistakes(table: dict[str, Any]) -> list[tuple[tuple[str | int, ...], str]]:
    data = {"teams": {"t": table}}
    config = Config.model_validate(data)
    team = config.teams["t"]
    assert isinstance(team, GroupTeam)
    found = GroupChecker(Lookup(config, data, Imports()), ("teams", "t"), team).check()
    return [(problem.path[2:], problem.text) for problem in found]


@pytest.mark.parametrize(
    "table",
    [
        {"type": "round_robin", **TWO},
        {"type": "selector", **TWO},
        {"type": "swarm", "agents": {"a": {"handoffs": ["b"]}, "b": {}}},
        {**GRAPH, "edges": [{"source": "a", "target": "b"}]},
    ],
)
def test_a_sound_team_has_no_mistakes(table: dict[str, Any]) -> None:
    assert mistakes(table) == []


@pytest.mark.parametrize(
    ("table", "path", "said"),
    [
        (
            {"type": "round_robin", "participants": ["a", "b", "a"], **TWO},
            ("participants", 2),
            "found 'a' again, expected it once",
        ),
        (
            {"type": "round_robin", "participants": ["a"], **TWO},
            ("agents", "b"),
            "found an agent that has no part in the team",
        ),
        (
            {"type": "selector", "agents": {"a": {}}},
            ("participants",),
            "expected at least two for a selector",
        ),
        ({"type": "swarm", **TWO}, ("agents", "a", "handoffs"), "must be able to hand over"),
        (
            {"type": "swarm", "agents": {"a": {"handoffs": ["c"]}, "b": {}}},
            ("agents", "a", "handoffs", 0),
            "found 'c', expected another participant",
        ),
        (
            {"type": "round_robin", "custom_message_types": ["pathlib:Path"], **TWO},
            ("custom_message_types", 0),
            "is not a message type",
        ),
        (
            {"type": "round_robin", "termination": "Nothing()", **TWO},
            ("termination",),
            "Nothing",
        ),
        (
            {**GRAPH, "edges": [{"source": "a", "target": "c"}]},
            ("edges", 0, "target"),
            "a participant",
        ),
    ],
)
def test_a_mistake_is_said_at_its_place(
    table: dict[str, Any], path: tuple[str | int, ...], said: str
) -> None:
    [(place, text)] = mistakes(table)
    assert place == path
    assert said in text


def test_a_graph_with_a_loop_needs_an_end() -> None:
    loop = [
        {"source": "a", "target": "b", "condition": "go"},
        {"source": "b", "target": "a", "condition": "back"},
        {"source": "b", "target": "c", "condition": "done"},
    ]
    agents = {"a": {}, "b": {}, "c": {}}
    table = {"type": "graph", "agents": agents, "default_start_node": "a", "edges": loop}
    assert mistakes(table) == [(("termination",), ENDLESS_GRAPH)]
    assert mistakes({**table, "max_turns": 5}) == []
