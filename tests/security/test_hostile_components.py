"""Law: the text of a component runs, starts, opens and imports nothing.

Each class of ours is made of its example with hostile values in each of its fields, in a process
under an audit hook. Those that want something are only read, as long as nobody has allowed it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.factory.component_files import READERS
from tests.security.component_examples import HARMLESS

ROOT = Path(__file__).resolve().parents[2]
KEYS = (
    *("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_SEARCH_API_KEY"),
    "MEM0_API_KEY",
)

OPTIONAL = "import ('azure.identity.broker'"
"""A package that azure.identity looks for with each credential; it is in no extra of ours."""


def made(what: str, folder: Path) -> dict[str, tuple[bool, int, list[str]]]:
    """By class: if its example passes, how many changes do, what happened."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.security.made_of_hostile", what],
        cwd=folder,
        env={**os.environ, **dict.fromkeys(KEYS, "x"), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
    )
    return {name.rpartition(".")[2]: tuple(rest) for name, *rest in json.loads(run.stdout)}


@pytest.mark.timeout(60)
def test_a_harmless_class_does_nothing_while_it_is_made(tmp_path: Path):
    found = made("harmless", tmp_path)
    assert found.keys() == HARMLESS
    assert {name for name, (is_good, _, _) in found.items() if not is_good} == set()
    for _, _, seen in found.values():
        assert [each for each in seen if not each.startswith(OPTIONAL)] == []
    assert sum(passed for _, passed, _ in found.values()) > 800
    assert not any(tmp_path.iterdir())


@pytest.mark.timeout(60)
def test_reading_what_a_component_wants_does_nothing(tmp_path: Path):
    found = made("read", tmp_path)
    assert found.keys() == READERS.keys()
    assert {name: seen for name, (_, _, seen) in found.items() if seen} == {}
    assert not any(tmp_path.iterdir())


@pytest.mark.chaos
@pytest.mark.timeout(300)
def test_an_allowed_component_runs_no_text(tmp_path: Path):
    found = made("wanting", tmp_path)
    assert found.keys() == READERS.keys()
    assert {name: seen for name, (_, _, seen) in found.items() if seen} == {}
