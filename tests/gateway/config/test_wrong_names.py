"""One wrong name for each setting that names something."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest

from gateway.app.load import load_config
from gateway.config.policies import DiffArguments, ToolCase, ToolPolicy
from gateway.config.problems import ConfigError
from gateway.config.root import Config
from teams import conditions
from teams.kinds import Section
from tests.gateway.config.test_broken import TOOLS
from tests.gateway.journeys.test_docs import add_tables

pytestmark = pytest.mark.usefixtures("fresh_imports")

ROWS: dict[str, dict[str, str]] = tomllib.loads(
    (Path(__file__).parent / "data" / "wrong_names.toml").read_text()
)
SHAPED = {
    "Policies": ("operators", "live_links"),
    "Route": ("workspace", "channels", "users", "roles", "groups", "bots"),
    "ToolPolicy": ("approvers",),
}
"""Ids and hosts: only their form can be judged (`broken_routes.toml`)."""
OUTSIDE = {
    "AllowedAddress": ("base_url",),
    "AllowedCommand": ("command", "env", "cwd"),
    "AllowedContainer": ("container",),
    "AllowedHosted": ("hosted",),
    "AllowedMount": ("mount",),
    "AllowedVariable": ("env", "server"),
    "AzureAIKind": (
        *("endpoint", "deployment_name", "hosted_tools", "tool_resources", "agent_id"),
        "response_format",
    ),
    "AzureSearchKind": (
        *("azure_search", "index_name", "search_fields", "select_fields", "vector_fields"),
        *("semantic_config_name", "api_version"),
    ),
    "CodeExecutorKind": ("supported_languages",),
    "ComponentTeam": ("tool_overrides", "trusted_modules"),
    "DockerKind": (
        *("image", "init_command", "extra_volumes", "extra_hosts", "device_requests"),
        *("network_mode", "user", "mem_limit"),
    ),
    "DockerJupyterKind": ("image", "mem_limit"),
    "EmbeddingsConfig": ("model", "base_url"),
    "FaceConfig": ("avatar",),
    "FactoryTeam": ("options",),
    "HealthConfig": ("host", "hosts"),
    "HttpToolKind": ("http", "headers"),
    "HttpPolicy": ("hosts", "private_hosts"),
    "InitialMessage": ("source",),
    "KnowledgeConfig": ("files", "addresses"),
    "McpServer": ("command", "args", "env", "url", "headers"),
    "AutoModelKind": ("model",),
    "ModelKind": ("model", "base_url", "options"),
    "ModelInfoConfig": ("family",),
    "OpenAIKind": ("hosted_tools",),
    "TracingConfig": ("endpoint", "headers"),
    "WebConfig": ("proxies", "variables"),
    "WebSurferKind": ("start_page", "browser_channel"),
}
"""Names of what is outside of the config, such as programs, servers and images."""
OWN = {
    "AssistantConfig": ("system_message", "tool_call_summary_format", "output_content_type_format"),
    "Attachments": ("types",),
    "AzureAIKind": ("instructions", "metadata"),
    "AzureSearchKind": ("name", "description", "filter"),
    "ChatConfig": ("message", "carryover"),
    "CodeExecutorKind": ("system_message",),
    "ComponentTeam": ("description",),
    "Config": ("models", "teams", "mcp", "knowledge", "adapters", "prices", "faces"),
    "ConversableTeam": ("description", "agents"),
    "FaceConfig": ("name", "emoji"),
    "FactoryTeam": ("description",),
    "GraphEdge": ("condition", "activation_group"),
    "HandoffConfig": ("name", "description", "message"),
    "HttpToolKind": ("name", "description", "parameters"),
    "InitialMessage": ("content",),
    "ListMemoryKind": ("name",),
    "MagenticOneTeam": ("final_answer_prompt",),
    "McpConfig": ("name",),
    "MemoryEntry": ("content", "mime_type", "metadata"),
    "OpenAIKind": ("instructions",),
    "Reset": ("daily",),
    "Route": ("instructions", "suggested_prompts"),
    "SelectorTeam": ("selector_prompt",),
    "SocietyOfMindKind": ("instruction", "response_prompt"),
    "StoreConfig": ("name", "schema_"),
    "TeamToolKind": ("name", "description"),
    "VideoSurferKind": ("system_message",),
    "TerminalConfig": ("name", "theme", "keys"),
    "FunctionToolKind": ("name", "description"),
    "TracingConfig": ("service_name",),
}
"""Texts, and names that a setting gives."""
BY_THEIR_TABLES = {"AssistantConfig": ("metadata",), "GroupTeam": ("agents",)}


def has_text(kind: Any) -> bool:
    """True for a text, and for a list or table of texts."""
    return kind is str or any(map(has_text, get_args(kind)))


def text_settings() -> set[str]:
    found: set[type[Section]] = set()
    add_tables(Config, found)
    return {
        f"{kind.__name__}.{name}"
        for kind in {*found, DiffArguments, ToolCase, ToolPolicy}
        for name, field in kind.model_fields.items()
        if has_text(field.annotation) and not _is_inherited(kind, name)
    }


def _is_inherited(kind: type[Section], name: str) -> bool:
    return any(name in getattr(base, "model_fields", {}) for base in kind.__mro__[1:])


def condition_settings() -> set[str]:
    kinds = [getattr(conditions, name) for name in conditions.__all__]
    return {
        f"{kind.__name__}.{name}"
        for kind in kinds
        for name, hint in get_type_hints(kind.__init__).items()
        if has_text(hint) or get_origin(hint) is Union
    }


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_wrong_name_is_refused_with_a_hint(tmp_path: Path, row: dict[str, str]) -> None:
    path = tmp_path / "config.toml"
    path.write_text(row["config"])
    (tmp_path / "tools.py").write_text(TOOLS)
    with pytest.raises(ConfigError) as refused:
        load_config(path)
    assert row["hint"] in str(refused.value)


def test_each_setting_with_a_text_names_something_or_is_known_not_to() -> None:
    others = {
        f"{kind}.{name}"
        for table in (SHAPED, OUTSIDE, OWN, BY_THEIR_TABLES)
        for kind, names in table.items()
        for name in names
    }
    assert text_settings() - others == {row for row in ROWS if row in text_settings()}
    assert not others & ROWS.keys()


def test_each_condition_with_a_text_names_something_or_is_known_not_to() -> None:
    assert condition_settings() - {"TextMentionTermination.text"} <= ROWS.keys()
