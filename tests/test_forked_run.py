"""A run in forked processes reports like a run in one."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[1]
CONFTEST = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from tests import forked_run, time_limits

def pytest_addoption(parser):
    parser.addini("run_timeout", "", default="")
    forked_run.add_option(parser)

def pytest_configure(config):
    time_limits.register(config)
    forked_run.register(config)
"""
FIRST = """
import os, pytest

@pytest.fixture(scope="module")
def once():
    yield os.getpid()

def test_passes(once, tmp_path):
    assert os.getpid() == once
    assert "process" in str(tmp_path)

def test_fails(once):
    print("what it wrote")
    assert [1, 2] == [1, 3]

def test_ends_its_process():
    os._exit(7)

def test_comes_after_that():
    os.write(1, b"captured")

@pytest.fixture
def broken():
    yield
    raise ValueError("of the clean-up")

def test_leaves_something_behind(broken):
    pass
"""
SECOND = """
import pytest

@pytest.mark.parametrize("number", range(60))
def test_of_many(number):
    pass

@pytest.mark.skip(reason="left out")
def test_skipped():
    pass
"""


@pytest.fixture(autouse=True)
def no_other_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing them takes as long as all the rest of a run."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_first=FIRST, test_second=SECOND)
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *options)


def test_every_test_is_reported_once_also_after_one_that_ends_its_process(
    pytester: pytest.Pytester,
):
    result = run(pytester, "--forks", "2")

    result.assert_outcomes(passed=63, failed=2, errors=1, skipped=1)
    result.stdout.fnmatch_lines_random(
        [
            "*what it wrote*",
            "*At index 1 diff: 2 != 3*",
            "*test_ends_its_process ended its process: exit code 7",
            "*ValueError: of the clean-up",
        ]
    )
    assert "captured" not in result.stdout.str()


def test_a_run_that_ends_at_its_first_failure_ends(pytester: pytest.Pytester):
    result = run(pytester, "--forks", "2", "-x", "test_first.py")

    result.assert_outcomes(passed=1, failed=1)
