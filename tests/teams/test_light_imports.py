"""Imports without SDKs of providers, platforms and clients of HTTP."""

from __future__ import annotations

import subprocess
import sys

import pytest

LIGHT = ["teams.core", "teams.models", "teams.tools", "teams.memory", "teams.model_context"]
HTTP_TOOL = "HttpTool('x', 'h', 80, {'type': 'object', 'properties': {}})"
STEPS = {
    **{module: f"import {module}" for module in LIGHT},
    "messages": "import teams.base, teams.conditions, teams.messages, teams.state, teams.utils",
    "engine": "import teams.agents, teams.ui; from teams import RoundRobinGroupChat, Swarm",
    "http tool": f"from teams.tools.http import HttpTool; {HTTP_TOOL}",
    "graphrag": "import teams.tools.graphrag",
}
"""Imports of one process, in this order: what a later one needs, an earlier one has not loaded."""


@pytest.fixture(scope="module")
def loaded() -> dict[str, set[str]]:
    """The modules that there are after each step."""
    code = "import sys\n" + "".join(f"{step}\nprint(*sys.modules)\n" for step in STEPS.values())
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    return {name: {*line.split()} for name, line in zip(STEPS, lines, strict=True)}


@pytest.mark.parametrize("module", LIGHT)
def test_importing_loads_no_provider_sdk(loaded: dict[str, set[str]], module: str):
    heavy = {"openai", "anthropic", "PIL", "jsonschema", "httpx", "aiohttp", "textual", "tiktoken"}
    assert module in loaded[module]
    assert not heavy & loaded[module]


def test_messages_come_without_any_sdk(loaded: dict[str, set[str]]):
    assert not {"PIL", "aiohttp", "httpx", "jsonschema", "openai"} & loaded["messages"]


def test_importing_the_engine_loads_no_provider_and_no_platform(loaded: dict[str, set[str]]):
    heavy = {"openai", "anthropic", "ollama", "slack_sdk", "discord", "textual", "aiohttp"}
    heavy |= {"httpx", "PIL", "opentelemetry", "gateway", "adapters"}
    assert not heavy & loaded["engine"]


def test_the_http_client_is_loaded_by_the_first_request_alone(loaded: dict[str, set[str]]):
    assert "httpx" not in loaded["http tool"]


def test_importing_the_graphrag_tools_imports_no_sdk(loaded: dict[str, set[str]]):
    assert "pandas" not in loaded["graphrag"]
