"""Powers that a config has, from its data alone."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.config.powers import Power, platform_of, powers_of


@pytest.mark.parametrize(
    ("table", "platform"),
    [({"platform": "slack"}, "slack"), ({}, "support"), ({"platform": 1}, "support")],
)
def test_an_account_is_of_its_platform_or_named_like_it(
    table: dict[str, Any], platform: str
) -> None:
    assert platform_of("support", table) == platform


@pytest.mark.parametrize(
    ("data", "powers"),
    [
        ({"adapters": {"a": {"platform": "slack"}}}, [("address", "the platform slack")]),
        ({"tracing": {}}, [("address", "the collector of OTEL_EXPORTER_OTLP_ENDPOINT")]),
        ({"mcp": {"a": {"command": "npx", "args": ["-y"]}}}, [("command", "npx -y")]),
        ({"mcp": {"a": {"url": "https://a.example"}}}, [("address", "https://a.example")]),
        ({"mcp": {"a": {"roots": ["/home"]}}}, [("folder", "/home")]),
        ({"teams": {"t": {"component": "t.json"}}}, [("team", "the file t.json")]),
        ({"teams": {"t": {"tools": ["mine:add"]}}}, [("Python", "mine:add")]),
        ({"teams": {"t": {"container": {"image": "x"}}}}, [("code", "image: x")]),
        ({"teams": {"t": {"termination": "mine:Stop(3)"}}}, [("Python", "mine:Stop")]),
        ({"knowledge": {"k": {"folder": "docs"}}}, [("folder", "docs")]),
        ({"store": {"folder": "../away"}}, [("folder", "../away")]),
        ({"store": {"folder": "inside"}}, []),
        ({"store": {"url": "postgresql://u:p@h:1/n"}}, [("address", "the database n at h:1")]),
        ({"network": {"proxy_file": "p"}}, [("secret", "the file p")]),
        ({"terminal": {"name": "${MINE} $${NOT} ${OPENAI_API_KEY}"}}, [("variable", "MINE")]),
        ({"limits": {"parallel_turns": 3}}, []),
    ],
)
def test_a_setting_gives_a_power(data: dict[str, Any], powers: list[tuple[str, str]]) -> None:
    assert [(power.kind, power.what) for power in powers_of(data)] == powers


def test_each_power_is_named_once() -> None:
    twice = {"mcp": {"a": {"roots": ["/a", "/a"]}, "b": {"roots": ["/a"]}}}
    assert powers_of(twice) == [Power("folder", "/a")]
