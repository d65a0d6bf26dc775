"""Homes of AutoGen's modules and names."""

from __future__ import annotations

import pytest

from gateway.migrate.names import (
    Absent,
    Here,
    find_dotted,
    find_module,
    find_name,
    has_name,
    is_autogen,
)


@pytest.mark.parametrize(
    ("dotted", "is_theirs"),
    [
        ("autogen_core.models", True),
        ("autogen", True),
        ("pyautogen", True),
        ("autogenstudio.web", True),
        ("autogenous", False),
        ("my.autogen_core", False),
    ],
)
def test_a_name_of_autogen_is_known_by_its_root(dotted: str, is_theirs: bool) -> None:
    assert is_autogen(dotted) is is_theirs


def test_a_module_has_its_first_home_or_an_advice() -> None:
    assert find_module("autogen_agentchat.teams") == Here("teams")
    assert find_module("autogen_ext.models.openai.config") == Here("teams.models.openai")
    advice = 'use `parley run` with a team of type "magentic_one"'
    assert find_module("magentic_one_cli.main") == Absent(advice)
    unknown = find_module("autogen_core.nowhere")
    assert isinstance(unknown, Absent)
    assert "look for a public name" in unknown.advice


def test_a_name_is_in_the_first_home_that_has_it() -> None:
    local = "LocalCommandLineCodeExecutor"
    assert find_name("autogen.coding", "CodeBlock") == Here("teams.code_executor", "CodeBlock")
    assert find_name("autogen.coding", local) == Here("teams.code_executors.local", local)
    assert find_name("autogen_core._image", "Image") == Here("teams.core", "Image")
    assert find_name("autogen_core", "models") == Here("teams.models")
    assert find_name("autogen", "__version__") == Here("teams", "__version__")
    assert isinstance(find_name("autogen_core", "Nothing"), Absent)


def test_a_dotted_name_is_split_after_its_longest_module() -> None:
    found = find_dotted("autogen_core.models.UserMessage.type")
    assert found == (Here("teams.models", "UserMessage"), "type")
    assert find_dotted("autogen_core.models") == (Here("teams.models"), "")
    match find_dotted("autogenstudio.web"):
        case (Absent(advice), ""):
            assert "parley teams import" in advice
        case other:
            pytest.fail(str(other))
    assert find_dotted("os.path") is None


def test_only_public_names_are_a_modules_own() -> None:
    assert has_name("teams.core", "CancellationToken")
    assert not has_name("teams.core", "annotations")
