"""The sizes that `make lint` counts, and the bounds that hold them."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent

BOUNDS = """
[tool.house]
since = "{since}"
long-files = {{ then = 0, bound = 0 }}
late-imports = {{ then = 0, bound = 0 }}
homes = {{ then = 1, bound = 1 }}
subjects = {{ then = 0, bound = 0 }}
merges = {{ then = 0, bound = 0 }}

[tool.house.lines]
product = {{ then = 40, bound = 40 }}
teams = {{ then = 40, bound = 40 }}

[tool.house.any]
teams = {{ then = 0, bound = 0 }}
"""
QUIET = "x = 1\n"


def git(root: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    command = ["git", "-C", str(root), *identity, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    git(root, "add", ".")


def script(name: str) -> ModuleType:
    """A script of `.ci`, as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f".ci/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small product within its bounds, made once."""
    root = tmp_path_factory.mktemp("product")
    git(root, "init", "--quiet", "--initial-branch=main")
    write(root, {"teams/a.py": QUIET, "tests/homes.toml": '"teams/a.py" = ["tests/test_b.py"]'})
    git(root, "commit", "--quiet", "-m", "Begin")
    since = git(root, "rev-parse", "HEAD")
    write(root, {"pyproject.toml": BOUNDS.format(since=since)})
    git(root, "commit", "--quiet", "-m", "Bounds")
    return root


@pytest.fixture
def tree(committed: Path, tmp_path: Path) -> Path:
    """A copy of the product, to be changed."""
    return shutil.copytree(committed, tmp_path, dirs_exist_ok=True)


HOUSE = script("house")


def house(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """The script's output and exit code."""
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        code = HOUSE.main(["--root", str(root), *options])
    return subprocess.CompletedProcess(options, code, out.getvalue(), err.getvalue())


def test_a_product_within_its_bounds_passes_in_silence(tree: Path):
    command = [sys.executable, "-I", str(ROOT / ".ci/house.py"), "--root", str(tree)]
    counted = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (counted.returncode, counted.stdout) == (0, "")


LATE = "def f():\n    import json\n    return json\n"


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"teams/b.py": QUIET * 60}, "lines.product: 61 is above the bound of 40."),
        ({"teams/b.py": QUIET * 501}, "long-files: 1 is above"),
        ({"teams/b.py": QUIET * 4 + "y: Any = 1\n"}, "any.teams: 166.7 is above"),
        ({"teams/b.py": "from typing import Any\n" + "cast(dict[str, Any], 1)\n"}, "any.teams:"),
        ({"teams/b.py": LATE}, "late-imports: 1 is above"),
        ({"tests/homes.toml": "a = ['t']\nb = ['t']\n"}, "homes: 2 is above"),
        ({"gateway/big/b.py": QUIET * 1001}, "lines.gateway/big: 1001 lines, and [tool.house]"),
        ({"adapters/slack/in/b.py": QUIET * 1001}, "lines.adapters/slack/in: 1001 lines, and"),
    ],
    ids=["lines", "long file", "annotation", "cast", "late", "homes", "wing", "platform's wing"],
)
def test_what_grows_above_its_bound_is_named(tree: Path, files: dict[str, str], found: str):
    write(tree, files)
    counted = house(tree)
    assert found in counted.stdout
    assert counted.returncode == 1


@pytest.mark.parametrize(
    "source",
    [
        LATE.replace("json\n", "json  # slow\n", 1),
        LATE.replace("    import", "    # slow\n    import"),
        "import json\n",
        "from typing import Any\n",
        '"""Any."""\n# Any\n',
    ],
    ids=["its line says why", "the line above does", "at the top", "an import", "texts"],
)
def test_what_does_not_count_passes(tree: Path, source: str):
    write(tree, {"teams/b.py": source})
    assert house(tree).stdout == ""


@pytest.mark.parametrize(
    ("bound", "found"),
    [
        ("{ then = 40, bound = 50 }", "lines.teams: its bound was raised from 40 to 50: say `why`"),
        ('{ then = 40, bound = 50, why = "It does more." }', ""),
        ("{ then = 40, bound = 0 }", "lines.teams: 1 is above the bound of 0."),
    ],
    ids=["raised in silence", "raised with a sentence", "lowered"],
)
def test_a_bound_is_raised_with_a_sentence(tree: Path, bound: str, found: str):
    text = (tree / "pyproject.toml").read_text()
    write(
        tree,
        {"pyproject.toml": text.replace("teams = { then = 40, bound = 40 }", f"teams = {bound}")},
    )
    counted = house(tree)
    assert found in counted.stdout
    assert counted.returncode == bool(found)


def test_a_wing_that_became_small_needs_no_bound(tree: Path):
    text = (tree / "pyproject.toml").read_text()
    bound = '"teams/old" = { then = 2000, bound = 2000 }'
    write(
        tree, {"pyproject.toml": text.replace("[tool.house.lines]", f"[tool.house.lines]\n{bound}")}
    )
    assert "lines.teams/old: it has no more than 1,000 lines" in house(tree).stdout


def test_long_subjects_and_merges_are_counted(tree: Path):
    git(tree, "checkout", "--quiet", "-b", "side")
    git(tree, "commit", "--quiet", "--allow-empty", "-m", "A" * 73)
    git(tree, "checkout", "--quiet", "main")
    git(tree, "merge", "--quiet", "--no-ff", "-m", "Merge", "side")
    counted = house(tree)
    assert "subjects: 1 is above" in counted.stdout
    assert "merges: 1 is above" in counted.stdout


def test_a_clone_without_the_history_says_what_it_skips(tree: Path):
    text = (tree / "pyproject.toml").read_text()
    since = git(tree, "rev-parse", "HEAD~")
    write(tree, {"pyproject.toml": text.replace(since, "0" * 40)})
    counted = house(tree)
    assert "SKIPPED: subjects and merges" in counted.stderr
    assert counted.returncode == 0


def test_the_table_says_then_now_bound_and_what_moved(tree: Path):
    write(tree, {"teams/a.py": "y = 2\n", "teams/b.py": QUIET})
    shown = house(tree, "--table").stdout
    assert "| lines.product | 40 | 2 | 40 |" in shown
    assert shown.endswith(": 0 deleted, 1 moved, 1 new\n")
