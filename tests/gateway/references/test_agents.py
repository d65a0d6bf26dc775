"""Names in agents' tables, against their team and the config."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.base.imports import Imports
from gateway.config.agents import AssistantConfig
from gateway.config.root import Config
from gateway.config.teams import GroupTeam
from gateway.references.agents import AgentChecker, Roster
from gateway.references.lookup import Lookup

ROSTER = Roster(
    agents=["a", "b", "tool"], members=["a", "b"], outside={"user"}, speakers=["a", "b", "user"]
)


def checker(data: dict[str, Any]) -> AgentChecker:
    return AgentChecker(Lookup(Config.model_validate(data), data, Imports()), ROSTER)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("b", ""),
        ("user", ""),
        ("a", "expected another agent than itself"),
        ("tool", "add it to participants"),
        ("usr", "add Handoff('usr') to termination"),
    ],
)
def test_a_hand_off_reaches_another_participant(target: str, said: str) -> None:
    found = ROSTER.unreachable(target, me="a")
    assert said in found
    assert bool(found) is bool(said)


@pytest.mark.parametrize(
    ("settings", "path", "said"),
    [
        ({}, None, ""),
        ({"model": "none"}, ("model",), "the name of a model"),
        ({"tools": ["nowhere_at_all:add"]}, ("tools", 0), "nowhere_at_all"),
        ({"handoffs": ["c"]}, ("handoffs", 0), "found 'c', expected another participant"),
        ({"knowledge": ["none"]}, ("knowledge", 0), "a name in [knowledge]"),
        ({"mcp": ["none"]}, ("mcp", 0), "a server in [mcp]"),
    ],
)
def test_a_name_of_an_agent_is_checked(
    settings: dict[str, Any], path: tuple[str | int, ...] | None, said: str
) -> None:
    agent = AssistantConfig.model_validate({"type": "assistant", **settings})
    problems = [*checker({}).part(("agent",), "a", agent)]
    assert [each.path[: 1 + len(path or ())] for each in problems] == (
        [("agent", *path)] if path else []
    )
    assert all(said in each.text for each in problems)


def test_a_teams_own_names_are_checked_without_its_agents() -> None:
    table = {"type": "selector", "model": "none", "agents": {"a": {"model": "x"}, "b": {}}}
    data = {"teams": {"t": table}}
    team = Config.model_validate(data).teams["t"]
    assert isinstance(team, GroupTeam)
    [problem] = checker(data).own(("teams", "t"), team)
    assert problem.path == ("teams", "t", "model")
