"""Provider names and their classes: no config decides what is imported."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from teams._components import providers
from teams._components.providers import (
    autogen_provider,
    canonical_provider,
    import_attribute,
    is_foreign,
    known_providers,
    own_provider,
    resolve_provider,
    trust_component_prefix,
)
from teams.tools import FunctionTool

OURS = "teams.tools.FunctionTool"
THEIRS = "autogen_core.tools.FunctionTool"


def test_a_name_of_autogen_stands_for_one_of_ours():
    assert canonical_provider(THEIRS) == OURS
    assert canonical_provider("openai_chat_completion_client").startswith("teams.models.openai.")
    assert canonical_provider("mine.Tool") == "mine.Tool"
    assert (is_foreign(THEIRS), is_foreign(OURS), is_foreign("mine.Tool")) == (True, False, False)


def test_ours_have_a_name_of_autogen_if_it_can_load_them():
    assert autogen_provider(OURS) == THEIRS
    assert autogen_provider("teams.tools.TeamTool") == "autogen_agentchat.tools.TeamTool"
    assert autogen_provider("teams.tools.mcp.McpSessionHost") is None


def test_our_classes_are_found_by_their_names():
    assert own_provider("FunctionTool") == OURS
    assert own_provider("Mine") is None
    assert OURS in known_providers()


@pytest.mark.parametrize("provider", [OURS, THEIRS])
def test_a_known_name_is_imported(provider: str):
    assert resolve_provider(provider) is FunctionTool


@pytest.mark.parametrize(
    ("provider", "said"),
    [
        ("os.system", "Unknown component provider 'os.system'"),
        ("teams.tools.json", "Unknown component provider"),
        ("autogen_ext.models.llama_cpp.LlamaCppChatCompletionClient", "Use instead"),
    ],
)
def test_another_name_is_not_imported(provider: str, said: str):
    with pytest.raises(ValueError, match=said):
        resolve_provider(provider)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module of the user's own; nothing is trusted yet."""
    (tmp_path / "mine_here.py").write_text("class Tool:\n    class Inner: ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(providers, "_trusted", set[str]())
    monkeypatch.delitem(sys.modules, "mine_here", raising=False)
    return "mine_here"


def test_a_trusted_package_is_imported_at_last(module: str):
    with pytest.raises(ValueError, match="trust its package"):
        resolve_provider(f"{module}.Tool")
    assert module not in sys.modules
    trust_component_prefix(f" {module}. ")
    assert resolve_provider(f"{module}.Tool").__name__ == "Tool"
    with pytest.raises(ValueError, match="trust its package"):
        resolve_provider(f"{module}_too.Tool")
    with pytest.raises(ValueError, match="names a package"):
        trust_component_prefix(" . ")


def test_the_variable_trusts_packages_too(module: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(providers.TRUST_VARIABLE, f"other, {module}")
    assert resolve_provider(f"{module}.Tool").__name__ == "Tool"


def test_an_object_is_imported_by_its_path(module: str):
    assert import_attribute(f"{module}:Tool.Inner").__name__ == "Inner"
    assert import_attribute("os:getpid") is os.getpid


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("os", "Expected 'package.module:name'"),
        ("nowhere_at_all:x", "No module named 'nowhere_at_all'"),
        ("os:nothing", "'os' has no 'nothing'"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(path: str, said: str):
    with pytest.raises(ValueError, match=said):
        import_attribute(path)
