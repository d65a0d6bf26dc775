"""A process in which the packages of extras are missing.

`tried(programs)` runs Python texts there, and says how each ended: "" or its error.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import packages_distributions
from pathlib import Path
from types import ModuleType

from packaging.utils import canonicalize_name

from docs.installed import packages

ROOT = Path(__file__).resolve().parents[2]


def tried(programs: Mapping[str, str]) -> dict[str, str]:
    """The error of each program, all in one process."""
    asked = [sys.executable, "-m", "tests.fakes.plain_install"]
    done = subprocess.run(
        asked, input=json.dumps(programs), capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


class Plain(PathFinder):
    """Finds what a plain install has, and these tests."""

    hidden: frozenset[str] = frozenset()

    @classmethod
    def find_spec(
        cls,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Find a module that is not hidden."""
        if fullname.partition(".")[0] in cls.hidden:
            return None
        return PathFinder.find_spec(fullname, path, target)


def hide() -> None:
    """Let the packages of extras be missing from now on."""
    base = packages()
    owners = packages_distributions()
    extra = {
        name for name, by in owners.items() if not any(canonicalize_name(e) in base for e in by)
    }
    Plain.hidden = frozenset(extra - {"docs", "tests"})
    sys.meta_path[:] = [Plain if each is PathFinder else each for each in sys.meta_path]
    for name in [each for each in sys.modules if each.partition(".")[0] in Plain.hidden]:
        del sys.modules[name]


def run(program: str) -> str:
    """The program's error, or ""."""
    try:
        exec(program, {})
    except (Exception, SystemExit) as error:
        return "" if isinstance(error, SystemExit) and not error.code else str(error)
    return ""


if __name__ == "__main__":
    programs = json.load(sys.stdin)
    hide()
    print("\n" + json.dumps({name: run(program) for name, program in programs.items()}))  # noqa: T201
