"""The table of kinds, against their declarations."""

import ast
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest

from gateway.config.teams import TEAMS
from teams.kinds import KINDS, KindsOf, ModelKind, OwnPart, Part

ROOT = Path(__file__).parents[3]


def declared() -> set[str]:
    """Import paths of the classes with a `kind` in `teams` and `gateway`."""
    found: set[str] = set()
    for path in [*(ROOT / "teams").rglob("*.py"), *(ROOT / "gateway").rglob("*.py")]:
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if (text := path.read_text()) and "kind: ClassVar = Kind(" in text:
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.ClassDef) and "kind: ClassVar = Kind(" in "".join(
                    ast.unparse(each) for each in node.body
                ):
                    found.add(f"{module}:{node.name}")
    return found


def test_every_declaration_has_a_line_in_the_table_of_names():
    import_module("gateway.config.models")  # it adds those of the gateway
    lines = {line.path for family in KINDS.values() for line in family.values()}
    teams = {f"{team.__module__}:{team.__name__}" for team in TEAMS}
    assert lines | teams == declared()


@pytest.mark.parametrize("family", KINDS)
def test_a_line_says_what_the_declaration_says(family):
    for name, line in KINDS[family].items():
        table = KindsOf(family).members[name]
        assert issubclass(table, Part)
        assert table.kind.family == family
        assert table.kind.made_by.endswith(f":{line.makes}")
        if line.by_key:
            assert name in table.model_fields
            assert table.kind.name == name
        else:
            told = table.model_fields.get("type")
            names = [name] if told is None else get_args(told.annotation)
            assert name in names
            assert table.kind.name in names
        if issubclass(table, ModelKind):
            assert sorted(line.variables) == sorted(table.variables())
        module, _, cls = table.kind.made_by.partition(":")
        assert hasattr(import_module(module), cls)
        assert issubclass(table, OwnPart) == (name == "path" and family != "tool")
