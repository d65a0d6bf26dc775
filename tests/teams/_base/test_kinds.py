"""Declarations of kinds, against the table of their names."""

import re
from pathlib import Path

import pytest

from teams.kinds import KindsOf

ROOT = Path(__file__).parents[3]
PACKAGES = ("teams", "gateway", "adapters")


def test_the_gateway_adds_its_own():
    assert KindsOf("agent").members["assistant"].__module__ == "gateway.config.agents"


def test_a_table_that_is_none_of_its_family_is_refused():
    with pytest.raises(KeyError):
        KindsOf("tool").table(type="nothing")


def test_few_files_name_a_kind_outside_of_its_folder():
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    naming = [path for path in paths if re.search(r"(?i)web_?surfer", path.read_text())]
    outside = {path.name for path in naming if path.parent.name != "web_surfer"}
    assert outside <= {"kind_names.py", "providers.py", "absent.py", "magentic_bundle.py"}
