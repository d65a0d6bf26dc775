"""The tables of `docs/migrate-from-autogen.md` are complete and true.

Complete against `names.toml`, the public names of AutoGen 0.7.5; true against the code.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pytest

from gateway.migrate.names import Here, find_name

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/migrate-from-autogen.md").read_text()
PUBLIC: dict[str, list[str]] = {
    module: names.split()
    for module, names in tomllib.loads(
        (ROOT / "tests/data/autogen-0.7.5/names.toml").read_text()
    ).items()
}
MARKS = re.compile(r"\[([^]]*)\]\([^)]*\)|`")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of one of the tables."""

    autogen: list[str]
    here: str | None
    how: str

    @property
    def is_same(self) -> bool:
        return self.how == "same"


def plain(cell: str) -> str:
    """The text of a cell, without code marks and links."""
    return MARKS.sub(r"\1", cell).strip()


def rows(heading: str) -> Iterator[Row]:
    section = PAGE.partition(f"\n{heading}\n")[2].partition("\n#")[0]
    for line in section.splitlines():
        if line.startswith("| `"):
            autogen, here, how = (plain(cell) for cell in line.strip("|").split(" | "))
            absent = here in ("not there", "not there yet")
            yield Row(autogen.split(", "), None if absent else here, how)


MODULES = {row.autogen[0]: row for row in rows("## Where things are")}


def named() -> Iterator[tuple[str, Row]]:
    """Each name of the second table, in full, with its row."""
    for row in rows("### Names"):
        module, _, first = row.autogen[0].rpartition(".")
        for name in (first, *row.autogen[1:]):
            yield f"{module}.{name}", row


NAMES = dict(named())
ABSENT = [module for module, row in MODULES.items() if row.here is None]
THERE = [module for module, row in MODULES.items() if row.here is not None]


def changed(module: str) -> str:
    """Where the import of a module leads whose first part is exchanged."""
    return f"teams.{module.partition('.')[2]}"


def test_every_module_has_its_row_and_every_row_says_how():
    assert MODULES.keys() == PUBLIC.keys()
    assert NAMES.keys() <= {f"{module}.{name}" for module in PUBLIC for name in PUBLIC[module]}
    for row in (*MODULES.values(), *NAMES.values()):
        assert row.is_same or row.how.startswith("different: ") or row.here is None, row
        assert row.how


@pytest.mark.parametrize("module", THERE)
def test_a_module_that_is_there_has_every_name_but_those_in_the_second_table(module: str):
    home = MODULES[module].here
    assert home is not None
    absent = {name for name in PUBLIC[module] if not hasattr_quietly(home, name)}
    told = {
        name for name in PUBLIC[module] if (row := NAMES.get(f"{module}.{name}")) and not row.here
    }
    assert absent == told


def hasattr_quietly(module: str, name: str) -> bool:
    try:
        exec(f"from {module} import {name}", {})
    except ImportError:
        return False
    return True


@pytest.mark.parametrize("module", THERE)
def test_migrate_takes_over_each_module_that_is_there(module: str):
    for name in PUBLIC[module]:
        row = NAMES.get(f"{module}.{name}")
        if row is None or row.here is not None:
            assert isinstance(find_name(module, name), Here), name


@pytest.mark.parametrize("module", ABSENT)
def test_a_module_that_is_not_there_is_an_import_error_with_the_table_s_words(module: str):
    for name in PUBLIC[module]:
        with pytest.raises(ImportError) as refused:
            exec(f"from {changed(module)} import {name}", {})
        assert f"Use instead: {MODULES[module].how}" in str(refused.value)


@pytest.mark.parametrize("name", [name for name, row in NAMES.items() if row.here is None])
def test_a_name_that_is_not_there_is_an_import_error_with_the_table_s_words(name: str):
    module, _, last = name.rpartition(".")
    with pytest.raises(ImportError) as refused:
        exec(f"from {MODULES[module].here} import {last}", {})
    assert f"Use instead: {NAMES[name].how}. See docs/migrate-from-autogen.md." in str(
        refused.value
    )


@pytest.mark.parametrize("name", [name for name, row in NAMES.items() if row.here is not None])
def test_a_name_that_differs_is_there(name: str):
    home, _, last = (NAMES[name].here or "").rpartition(".")
    assert hasattr(import_module(home), last)
