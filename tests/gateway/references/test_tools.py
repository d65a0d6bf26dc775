"""Rules for tools, against the tools that teams have."""

from __future__ import annotations

from typing import Any

from gateway.access.tool_policy import CODE_TOOLS
from gateway.base.imports import Imports
from gateway.config.root import Config
from gateway.config.teams import GroupTeam
from gateway.demo.team import DEMO_TOOLS
from gateway.references.tools import (
    called_tools,
    check_tool_arguments,
    check_tool_names,
    known_tools,
    unknown_tool,
)


def weather(city: str) -> str:
    """Tell the weather."""
    return city


PATH = f"{__name__}:weather"


def config(policies: dict[str, Any] | None = None, **agent: Any) -> Config:
    team = {"type": "round_robin", "agents": {"a": agent}}
    data = {"teams": {"t": team}, "policies": {"tools": policies or {}}}
    return Config.model_validate(data)


def group(made: Config) -> GroupTeam:
    team = made.teams["t"]
    assert isinstance(team, GroupTeam)
    return team


def test_tools_are_known_unless_only_building_shows_them() -> None:
    assert known_tools(Config(), Imports()) == {*CODE_TOOLS, *DEMO_TOOLS}
    assert known_tools(config(tools=[PATH]), Imports()) == {*CODE_TOOLS, "weather"}
    assert known_tools(config(workbench=["mine:Bench"]), Imports()) is None


def test_hand_offs_are_called_too() -> None:
    handoffs = [{"target": "b", "name": "give_to_b"}]
    found = called_tools([group(config(tools=[PATH], handoffs=handoffs))], Imports())
    assert found is not None
    assert {"weather", "give_to_b"} <= found
    assert called_tools([group(config(workbench=["mine:Bench"]))], Imports()) is None
    assert called_tools([group(config(tools=["nowhere_at_all:x"]))], Imports()) is None


def test_a_rule_names_a_tool_of_some_team() -> None:
    rules = {"weather": "ask", "wether": "deny", "server/tool": "ask"}
    [problem] = check_tool_names(config(rules, tools=[PATH]), Imports())
    assert problem.path == ("policies", "tools", "wether")
    assert "did you mean 'weather'?" in problem.text
    assert [*check_tool_names(config(rules, workbench=["mine:Bench"]), Imports())] == []


def test_a_rule_names_arguments_that_its_tool_has() -> None:
    def rule(argument: str) -> dict[str, Any]:
        case = {"action": "deny", "arguments": {argument: "Rome"}}
        return {"weather": {"action": "ask", "cases": [case]}}

    assert [*check_tool_arguments(config(rule("city"), tools=[PATH]), Imports())] == []
    [problem] = check_tool_arguments(config(rule("town"), tools=[PATH]), Imports())
    assert problem.path[:3] == ("policies", "tools", "weather")
    assert "town" in problem.text


def test_an_unknown_tool_is_told_with_those_there_are() -> None:
    assert "their tools are a, b;" in unknown_tool("xyz", {"b", "a"})
    assert "they have none;" in unknown_tool("xyz", {*CODE_TOOLS})
    assert "did you mean 'default'?" in unknown_tool("defualt", {"a"})
