"""Declarations of kinds, against the table of their names."""

import ast
import re
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest

from gateway.config.teams import TEAMS
from teams.kinds import KINDS, KindsOf, ModelKind, OwnPart, Part

ROOT = Path(__file__).parents[3]
PACKAGES = ("teams", "gateway", "adapters")


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


def test_the_gateway_adds_its_own():
    assert KindsOf("agent").members["assistant"].__module__ == "gateway.config.agents"


def test_every_declaration_has_a_line_in_the_table_of_names():
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


def test_a_table_that_is_none_of_its_family_is_refused():
    with pytest.raises(KeyError):
        KindsOf("tool").table(type="nothing")


def test_few_files_name_a_kind_outside_of_its_folder():
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    naming = [path for path in paths if re.search(r"(?i)web_?surfer", path.read_text())]
    outside = {path.name for path in naming if path.parent.name != "web_surfer"}
    assert outside <= {"kind_names.py", "providers.py", "absent.py", "magentic_bundle.py"}
