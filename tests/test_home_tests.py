"""Each file of the product has a home test or named tests."""

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LIST = "tests/homes.toml"

LINES: dict[str, list[str]] = tomllib.loads((ROOT / LIST).read_text())
"""Files of the product without a home test, each with the tests that cover it."""


def files_under(*folders: str, name: str) -> set[str]:
    found = (file for folder in folders for file in (ROOT / folder).rglob(name))
    return {file.relative_to(ROOT).as_posix() for file in found}


def is_empty(file: str) -> bool:
    """True for an `__init__.py` that is a docstring alone."""
    if not file.endswith("__init__.py"):
        return False
    statements = ast.parse((ROOT / file).read_text()).body
    return all(isinstance(statement, ast.Expr) for statement in statements)


FILES = files_under("adapters", "gateway", "teams", name="*.py")
PRODUCT = {file for file in FILES if not is_empty(file)}
TESTS = files_under("tests", name="test_*.py")


def home_of(file: str) -> str:
    """Path of a file's home test; a package's is beside its folder."""
    path = Path(file)
    path = path.parent if path.name == "__init__.py" else path
    return f"tests/{path.parent}/test_{path.stem.strip('_')}.py"


def complaints(product: set[str], tests: set[str], lines: dict[str, list[str]]) -> list[str]:
    found: list[str] = []
    for file in sorted(product):
        home = home_of(file)
        if home in tests and file in lines:
            found.append(f"{file} has {home}: remove its line from {LIST}.")
        if home not in tests and not lines.get(file):
            found.append(f"{file} needs {home}, or a line in {LIST} that names tests.")
    for file in lines:
        if file not in product:
            found.append(f"{LIST} has a line for {file}, which does not exist.")
        found += [
            f"{LIST} names {test} for {file}, which is no test file."
            for test in lines[file]
            if test not in tests
        ]
    return found


def test_each_file_has_a_home_test_or_a_line():
    assert complaints(PRODUCT, TESTS, LINES) == []


def test_the_lines_are_sorted():
    assert list(LINES) == sorted(LINES)


HOME, AT_HOME = "tests/gateway/render/test_split.py", "gateway/render/split.py"
LISTED = "gateway/cli/run.py"
(TEST, *_) = LINES[LISTED]


@pytest.mark.parametrize(
    ("product", "tests", "lines", "complaint"),
    [
        (PRODUCT | {"teams/_new/_a.py"}, TESTS, LINES, "_a.py needs tests/teams/_new/test_a.py,"),
        (PRODUCT | {"teams/new/__init__.py"}, TESTS, LINES, "needs tests/teams/test_new.py,"),
        (PRODUCT, TESTS - {HOME}, LINES, f"{AT_HOME} needs {HOME},"),
        (PRODUCT, TESTS, LINES | {LISTED: []}, f"{LISTED} needs {home_of(LISTED)},"),
        (PRODUCT, TESTS | {home_of(LISTED)}, LINES, f"{LISTED} has {home_of(LISTED)}:"),
        (PRODUCT, TESTS, LINES | {AT_HOME: [TEST]}, f"{AT_HOME} has {HOME}:"),
        (PRODUCT - {LISTED}, TESTS, LINES, f"a line for {LISTED}, which does not exist"),
        (PRODUCT, TESTS - {TEST}, LINES, f"names {TEST} for {LISTED}, which is no test file"),
    ],
    ids=[
        "new file", "new package", "home test gone", "line without tests", "line for a home test",
        "home test for a line", "file gone", "test gone",
    ],
)  # fmt: skip
def test_one_change_is_seen(
    product: set[str], tests: set[str], lines: dict[str, list[str]], complaint: str
):
    assert complaint in "\n".join(complaints(product, tests, lines))
