"""Functions that stand in for the tools of component files."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.migrate.stubs import (
    SourceTool,
    components_in,
    is_component_file,
    source_tools,
    stub_module,
)


def tool(name: str, source: str = "") -> dict[str, Any]:
    config = {"name": name, "description": "Add.", "source_code": source}
    return {"provider": "autogen_core.tools.FunctionTool", "config": config}


TEAM = {"provider": "autogen_agentchat.teams.Swarm", "config": {"tools": [tool("a"), tool("b")]}}


@pytest.mark.parametrize(
    ("name", "function"),
    [("add", "add"), ("add two", "add_two"), ("class", "tool_class"), ("2nd", "tool_2nd")],
)
def test_a_function_has_a_name_that_python_takes(name: str, function: str) -> None:
    assert SourceTool(name, "", "").function == function


def test_components_are_found_from_the_outside_in() -> None:
    found = [(path, form["provider"]) for path, form in components_in({"teams": [TEAM]})]
    assert found == [
        ("teams[0]", "autogen_agentchat.teams.Swarm"),
        ("teams[0].config.tools[0]", "autogen_core.tools.FunctionTool"),
        ("teams[0].config.tools[1]", "autogen_core.tools.FunctionTool"),
    ]


def test_each_tool_is_taken_once() -> None:
    found = source_tools([tool("a", "first"), TEAM])
    assert [(each.name, each.source) for each in found] == [("a", "first"), ("b", "")]


@pytest.mark.parametrize(
    ("data", "is_one"),
    [
        ([TEAM], True),
        ({"provider": "OpenAIChatCompletionClient", "config": {}}, True),
        ({"provider": "mine.Team", "config": {}}, False),
        ({"autogen_core": "a text"}, False),
    ],
)
def test_a_component_file_names_autogen(data: Any, is_one: bool) -> None:
    assert is_component_file(data) is is_one


def test_a_stub_keeps_the_signature_and_runs_nothing() -> None:
    source = "async def f(a: int, /, b: Big = os.getcwd(), *, c=2) -> list[str]:\n    return 1"
    text = stub_module([SourceTool("f", 'Say "hi".', source), SourceTool("g", "", "def (")], 'x"')
    names: dict[str, Any] = {}
    exec(compile(text, "stub", "exec"), names)
    assert "async def f(a: int, b: Any = None, *, c: Any = 2) -> list[str]:" in text
    assert "    #     return 1" in text
    assert names["f"].__doc__ == 'Say "hi".'
    with pytest.raises(NotImplementedError, match="write g,"):
        names["g"]()
