"""Names of a config that lead nowhere."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.base.imports import Imports
from gateway.config.root import Config
from gateway.references.check import check_references
from gateway.references.lookup import Lookup

SLACK = {"adapter": "slack", "channels": "*", "users": "members"}


def mistakes(data: dict[str, Any]) -> list[tuple[tuple[str | int, ...], str]]:
    found = check_references(Lookup(Config.model_validate(data), data, Imports()))
    return [(problem.path, problem.text) for problem in found]


def test_a_config_without_names_has_no_mistakes() -> None:
    assert mistakes({}) == []
    assert mistakes({"adapters": {"slack": {}}, "routes": [SLACK]}) == []


@pytest.mark.parametrize(
    ("data", "path", "said"),
    [
        ({"default_team": "dmo"}, ("default_team",), "did you mean 'demo'?"),
        ({"default_model": "atuo"}, ("default_model",), "did you mean 'auto'?"),
        ({"routes": [SLACK]}, ("routes", 0, "adapter"), "a key of [adapters]"),
        (
            {"policies": {"approvals": ["slack:T1:C1"]}},
            ("policies", "approvals", 0),
            "a channel of a platform in [adapters]",
        ),
        (
            {"policies": {"tools": {"files/read": "ask"}}},
            ("policies", "tools", "files/read"),
            "a server in [mcp] or of an agent",
        ),
        (
            {"budgets": [{"per": "team", "only": "none", "tokens": 1}]},
            ("budgets", 0, "only", 0),
            "found 'none'",
        ),
        (
            {"teams": {"t": {"component": "/nowhere.json"}}},
            ("teams", "t", "component"),
            "cannot read /nowhere.json",
        ),
        ({"teams": {"t": {"type": "demo", "model": "x"}}}, ("teams", "t", "model"), "found 'x'"),
        ({"mcp": {"a b": {"command": "x"}}}, ("mcp", "a b"), "letters, digits, - and _"),
    ],
)
def test_a_name_that_leads_nowhere_is_said_at_its_place(
    data: dict[str, Any], path: tuple[str | int, ...], said: str
) -> None:
    [(place, text)] = mistakes(data)
    assert place == path
    assert said in text
